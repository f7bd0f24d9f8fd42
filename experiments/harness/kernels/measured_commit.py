"""What an experiment measures on the kernel of a commit: one figure, the median over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from analysis.records.row_columns import METRICS
from experiments.harness.definition.catalogue import Experiment
from experiments.harness.definition.grid import KERNEL
from experiments.harness.definition.single_run import single
from experiments.harness.sweep.point import origin
from experiments.harness.sweep.point_store import results
from experiments.harness.sweep.running_points import Watch, run_points, way_to_workers
from experiments.spec import ExperimentSpec
from testbed.lab.ready import Lab
from topologies.foundation.errors import TcplabError, UsageError


@dataclass(frozen=True)
class MeasuredFigure:
    """A metric of an experiment with its settings, under one condition or, if empty, all."""

    experiment: Experiment
    settings: tuple[str, ...]
    metric: str
    condition: str
    seeds: Sequence[int]

    def __post_init__(self) -> None:
        names = [metric.name for metric in METRICS]
        if self.metric not in names:
            raise UsageError(
                f"There is no metric '{self.metric[:40]}'.", f"There are {', '.join(names)}."
            )
        spec = single(self.experiment, self.settings).spec
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
        """The median on that kernel, which `ready` builds; None if nothing could be measured."""
        run = single(self.experiment, (*self.settings, f"{KERNEL}={kernel}"))
        try:
            lab = ready([run.spec.kernel])
        except TcplabError as error:
            watch.note(str(error))
            return None
        way, source = way_to_workers(lab, [run.spec], None, None), origin(lab)
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
