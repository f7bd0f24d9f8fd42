"""Table of all kernels that are built: facts, cost and three measured cases.

The cases are those of the standing set that every kernel can run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from analysis.measures.results import written
from analysis.statistics.paired_tests import median_interval
from experiments.harness.definition.grid import Combination
from experiments.harness.kernels.cases import KernelCase, KernelMeasure, chosen_cases
from experiments.harness.kernels.compare import value_in
from experiments.harness.sweep.point import Origin, Point, Record, origin
from experiments.harness.sweep.run import PointRunner, Watch, known_and_run
from experiments.harness.sweep.store import results
from experiments.spec import DEFAULT_KERNEL
from testbed.lab.kernel.built import BuiltKernel, built_kernels
from testbed.lab.kernel.version import OPEN_VSWITCH, all_series, kernel_version
from topologies.foundation.errors import UsageError

CASES = ("losses", "out_of_order", "short_flows")
"""Random loss with and without SACK, packets out of order, and short flows."""
_UNKNOWN = "-"
_FACTS = ("Linux", "source", "switches", "build (s)", "run (CPU, to 7.2's)", "what it lacks")


@dataclass
class KernelTable:
    """The table while it is filled: a record for each kernel, case and seed."""

    kernels: tuple[BuiltKernel, ...]
    cases: tuple[KernelCase, ...]
    seeds: Sequence[int]
    records: dict[tuple[str, str, int], Record] = field(default_factory=dict)

    def points(self, origin: Origin) -> dict[str, tuple[Point, tuple[str, str, int]]]:
        """Return each point by its key, with its place among the records."""
        wanted = {}
        for seed in self.seeds:
            for case in self.cases:
                for name in (kernel.name for kernel in self.kernels):
                    values = (("case", case.name), ("kernel", name))
                    spec = replace(case.spec, kernel=name)
                    point = origin.point(Combination(values, None, spec), seed)
                    wanted[point.key] = point, (name, case.name, seed)
        return wanted

    def markdown(self) -> str:
        """Return two tables: facts about the kernels, and their measures."""
        facts = _table(("`--kernel`", *_FACTS), map(self._facts, self.kernels))
        names = [f"`{kernel.name}`" for kernel in self.kernels]
        return "\n".join([*facts, "", *_table(("", *names), self._measures())])

    def _facts(self, kernel: BuiltKernel) -> tuple[str, ...]:
        version = kernel_version(kernel.name)
        return (
            f"`{kernel.name}`",
            kernel.release,
            version.origin,
            "bridges" if OPEN_VSWITCH in version.lacks else OPEN_VSWITCH,
            written(round(kernel.build_seconds)) if kernel.build_seconds else _UNKNOWN,
            self._run(kernel),
            ", ".join(name for name in version.lacks if name != OPEN_VSWITCH) or _UNKNOWN,
        )

    def _run(self, kernel: BuiltKernel) -> str:
        """Return the processor seconds of its runs as a multiple of the lab's kernel."""
        ratios = [
            cost / usual
            for case in self.cases
            for seed in self.seeds
            if (cost := self._cost(kernel.name, case.name, seed))
            and (usual := self._cost(DEFAULT_KERNEL, case.name, seed))
        ]
        return f"{median(ratios):.1f}" if ratios else _UNKNOWN

    def _cost(self, name: str, case: str, seed: int) -> float:
        usage = self.records.get((name, case, seed), {}).get("usage", {})
        return float(usage.get("cpu_seconds", 0.0))

    def _measures(self) -> Iterator[tuple[str, ...]]:
        for case in self.cases:
            for measure in case.measures:
                title = measure.title(f"{measure.label}: {measure.metric.title.lower()}")
                unit = f" ({measure.metric.unit})" if measure.metric.unit else ""
                cells = (self._cell(kernel.name, case, measure) for kernel in self.kernels)
                yield (f"{title}{unit}", *cells)

    def _cell(self, name: str, case: KernelCase, measure: KernelMeasure) -> str:
        """Return the median over the seeds with its interval."""
        records = (self.records.get((name, case.name, seed)) for seed in self.seeds)
        values = [value_in(record, measure) for record in records if record]
        interval = median_interval([value for value in values if value == value])
        if interval is None:
            return _UNKNOWN
        low, middle, high = map(written, (interval.low, interval.median, interval.high))
        return f"{middle} ({low} to {high})"

    def failures(self) -> list[str]:
        """Return a sentence for each run that failed or is not proved."""
        return [
            f"{case} on {name}, seed {seed}: {record['problem'].splitlines()[0]}"
            for (name, case, seed), record in sorted(self.records.items())
            if record["status"] != "complete"
        ]


def _table(head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def kernels_to_show(seeds: Sequence[int]) -> KernelTable:
    """Return an empty table of the lab's kernels that are built, the newest first.

    Raises UsageError if there is none.
    """
    built = {kernel.name: kernel for kernel in built_kernels() if kernel.is_current}
    kernels = tuple(built[series] for series in all_series() if series in built)
    if not kernels:
        raise UsageError("No kernel is built.", "Run `./tcplab kernel build 7.2`.")
    return KernelTable(kernels, chosen_cases(CASES), seeds)


def carry_out_table(table: KernelTable, out: Path, way: PointRunner, watch: Watch) -> None:
    """Fill the table from the store in `out`, and run the missing points."""
    with results(out) as memory:
        wanted = table.points(origin(way.lab))
        asked = [point for point, _ in wanted.values()]
        for point, record in known_and_run(asked, way, memory, watch):
            table.records[wanted[point.key][1]] = record
