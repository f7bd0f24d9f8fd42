"""What a run was asked for, by the command line or from Python, and the request that it makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.harness.definition.catalogue import Experiment
from experiments.harness.definition.grid import Combination, field_name, single
from experiments.harness.running.seed import limits_for, needed_mib, refuse_modules
from experiments.harness.running.session import Published, RunRequest, Testbed, choose
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec
from testbed.host.capacity import guests_at_once
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Duration, Quantity

_WALL_SECONDS = 600.0  # that a run may take if no limit was given

Value = Quantity | str
"""What an option of an experiment takes: a quantity or a word."""


@dataclass(frozen=True)
class RunOptions:
    """A run as it was asked for.

    `settings` are texts NAME=VALUE, as --set takes them, and `testbed` is auto, native or virtual.
    Of `seeds` that nobody counted (None) there are as many as the claim needs, from `first` on.
    `parameters` are the experiment's own if None; a command line makes them of `typed`, its
    options, and `form`, the values of --quick or --full.
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
    load_modules: bool = False
    dry_run: bool = False
    strict: bool = False
    as_json: bool = False

    @cached_property
    def run(self) -> Combination:
        """The run with its spec. Raises UsageError if its values are impossible together."""
        return single(self.named, self.settings, self.parameters)

    def is_whole_study(self) -> bool:
        """Whether no value was given for what the study itself varies."""
        names = {*self.typed, *(text.partition("=")[0] for text in self.settings)}
        return bool(self.named.grid()) and not names & self.named.grid().keys()

    def request(self) -> RunRequest:
        """What experiments.harness.running.session carries out. Raises TcplabError, UsageError."""
        spec = self.run.spec
        testbed = self._testbed()
        if testbed == "virtual":
            guests_at_once(needed_mib(spec), 1)
        request = RunRequest(
            spec,
            self.run.parameters,
            self.seeds or self._as_claimed(testbed),
            testbed,
            self.out,
            load_modules=self.load_modules,
            published=self._published,
            settings=self._beside_parameters(),
        )
        return dataclasses.replace(request, limits=limits_for(spec, self._wall_seconds(request)))

    def _as_claimed(self, testbed: Testbed) -> tuple[int, ...]:
        """The seeds that the claim needs; in real time one, which takes as long as it says."""
        headline = self.run.spec.headline
        times = headline.repetitions if headline and testbed == "virtual" else 1
        return tuple(range(self.first, self.first + times))

    def _beside_parameters(self) -> tuple[str, ...]:
        """The settings of fields and sysctls; those of parameters are in the parameters."""
        names = ((text, text.partition("=")[0].strip()) for text in self.settings)
        return tuple(text for text, name in names if not field_name(self.named, name))

    def _testbed(self) -> Testbed:
        """A module goes into the lab kernel, unless the user says that this one may load it."""
        spec = self.run.spec
        has_kernel = spec.kernel != DEFAULT_KERNEL
        if self.testbed == "native":
            refuse_modules(spec, self.load_modules)
            refuse_kernel(spec)
        in_guest = self.dry_run or has_kernel or (spec.modules and not self.load_modules)
        return "virtual" if self.testbed == "auto" and in_guest else choose(self.testbed)

    def _published(self) -> Published:
        # The guest need not wait for this.
        from experiments.harness.published.points import published_beside

        return tuple(match.described() for match in published_beside(self.run.spec))

    def _wall_seconds(self, request: RunRequest) -> float:
        if self.limit:
            return self.limit.seconds
        real_time = 2 * request.expected_seconds() if request.testbed == "native" else 0.0
        return max(_WALL_SECONDS, real_time)


def refuse_kernel(spec: ExperimentSpec) -> None:
    """Raises UsageError for a native run of a spec that names a kernel."""
    if spec.kernel != DEFAULT_KERNEL:
        raise UsageError(
            f"Natively all hosts run this computer's kernel, and not {spec.kernel}.",
            "Use --testbed virtual, or leave --kernel out.",
        )
