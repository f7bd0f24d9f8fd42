"""Comparison of two kernels: each case under each seed on both, in pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf, nan
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from analysis.statistics.paired_tests import Paired, holm, paired
from analysis.statistics.paired_wording import UNSHOWN, verdict_of
from experiments.harness.definition.grid import Combination
from experiments.harness.definition.kernel_needs import refuse_what_is_lacking
from experiments.harness.kernels.cases import KernelCase, KernelMeasure
from experiments.harness.running.session import lab_facts
from experiments.harness.running.store import Facts, RunFolder, result_folder
from experiments.harness.sweep.point import Origin, Point, Record, origin
from experiments.harness.sweep.point_store import PointStore, results
from experiments.harness.sweep.running_points import PointRunner, Watch, known_and_run
from experiments.spec import Condition, ExperimentSpec
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.ready import Lab, built_lab
from testbed.packetdrill.kernel_scripts import cases_of, run_kernel_scripts
from testbed.packetdrill.script_runs import ScriptCase
from topologies.foundation.errors import TcplabError, UsageError

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


@dataclass(frozen=True)
class ComparedScripts:
    """The scripts of the second kernel, or of the first if that has none, on both.

    `only_old` and `only_new` pass on one kernel alone, `neither` on none.
    """

    cases: int
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    neither: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """For comparison.json."""
        return asdict(self)


def compare_scripts(
    kernels: Sequence[str], program: Path, tell: Callable[[str], None]
) -> ComparedScripts:
    """Run all scripts on both kernels, which are built. Raises TcplabError if none has any."""
    old, new = map(built_lab, kernels)
    cases = _cases(new, old)
    passed = []
    for lab in (old, new):
        tell(f"{len(cases)} packetdrill scripts on Linux {lab.choice.name} ...")
        outcomes = run_kernel_scripts(lab, program, cases)
        passed.append({outcome.case.name for outcome in outcomes if outcome.passed})
    names = [case.name for case in cases]
    return ComparedScripts(
        len(cases),
        tuple(name for name in names if name in passed[0] - passed[1]),
        tuple(name for name in names if name in passed[1] - passed[0]),
        tuple(name for name in names if name not in passed[0] | passed[1]),
    )


def _cases(*labs: Lab) -> list[ScriptCase]:
    """The scripts of the first kernel that has some."""
    for lab in labs[:-1]:
        try:
            return cases_of(lab)
        except TcplabError:
            continue
    return cases_of(labs[-1])


FOLDER = "kernels"
FILE = "comparison.json"


def carry_out(
    kernels: KernelPair,
    cases: Sequence[KernelCase],
    seeds: Sequence[int],
    out: Path,
    way: PointRunner,
    watch: Watch,
    program: Path | None = None,
) -> Path:
    """Run what is not known yet, and return the finished folder with comparison.json.

    With packetdrill's `program` the kernels' own scripts are run as well. What was run is kept in
    any case: the same call goes on. Raises UsageError if the kernels are
    the same, byte for byte.
    """
    facts = {kernel: _facts(kernel) for kernel in kernels}
    _require_two(kernels, facts)
    kept, left_out = runnable(cases, kernels)
    comparison, scripts = KernelComparison(kernels, kept, seeds), dict[str, Any]()

    def write(run: RunFolder, timing: Facts) -> dict[str, Any]:
        content = {
            "id": run.identifier,
            **timing,
            **described(comparison, facts, left_out),
            "scripts": scripts,
        }
        (run.folder / FILE).write_text(json.dumps(content, indent=1) + "\n")
        return {"kind": "kernels", "experiment": "compare", **lab_facts(way.lab), **timing}

    with (
        results(out) as memory,
        result_folder(out / FOLDER, "compare", write) as run,
    ):
        _fill(comparison, way, memory, watch)
        scripts |= _scripts(kernels, program, watch, left_out)
    return run.place


def _fill(comparison: KernelComparison, way: PointRunner, memory: PointStore, watch: Watch) -> None:
    """Run the points that are not known."""
    wanted = points(comparison, origin(way.lab))
    asked = [point for point, _ in wanted.values()]
    for point, record in known_and_run(asked, way, memory, watch):
        comparison.records[wanted[point.key][1], point.seed] = record


def _scripts(
    kernels: KernelPair, program: Path | None, watch: Watch, left_out: list[str]
) -> dict[str, Any]:
    """What became of the kernels' own scripts; nothing if they cannot be run."""
    if program is None:
        return {}
    try:
        return compare_scripts(tuple(kernels), program, watch.note).data()
    except TcplabError as error:
        left_out.append(f"The kernels' own packetdrill scripts are left out: {error.problem}")
        return {}


def _facts(kernel: str) -> dict[str, Any]:
    """What a page says of a kernel."""
    ready = built_lab(kernel)
    return {
        "name": chosen(kernel).name,
        "release": ready.kernel_release,
        "digest": ready.digests["kernel"],
    }


def _require_two(kernels: KernelPair, facts: dict[str, dict[str, Any]]) -> None:
    if facts[kernels.old]["digest"] == facts[kernels.new]["digest"]:
        raise UsageError(
            f"{facts[kernels.old]['name']} and {facts[kernels.new]['name']} are the same kernel,"
            " byte for byte.",
            "Compare it with another; a patch that changes no code changes nothing.",
        )
