"""Comparison of two kernels: each case under each seed on both, in pairs.

Both runs of a seed have the same network and the same luck as far as netem can repeat it. Each
condition has a separate guest, so that a patch of one condition leaves the clock and the chances of
the others alone: where a patch has no effect, the packets are identical. All figures together are
one family: each p is corrected for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from analysis.statistics.paired_tests import Paired, holm, paired, verdict_of
from experiments.spec import ExperimentSpec
from experiments.study.grid import Combination
from experiments.study.kernels import refuse_what_is_lacking
from experiments.sweep.kernel_cases import KernelCase, KernelMeasure
from experiments.sweep.point import Origin, Point, Record, origin
from experiments.sweep.run import EndedPoints, PointRuns
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import built_lab
from testbed.packetdrill import cases_of, run_kernel_scripts
from topologies.errors import TcplabError, UsageError

LEAST = 0.01
"""Share by which a figure must differ to count as larger or smaller."""
Place = tuple[str, str, str]
"""Names of a kernel, a case and a condition: what one guest measures."""


class KernelVerdict(StrEnum):
    """Result of comparing one figure."""

    LARGER = "larger"
    SMALLER = "smaller"
    ALIKE = "alike"
    UNSHOWN = "not shown to differ"


class KernelPair(NamedTuple):
    """The kernels to compare, as specs name them."""

    old: str
    new: str


@dataclass(frozen=True)
class ComparedFigure:
    """A measure on both kernels: the value under each seed, NaN where it is missing."""

    case: str
    measure: KernelMeasure
    old: tuple[float, ...]
    new: tuple[float, ...]
    p: float = 1.0

    @property
    def pair(self) -> Paired | None:
        return paired(self.old, self.new)

    @property
    def verdict(self) -> KernelVerdict:
        """Return larger or smaller if the corrected `p` shows a difference above `LEAST`.

        Alike are figures whose whole interval is within `LEAST`, or whose value if all seeds agree.
        """
        pair = self.pair
        if pair is None:
            return KernelVerdict.UNSHOWN
        low, high = self._ends
        if low is None or high is None:
            return KernelVerdict.UNSHOWN
        if pair.scale == "ratio":
            least, most = 1 / (1 + LEAST), 1 + LEAST
        else:
            most = LEAST * fmean(abs(value) for value in self.old if value == value)
            least = -most
        if least <= low and high <= most:
            return KernelVerdict.ALIKE
        if pair.copies or least < pair.estimate < most:
            return KernelVerdict.UNSHOWN
        return KernelVerdict(verdict_of(pair, self.p))

    @property
    def _ends(self) -> tuple[float | None, float | None]:
        """The interval's ends; the value itself, if all seeds agree."""
        if pair := self.pair:
            return (pair.estimate, pair.estimate) if pair.copies else (pair.low, pair.high)
        return None, None

    def data(self) -> dict[str, Any]:
        """Return the figure for comparison.json."""
        measure, pair = self.measure, self.pair
        largest = ", the largest" if measure.pick == "largest" else ""
        return {
            "of": measure.label,
            "metric": measure.metric.name,
            "title": f"{measure.metric.title}{largest}",
            "unit": measure.metric.unit,
            "old": [value if value == value else None for value in self.old],
            "new": [value if value == value else None for value in self.new],
            "scale": pair.scale if pair else "ratio",
            "count": pair.count if pair else 0,
            "estimate": pair.estimate if pair else None,
            "low": self._ends[0],
            "high": self._ends[1],
            "p": self.p,
            "verdict": self.verdict,
        }


@dataclass
class KernelComparison:
    """Kernels, cases and seeds to compare: a preset (experiments.sweep.run), with its records.

    With packetdrill's `program` the scripts of the kernels run as well. `left_out` are sentences
    about what cannot be compared.
    """

    kernels: KernelPair
    cases: tuple[KernelCase, ...]
    seeds: Sequence[int]
    program: Path | None = None
    left_out: list[str] = field(default_factory=list)
    facts: Sequence[Mapping[str, Any]] = ()
    records: dict[tuple[Place, int], Record] = field(default_factory=dict)
    scripts: dict[str, Any] = field(default_factory=dict)
    kind = "kernels"
    shelf = "kernels"
    file = "comparison.json"
    label = "compare"

    def about(self, runs: PointRuns) -> dict[str, Any]:
        return {"experiment": self.label}

    def fill(self, runs: PointRuns) -> None:
        runs.run(self.points(origin(runs.runner.lab)))
        if self.program:
            try:
                self.scripts = asdict(compare_scripts(self.kernels, self.program, runs.watch.note))
            except TcplabError as error:
                sentence = f"The kernels' packetdrill scripts are left out: {error.problem}"
                self.left_out.append(sentence)

    def points(self, origin: Origin) -> list[Point]:
        """Return the points; both kernels of a seed are neighbours."""
        every = [
            Combination(
                (("case", case.name), ("condition", condition.name), ("kernel", kernel)),
                None,
                replace(case.spec, kernel=kernel, conditions=(condition,)),
            )
            for case in self.cases
            for condition in case.spec.conditions
            for kernel in self.kernels
        ]
        return [origin.point(combination, seed) for seed in self.seeds for combination in every]

    def content(self, runs: PointRuns, ended: EndedPoints, folder: Path) -> dict[str, Any]:
        for point, record in ended:
            values = dict(point.combination.values)
            place = values["kernel"], values["case"], values["condition"]
            self.records[place, point.seed] = record
        return self.described()

    def described(self) -> dict[str, Any]:
        """Return the content of comparison.json, but for what all kinds of results have."""
        figures = self.figures()
        return {
            "kernels": list(self.facts),
            "seeds": list(self.seeds),
            "least": LEAST,
            "cases": [
                {
                    "name": case.name,
                    "sentence": case.sentence,
                    "figures": [figure.data() for figure in figures if figure.case == case.name],
                }
                for case in self.cases
            ],
            "left_out": self.left_out,
            "failures": self.failures(),
            "scripts": self.scripts,
        }

    def figures(self) -> list[ComparedFigure]:
        """Return each figure of each case, with its p corrected for all."""
        found = [
            ComparedFigure(
                case.name,
                measure,
                old=self._of(self.kernels.old, case, measure),
                new=self._of(self.kernels.new, case, measure),
            )
            for case in self.cases
            for measure in case.measures
        ]
        corrected = holm([figure.pair.p if figure.pair else 1.0 for figure in found])
        return [replace(figure, p=p) for figure, p in zip(found, corrected, strict=True)]

    def _of(self, kernel: str, case: KernelCase, measure: KernelMeasure) -> tuple[float, ...]:
        place = kernel, case.name, measure.condition
        records = (self.records.get((place, seed)) for seed in self.seeds)
        return tuple(value_in(record, measure) if record else nan for record in records)

    def failures(self) -> list[str]:
        """Return a sentence for each run that failed or is not proved."""
        return [
            f"{case}, {condition}, on {kernel}, seed {seed}: {record['problem'].splitlines()[0]}"
            for ((kernel, case, condition), seed), record in sorted(self.records.items())
            if record["status"] != "complete"
        ]


