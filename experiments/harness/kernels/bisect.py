"""Search for the commit that changed a figure, as git-bisect(1) does it.

The clone is only read: git says which commit halves the rest, and a kernel is built from a revision
without a checkout. The figure is the median over seeds of one metric of an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from statistics import median

from analysis.measures.metrics import columns
from experiments.harness.definition.catalogue import Experiment
from experiments.harness.definition.grid import KERNEL, single
from experiments.harness.sweep.point import origin
from experiments.harness.sweep.run import Watch, run_points, way_to_workers
from experiments.harness.sweep.store import results
from experiments.spec import ExperimentSpec
from testbed.lab.kernel.choice import git
from testbed.lab.ready import Lab
from topologies.foundation.errors import TcplabError, UsageError

_NAME = 12  # characters of a commit's name in messages


@dataclass(frozen=True)
class TriedCommit:
    """A commit and its value, None if it could not be built or run."""

    commit: str
    value: float | None
    is_bad: bool = False


@dataclass
class CommitSearch:
    """A search in `clone` between two revisions.

    `measure(commit)` builds the kernel and returns a value, None if that fails; `is_bad` judges
    it. `tell` gets a sentence for each step.
    """

    clone: Path
    measure: Callable[[str], float | None]
    is_bad: Callable[[float], bool]
    tell: Callable[[str], None]
    trials: list[TriedCommit] = field(default_factory=list)

    def first_bad(self, good: str, bad: str) -> list[str]:
        """Return the first bad commit; after several candidates that could not be built.

        Raises UsageError if good is not good, bad is not bad, or neither leads to the other.
        """
        good, bad = self._commit(good), self._commit(bad)
        self._require(good, False)
        self._require(bad, True)
        goods, skipped = [good], set[str]()
        while waiting := [each for each in self._between(goods, bad) if each not in skipped]:
            trial = self._try(waiting[0], len(waiting))
            if trial.value is None:
                skipped.add(trial.commit)
            elif trial.is_bad:
                bad = trial.commit
            else:
                goods.append(trial.commit)
        return [*(each for each in self._between(goods, bad) if each in skipped), bad]

    def subject(self, commit: str) -> str:
        """Return the commit's name and first line."""
        return git(
            self.clone, "show", "--no-patch", f"--abbrev={_NAME}", "--format=%h %s", commit
        ).strip()

    def _require(self, commit: str, wanted: bool) -> None:
        trial, word = self._try(commit), "bad" if wanted else "good"
        if trial.value is None or trial.is_bad != wanted:
            raise UsageError(
                f"{self.subject(commit)} is not {word}: {_written(trial.value)}.",
                "Choose another revision, metric or limit.",
            )

    def _try(self, commit: str, left: int = 0) -> TriedCommit:
        more = f", about {round(log2(left + 1))} more to try" if left else ""
        self.tell(f"Trying {self.subject(commit)}{more} ...")
        value = self.measure(commit)
        trial = TriedCommit(commit, value, value is not None and self.is_bad(value))
        word = "skipped" if value is None else "bad" if trial.is_bad else "good"
        self.tell(f"{commit[:_NAME]} is {word}: {_written(value)}.")
        self.trials.append(trial)
        return trial

    def _commit(self, revision: str) -> str:
        return git(self.clone, "rev-parse", "--verify", f"{revision}^{{commit}}").strip()

    def _between(self, goods: list[str], bad: str) -> list[str]:
        """Return the candidates without `bad`, the best one to try first."""
        excluded = [f"^{good}" for good in goods]
        listed = git(self.clone, "rev-list", "--bisect-all", bad, *excluded).splitlines()
        return [line.split()[0] for line in listed if line.split()[0] != bad]


def _written(value: float | None) -> str:
    return "it could not be built or run" if value is None else f"{value:.4g}"


@dataclass(frozen=True)
class MeasuredFigure:
    """A metric of an experiment with its settings, under one condition or, if empty, under all."""

    experiment: Experiment
    settings: tuple[str, ...]
    metric: str
    condition: str
    seeds: Sequence[int]

    def __post_init__(self) -> None:
        names = list(columns())
        if self.metric not in names:
            raise UsageError(
                f"There is no metric '{self.metric[:40]}'.", f"There are {', '.join(names)}."
            )
        spec = self.spec()
        conditions = [condition.name for condition in spec.conditions]
        if self.condition and self.condition not in conditions:
            raise UsageError(
                f"{spec.name} has no condition '{self.condition[:40]}'.",
                f"There are {', '.join(conditions)}.",
            )

    def spec(self) -> ExperimentSpec:
        return single(self.experiment, self.settings).spec

    def measured(
        self, kernel: str, out: Path, ready: Callable[[Sequence[str]], Lab], watch: Watch
    ) -> float | None:
        """Return the median on that kernel, which `ready` builds; None without any value."""
        run = single(self.experiment, (*self.settings, f"{KERNEL}={kernel}"))
        try:
            lab = ready([run.spec.kernel])
        except TcplabError as error:
            watch.note(str(error))
            return None
        way, source = way_to_workers(lab, [run.spec]), origin(lab)
        points = [source.point(run, seed) for seed in self.seeds]
        with results(out) as memory:
            records = memory.done(point.key for point in points)
            missing = [point for point in points if point.key not in records]
            for point, record in run_points(missing, way, memory, watch):
                records[point.key] = record
        values = [
            float(row[self.metric])
            for record in records.values()
            for row in record["rows"]
            if self.condition in ("", row["condition"]) and row[self.metric] is not None
        ]
        return median(values) if values else None
