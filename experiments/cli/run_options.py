"""What was typed for a run, each value parsed once by click, and the request that it makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from experiments.cli.parameter_options import QuantityType
from experiments.definition.catalogue import Experiment
from experiments.definition.grid import Combination, kind_of, value_of
from experiments.definition.single_run import single
from experiments.running.seed import limits_for, needed_mib, refuse_modules
from experiments.running.session import RunRequest, Testbed, choose
from testbed.host.capacity import guests_at_once
from topologies.errors import UsageError
from topologies.units import Duration, Quantity

_SEEDS = 1000
_WALL_SECONDS = 600.0  # that a run may take if nothing was said

Value = Quantity | str
"""What an option of an experiment takes: a quantity or a word."""


@dataclass(frozen=True)
class RunOptions:
    """A run as it was asked for.

    `typed` are the parameters on the command line, `form` those of --quick or --full, `parameters`
    the object that both make; `settings` are NAME=VALUE of --set.
    """

    named: Experiment
    parameters: Any
    typed: Mapping[str, Value]
    form: Mapping[str, Value]
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    testbed: str
    out: Path
    limit: Duration | None
    load_modules: bool
    dry_run: bool

    @cached_property
    def run(self) -> Combination:
        """The run with its spec. Raises UsageError if its values are impossible together."""
        return single(self.named, self.settings, self.parameters)

    def is_whole_study(self) -> bool:
        """Whether nothing was said of what the study itself varies."""
        names = {*self.typed, *(text.partition("=")[0] for text in self.settings)}
        return bool(self.named.grid()) and not names & self.named.grid().keys()

    def request(self) -> RunRequest:
        """What experiments.running.session carries out. Raises TcplabError, UsageError."""
        spec = self.run.spec
        testbed = self._testbed()
        if testbed == "virtual":
            guests_at_once(needed_mib(spec), 1)
        request = RunRequest(
            spec,
            self.run.parameters,
            self.seeds,
            testbed,
            self.out,
            load_modules=self.load_modules,
            published=() if self.dry_run else self._published(),
        )
        return dataclasses.replace(request, limits=limits_for(spec, self._wall_seconds(request)))

    def _testbed(self) -> Testbed:
        """A module goes into the lab kernel, unless the user says that this one may load it."""
        if self.testbed == "native":
            refuse_modules(self.run.spec, self.load_modules)
        in_guest = self.dry_run or (self.run.spec.modules and not self.load_modules)
        return "virtual" if self.testbed == "auto" and in_guest else choose(self.testbed)

    def _published(self) -> tuple[dict[str, Any], ...]:
        from experiments.published.same_settings import (
            published_beside,  # a tenth of a second that --help can do without
        )

        return tuple(match.described() for match in published_beside(self.run.spec))

    def _wall_seconds(self, request: RunRequest) -> float:
        if self.limit:
            return self.limit.seconds
        real_time = 2 * request.expected_seconds() if request.testbed == "native" else 0.0
        return max(_WALL_SECONDS, real_time)


def options_from(context: click.Context, named: Experiment) -> RunOptions:
    """The options of an experiment's command as click parsed them. Raises UsageError."""
    words = dict(context.params)
    form = _form(named, words.pop("quick", False), words.pop("full", False))
    first, times = words.pop("seed"), words.pop("repeat")
    common = {name: words.pop(name) for name in _COMMON}
    typed = {
        name: value
        for name, value in words.items()
        if context.get_parameter_source(name) != ParameterSource.DEFAULT
    }
    parameters = named.parameters()(**{**words, **form, **typed})
    return RunOptions(
        named, parameters, typed, form, seeds=tuple(range(first, first + times)), **common
    )


_COMMON = ("settings", "testbed", "out", "limit", "load_modules", "dry_run")


def _form(named: Experiment, quick: bool, full: bool) -> dict[str, Value]:
    if quick and full:
        raise UsageError("--quick and --full exclude each other.", "Choose one.")
    preset = named.preset("quick") if quick else named.preset("full") if full else {}
    return {name: value_of(name, kind_of(named, name), text) for name, text in preset.items()}


def common_options(named: Experiment) -> list[click.Parameter]:
    """The options that every experiment has beside its parameters."""
    return [
        click.Option(
            ["--testbed"],
            type=click.Choice(["auto", "native", "virtual"]),
            default="auto",
            show_default=True,
            help="Where to run: on this kernel in real time, or in the lab kernel in virtual time.",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(0, 2**63 - 1),
            default=1,
            show_default=True,
            metavar="NUMBER",
            help="Seed of all randomness; the same seed gives the same packets (virtual).",
        ),
        click.Option(
            ["--repeat"],
            type=click.IntRange(1, _SEEDS),
            default=1,
            show_default=True,
            metavar="TIMES",
            help="Run that many times, with seeds counted up.",
        ),
        click.Option(
            ["--set", "settings"],
            multiple=True,
            metavar="NAME=VALUE",
            help=(
                "Set a parameter, a field of the spec (topology.links.1.rightward.queue) or a"
                " sysctl."
            ),
        ),
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("runs"),
            show_default=True,
            help="Folder that keeps the runs.",
        ),
        click.Option(
            ["--limit"],
            type=QuantityType(Duration),
            default=None,
            metavar="10min",
            help="Stop a run after that much wall time  [default: 10min, natively more]",
        ),
        click.Option(
            ["--load-module-into-this-kernel", "load_modules"],
            is_flag=True,
            hidden=not named.loads_modules(),
            help=(
                "Natively: make the module part of this computer's kernel, which its mistakes"
                " crash."
            ),
        ),
        click.Option(["--dry-run"], is_flag=True, help="Print what would be run, and run nothing."),
    ]
