"""The request for a run: made from options of the command line or of Python, then carried out."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from experiments.run.seed import limits_for, needed_mib, refuse_modules
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec
from experiments.study.catalogue import Experiment
from experiments.study.grid import Combination, field_name, single
from testbed.host.processes import guests_at_once
from testbed.host.supervise import Limits
from testbed.lab.kernel.choice import chosen
from testbed.lab.kernel.recipe import require_processor
from testbed.native.run import obstacles
from topologies.data import to_data
from topologies.errors import UsageError
from topologies.units import Duration, Quantity

Testbed = Literal["native", "virtual"]
TESTBEDS = ("auto", "native", "virtual")
"""Words of --testbed; auto is native where this kernel and user can run natively."""
_WALL_SECONDS = 600.0  # that a run may take without --limit
_START = 11.0  # seconds until Open vSwitch may be started in a guest
_CONDITION_OVERHEAD = 6.0
"""Seconds; a condition's servers, captures and the drain of buffers, as a guess for the bar."""

Value = Quantity | str  # a value of an experiment's option: a quantity or a word


@dataclass(frozen=True)
class RunRequest:
    """A run to carry out; `settings` are those of `--set` that are no parameters."""

    spec: ExperimentSpec
    parameters: Any
    seeds: tuple[int, ...]
    testbed: Testbed
    out: Path
    limits: Limits = field(default_factory=Limits)
    load_modules: bool = False  # into the kernel of this computer, if the run is native
    with_published: bool = False
    """Add the published numbers with these settings to spec.json, for the report."""
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # expressions that the report has in addition
    why_virtual: str = ""  # the obstacle to a native run, if `auto` chose the lab kernel

    @cached_property
    def written(self) -> dict[str, Any]:
        """The content of spec.json, without published numbers."""
        return {
            "parameters": to_data(self.parameters),
            "settings": list(self.settings),
            "metrics": list(self.metrics),
            "published": (),
            **to_data(self.spec),
        }

    @property
    def guests_at_once(self) -> int:
        """The number of guests that run in parallel. Raises UsageError without memory for one."""
        return min(len(self.seeds), guests_at_once(needed_mib(self.spec)))

    @cached_property
    def expected_seconds(self) -> float:
        return _expected_seconds(self.spec)

    @property
    def place(self) -> str:
        first, last = self.seeds[0], self.seeds[-1]
        counted = self.seeds == tuple(range(first, last + 1)) and len(self.seeds) > 2
        names = f"{first} to {last}" if counted else ", ".join(map(str, self.seeds))
        seeds = f"seed{'s' if len(self.seeds) > 1 else ''} {names}"
        if self.testbed == "native":
            return f"This kernel ({platform.release()}), real time, as root, {seeds}"
        why = f". Not natively: {self.why_virtual}" if self.why_virtual else ""
        return f"Lab kernel {chosen(self.spec.kernel).name}, virtual time, {seeds}{why}"


def _expected_seconds(spec: ExperimentSpec) -> float:
    """Estimate how long a seed of this spec takes on its own clock."""
    longest = max(flow.end.seconds for flow in spec.flows)
    return _START + len(spec.conditions) * (1.3 * longest + _CONDITION_OVERHEAD)


def default_limits(spec: ExperimentSpec, testbed: Testbed) -> Limits:
    """Return the limits of a run without --limit: in real time, twice what it should take."""
    real_time = 2 * _expected_seconds(spec) if testbed == "native" else 0.0
    return limits_for(spec, max(_WALL_SECONDS, real_time))


@dataclass(frozen=True)
class RunOptions:
    """The options of a run. `settings` are texts NAME=VALUE, as --set takes them.

    Without `seeds` there are as many as the claim needs, from `first` on. A command line makes
    `parameters` of `typed`, its options, and `form`, the values of --quick or --full.
    """

    named: Experiment
    settings: tuple[str, ...]
    seeds: tuple[int, ...] | None
    testbed: str
    out: Path
    first: int = 1
    parameters: Any = None
    typed: Mapping[str, Value] = field(default_factory=dict)
    form: Mapping[str, Value] = field(default_factory=dict)
    limit: Duration | None = None
    metrics: tuple[str, ...] = ()
    load_modules: bool = False
    dry_run: bool = False
    strict: bool = False
    as_json: bool = False

    @cached_property
    def run(self) -> Combination:
        """The run with its spec. Raises UsageError if its values are impossible together."""
        return single(self.named, self.settings, self.parameters)

    def is_whole_study(self) -> bool:
        """Return True if the study is a sweep and no value was given for what it varies."""
        names = {*self.typed, *(text.partition("=")[0] for text in self.settings)}
        return bool(self.named.grid()) and not names & self.named.grid().keys()

    def request(self) -> RunRequest:
        """Make the request. Raises UsageError, and TcplabError where this machine cannot run it."""
        spec = self.run.spec
        testbed, why_virtual = self._testbed()
        if testbed == "virtual":
            guests_at_once(needed_mib(spec), 1)
        limits = default_limits(spec, testbed)
        if self.limit:
            limits = limits_for(spec, self.limit.seconds)
        seeds, headline = self.seeds, spec.headline
        if not seeds:
            # As many as the claim needs; one in real time, which takes as long as it is.
            times = headline.repetitions if headline and testbed == "virtual" else 1
            seeds = tuple(range(self.first, self.first + times))
        names = ((text, text.partition("=")[0].strip()) for text in self.settings)
        return RunRequest(
            spec,
            self.run.parameters,
            seeds,
            testbed,
            self.out,
            limits,
            self.load_modules,
            with_published=True,
            settings=tuple(text for text, name in names if not field_name(self.named, name)),
            metrics=self.metrics,
            why_virtual=why_virtual,
        )

    def _testbed(self) -> tuple[Testbed, str]:
        """Choose the testbed: modules stay out of this kernel without the user's word."""
        spec = self.run.spec
        if self.testbed == "native":
            refuse_modules(spec, self.load_modules)
            refuse_kernel(spec)
        if self.testbed == "virtual" and self.load_modules:
            raise UsageError(
                "--load-module-into-this-kernel is for native runs.", "Add --testbed native."
            )
        if self.testbed == "auto":
            if self.dry_run or spec.kernel != DEFAULT_KERNEL:
                return "virtual", ""
            if spec.modules and not self.load_modules:
                return "virtual", "its module would become part of this kernel."
            if any(flow.program for flow in spec.flows):
                return "virtual", "its program would be root of this computer."
        if self.dry_run and self.testbed == "virtual":
            return "virtual", ""
        return choose(self.testbed)


def choose(name: str) -> tuple[Testbed, str]:
    """Return the testbed for a word of TESTBEDS, and the obstacle to `auto`. Raises TcplabError."""
    problems = obstacles() if name != "virtual" else []
    if name == "native" and problems:
        raise problems[0]
    if name != "virtual" and not problems:
        return "native", ""
    require_processor()
    return "virtual", problems[0].problem if problems else ""


def refuse_kernel(spec: ExperimentSpec) -> None:
    """Raise UsageError for a native run of a spec that names a kernel."""
    if spec.kernel != DEFAULT_KERNEL:
        raise UsageError(
            f"Natively all hosts run this computer's kernel, and not {spec.kernel}.",
            "Use --testbed virtual, or leave --kernel out.",
        )
