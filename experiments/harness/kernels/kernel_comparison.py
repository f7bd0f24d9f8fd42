"""Two kernels on the standing set: every case under every seed on both, and what differs.

A seed's two runs have the same network and the same luck as far as netem can repeat it, so they are
compared in pairs. Each condition has a guest of its own: what a patch does to one of them moves the
clock and the chances of none that comes after it, and what it does not touch has the same packets.
All figures together are one family: each p is corrected for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from statistics import fmean
from typing import Any, Literal

from analysis.statistics.paired_tests import Paired, holm, paired
from analysis.statistics.paired_wording import UNSHOWN, verdict_of
from experiments.harness.definition.grid import Combination
from experiments.harness.definition.kernel_needs import refuse_what_is_lacking
from experiments.harness.kernels.standing_set import KernelCase, KernelMeasure
from experiments.harness.sweep.point import Origin, Point, Record
from experiments.spec import Condition, ExperimentSpec
from topologies.foundation.errors import UsageError

LEAST = 0.01
"""Share by which a figure must differ to count as larger or smaller."""
Place = tuple[str, str, str]
"""What a guest measures: the names of a kernel, a case and a condition."""
KernelVerdict = Literal["larger", "smaller", "alike", "not shown to differ"]


@dataclass(frozen=True)
class KernelPair:
    """The kernels that are compared, as specs name them: `old` and `new`."""

    old: str
    new: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.old, self.new))


@dataclass(frozen=True)
class ComparedFigure:
    """A measure on both kernels: the values under each seed, NaN if there is none."""

    case: str
    measure: KernelMeasure
    old: tuple[float, ...]
    new: tuple[float, ...]
    p: float = 1.0

    @property
    def pair(self) -> Paired | None:
        """How the new kernel differs from the old one."""
        return paired(self.old, self.new)

    @property
    def verdict(self) -> KernelVerdict:
        """Larger and smaller are shown, with the corrected `p`, and by more than `LEAST`.

        Alike are figures whose whole interval is within that.
        """
        pair = self.pair
        if pair is None or pair.low is None or pair.high is None:
            return UNSHOWN
        least, most = self._margins(pair)
        if least <= pair.low and pair.high <= most:
            return "alike"
        shown = verdict_of(pair, self.p)
        return UNSHOWN if least < pair.estimate < most else shown

    def _margins(self, pair: Paired) -> tuple[float, float]:
        if pair.scale == "ratio":
            return 1 / (1 + LEAST), 1 + LEAST
        usual = fmean(abs(value) for value in self.old if value == value)
        return -LEAST * usual, LEAST * usual


@dataclass
class KernelComparison:
    """What is known of a comparison while it goes on."""

    kernels: KernelPair
    cases: tuple[KernelCase, ...]
    seeds: Sequence[int]
    records: dict[tuple[Place, int], Record] = field(default_factory=dict)

    def figures(self) -> list[ComparedFigure]:
        """Every figure of every case, each with its p corrected for all."""
        found = [
            ComparedFigure(case.name, measure, *self._values(case, measure))
            for case in self.cases
            for measure in case.measures
        ]
        pairs = [figure.pair for figure in found]
        corrected = holm([pair.p if pair else 1.0 for pair in pairs])
        return [replace(figure, p=p) for figure, p in zip(found, corrected, strict=True)]

    def _values(
        self, case: KernelCase, measure: KernelMeasure
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self._of(self.kernels.old, case, measure), self._of(self.kernels.new, case, measure)

    def _of(self, kernel: str, case: KernelCase, measure: KernelMeasure) -> tuple[float, ...]:
        place = kernel, case.name, measure.condition
        records = (self.records.get((place, seed)) for seed in self.seeds)
        return tuple(value_in(record, measure) if record else nan for record in records)

    def failures(self) -> list[str]:
        """What did not run, or is not proved, in words."""
        return [
            f"{case}, {condition}, on {kernel}, seed {seed}: {record['problem'].splitlines()[0]}"
            for ((kernel, case, condition), seed), record in sorted(self.records.items())
            if record["status"] != "complete"
        ]


def value_in(record: Record, measure: KernelMeasure) -> float:
    """The measure in the rows of a run; NaN if it was not measured."""
    values = [
        float(row[measure.metric.name])
        for row in record["rows"]
        if row["condition"] == measure.condition
        and measure.flow in ("", row["flow"])
        and row[measure.metric.name] is not None
    ]
    if not values:
        return nan
    return fmean(values) if measure.pick == "mean" else max(values, default=-inf)


def runnable(
    cases: Sequence[KernelCase], kernels: KernelPair
) -> tuple[tuple[KernelCase, ...], list[str]]:
    """The cases, less the conditions that one of the kernels cannot have, with the reasons."""
    kept, reasons = [], list[str]()
    for case in cases:
        refused = dict(_refusals(case.spec, kernels))
        reasons += refused.values()
        names = [item.name for item in case.spec.conditions if item.name not in refused]
        if names:
            kept.append(_with_conditions(case, names))
    return tuple(kept), list(dict.fromkeys(reasons))


def _refusals(spec: ExperimentSpec, kernels: KernelPair) -> Iterator[tuple[str, str]]:
    """The conditions that a kernel cannot have, each with the sentence why."""
    for condition in spec.conditions:
        for kernel in kernels:
            try:
                refuse_what_is_lacking(replace(spec, conditions=(condition,), kernel=kernel))
            except UsageError as error:
                yield condition.name, f"{condition.label} is left out: {error.problem}"


def _with_conditions(case: KernelCase, names: Sequence[str]) -> KernelCase:
    conditions = tuple(item for item in case.spec.conditions if item.name in names)
    measures = tuple(item for item in case.measures if item.condition in names)
    return replace(case, spec=replace(case.spec, conditions=conditions), measures=measures)


def points(comparison: KernelComparison, origin: Origin) -> dict[str, tuple[Point, Place]]:
    """Every point by its key, with what it measures; a seed's kernels beside each other."""
    found = {}
    for seed in comparison.seeds:
        for case, condition in _conditions(comparison.cases):
            for kernel in comparison.kernels:
                spec = replace(case.spec, kernel=kernel, conditions=(condition,))
                values = (("case", case.name), ("condition", condition.name), ("kernel", kernel))
                point = origin.point(Combination(values, None, spec), seed)
                found[point.key] = point, (kernel, case.name, condition.name)
    return found