def value_in(record: Record, measure: KernelMeasure) -> float:
    """Return the measure from the rows of a run; NaN if it is missing."""
    values = [
        float(row[measure.metric.name])
        for row in record["rows"]
        if row["condition"] == measure.condition
        and measure.flow in ("", row["flow"])
        and row[measure.metric.name] is not None
    ]
    if not values:
        return nan
    return fmean(values) if measure.pick == "mean" else max(values)


def runnable(
    cases: Sequence[KernelCase], kernels: KernelPair
) -> tuple[tuple[KernelCase, ...], list[str]]:
    """Return the cases without conditions that one of the kernels lacks, and the reasons."""
    kept, reasons = [], list[str]()
    for case in cases:
        refused = dict(_refusals(case.spec, kernels))
        reasons += refused.values()
        conditions = tuple(item for item in case.spec.conditions if item.name not in refused)
        if conditions:
            measures = tuple(item for item in case.measures if item.condition not in refused)
            spec = replace(case.spec, conditions=conditions)
            kept.append(replace(case, spec=spec, measures=measures))
    return tuple(kept), list(dict.fromkeys(reasons))


def _refusals(spec: ExperimentSpec, kernels: KernelPair) -> Iterator[tuple[str, str]]:
    """Yield each condition that a kernel lacks, with a sentence why."""
    for condition in spec.conditions:
        for kernel in kernels:
            try:
                refuse_what_is_lacking(replace(spec, conditions=(condition,), kernel=kernel))
            except UsageError as error:
                yield condition.name, f"{condition.label} is left out: {error.problem}"


def comparison_of(
    kernels: KernelPair,
    cases: Sequence[KernelCase],
    seeds: Sequence[int],
    program: Path | None = None,
) -> KernelComparison:
    """Return the comparison of two kernels that are built, of all that both can run.

    Raises UsageError if the kernels are identical.
    """
    old, new = map(_facts, kernels)
    if old["digest"] == new["digest"]:
        raise UsageError(
            f"{old['name']} and {new['name']} are the same kernel, byte for byte.",
            "Compare it with another; a patch that changes no code changes no figure.",
        )
    kept, left_out = runnable(cases, kernels)
    return KernelComparison(kernels, kept, seeds, program, left_out, (old, new))


def _facts(kernel: str) -> dict[str, Any]:
    ready = built_lab(kernel)
    return {
        "name": chosen(kernel).name,
        "release": ready.kernel_release,
        "digest": ready.digests["kernel"],
    }


@dataclass(frozen=True)
class ComparedScripts:
    """The packetdrill scripts of the newer kernel, or of the older one if it has none, on both.

    `only_old` and `only_new` pass on one kernel, `neither` on none.
    """

    cases: int
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    neither: tuple[str, ...]


def compare_scripts(
    kernels: KernelPair, program: Path, tell: Callable[[str], None]
) -> ComparedScripts:
    """Run all scripts on both kernels, which are built. Raises TcplabError if there are none."""
    labs = [built_lab(kernel) for kernel in kernels]
    try:
        cases = cases_of(labs[1])
    except TcplabError:
        cases = cases_of(labs[0])
    passed = []
    for lab in labs:
        tell(f"{len(cases)} packetdrill scripts on Linux {lab.choice.name} ...")
        outcomes = run_kernel_scripts(lab, program, cases)
        passed.append({outcome.case.name for outcome in outcomes if outcome.passed})
    old, new = passed
    names = [case.name for case in cases]
    return ComparedScripts(
        len(cases),
        tuple(name for name in names if name in old - new),
        tuple(name for name in names if name in new - old),
        tuple(name for name in names if name not in old | new),
    )