def _conditions(cases: Sequence[KernelCase]) -> Iterator[tuple[KernelCase, Condition]]:
    for case in cases:
        for condition in case.spec.conditions:
            yield case, condition


def described(
    comparison: KernelComparison, facts: Mapping[str, Any], left_out: Sequence[str]
) -> dict[str, Any]:
    """The content of comparison.json."""
    figures = comparison.figures()
    return {
        "format": 1,
        "kernels": [facts[kernel] for kernel in comparison.kernels],
        "seeds": list(comparison.seeds),
        "least": LEAST,
        "cases": [
            {
                "name": case.name,
                "sentence": case.sentence,
                "figures": [_figure(figure) for figure in figures if figure.case == case.name],
            }
            for case in comparison.cases
        ],
        "left_out": list(left_out),
        "failures": comparison.failures(),
    }


def _figure(figure: ComparedFigure) -> dict[str, Any]:
    measure, pair = figure.measure, figure.pair
    title = measure.metric.title + (", the largest" if measure.pick == "largest" else "")
    return {
        "of": measure.label,
        "metric": measure.metric.name,
        "title": title,
        "unit": measure.metric.unit,
        "old": [value if value == value else None for value in figure.old],
        "new": [value if value == value else None for value in figure.new],
        "scale": pair.scale if pair else "ratio",
        "count": pair.count if pair else 0,
        "estimate": pair.estimate if pair else None,
        "low": pair.low if pair else None,
        "high": pair.high if pair else None,
        "p": figure.p,
        "verdict": figure.verdict,
    }
