"""`tcplab kernel compare`: the cases of kernel_cases.toml on two kernels, seed by seed.

Each condition has a separate guest, so that a patch of one leaves the clock and the chances of the
others alone: where a patch has no effect, the packets are identical.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Literal, NamedTuple

from analysis.measures.metrics import Metric, metric
from analysis.pages.kernels import LEAST, KernelFigure, compared
from experiments.spec import Condition, ExperimentSpec, Flow, congestion_control, sack
from experiments.study.grid import Combination
from experiments.study.kernels import refuse_what_is_lacking
from experiments.sweep.point import Origin, Point, Record, origin
from experiments.sweep.run import EndedPoints, PointRuns
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import built_lab
from testbed.packetdrill import cases_of, run_kernel_scripts
from topologies.data import from_data
from topologies.errors import TcplabError, UsageError
from topologies.notation import toml_file
from topologies.shapes import dumbbell, separate_pairs, two_hosts
from topologies.spec import Channel
from topologies.units import Packets, Rate

_PATH = {"bandwidth": "20mbit", "delay": "20ms", "queue": "1000"}
_BACK = Channel(Rate.parse("1gbit"), queue=Packets(10_000))
_CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("usual", "CUBIC, as usual"),  # flows that are over before a sample prove nothing
        Condition("ecn", "ECN", (("net.ipv4.tcp_ecn", "1"),)),
        *map(congestion_control, ("cubic", "reno", "bbr")),
        *map(sack, (False, True)),
    )
}


@dataclass(frozen=True)
class KernelMeasure:
    """A figure of a case: a metric of one flow, or `pick` of all flows if that is empty."""

    label: str
    condition: str
    metric: Metric
    flow: str = ""
    pick: Literal["mean", "largest"] = "mean"


@dataclass(frozen=True)
class KernelCase:
    """A spec, a sentence about it, and its measures."""

    sentence: str
    spec: ExperimentSpec
    measures: tuple[KernelMeasure, ...]

    @property
    def name(self) -> str:
        return self.spec.name.removeprefix("kernel_")


def standing_set() -> tuple[KernelCase, ...]:
    """Return all cases, in the order of a page."""
    content = toml_file(Path(__file__).with_name("kernel_cases.toml"))
    return tuple(map(_case, content["case"]))


def _case(entry: Mapping[str, Any]) -> KernelCase:
    paths = {
        name.format(number): path
        for name, path in entry["paths"].items()
        for number in range(1, path.get("copies", 1) + 1)
    }
    channels = [
        from_data(Channel, _PATH | {key: path[key] for key in path.keys() - {"copies", "metrics"}})
        for path in paths.values()
    ]
    # A way back is fast and lossless, unless the case has another shape.
    back = tuple(replace(_BACK, delay=channel.delay) for channel in channels)
    shape, receiver = entry.get("shape"), "r{}"
    if shape == "two_hosts":
        topology, receiver = two_hosts(channels[0]), "h2"
    elif shape:
        topology = dumbbell(len(channels), channels[0])
    else:
        topology = separate_pairs(tuple(channels), back)
    usual = {"duration": "10s", **entry.get("flow", {})}
    ends = [
        {"sender": f"h{at}", "receiver": receiver.format(at)} for at in range(1, len(paths) + 1)
    ]
    flows = tuple(
        from_data(Flow, {"name": _flow_name(path), **end, **usual})
        for path, end in zip(paths, ends, strict=True)
    )
    conditions = tuple(_CONDITIONS[name] for name in entry["conditions"])
    spec = ExperimentSpec(f"kernel_{entry['name']}", "", topology, flows, conditions)
    return KernelCase(entry["sentence"], spec, tuple(_measures(entry, paths, conditions)))


def _measures(
    entry: Mapping[str, Any], paths: Mapping[str, Any], conditions: Sequence[Condition]
) -> Iterator[KernelMeasure]:
    for condition in conditions:
        for name, path in paths.items():
            label = entry.get("label", "{path}").format(condition=condition.label, path=name)
            for each in path.get("metrics", entry.get("metrics", ())):
                measured = metric(f"metric.{each}")
                yield KernelMeasure(label, condition.name, measured, _flow_name(name))
        if "flow" in entry and "metrics" not in entry:
            seconds = metric("metric.seconds")
            yield KernelMeasure("all flows", condition.name, seconds)
            yield KernelMeasure("the slowest flow", condition.name, seconds, pick="largest")


def _flow_name(path: str) -> str:
    return path.replace(" ", "_").replace("%", "").replace(".", "_").replace(",", "")


def chosen_cases(names: tuple[str, ...]) -> tuple[KernelCase, ...]:
    """Return the cases of these names, all without a name. Raises UsageError."""
    cases = {case.name: case for case in standing_set()}
    if unknown := sorted(set(names) - set(cases)):
        raise UsageError(f"There is no case '{unknown[0][:40]}'.", f"There are {', '.join(cases)}.")
    return tuple(case for name, case in cases.items() if not names or name in names)


Place = tuple[str, str, str]  # names of a kernel, a case and a condition: what one guest measures


class KernelPair(NamedTuple):
    """The kernels to compare, as specs name them."""

    old: str
    new: str


@dataclass
class KernelComparison:
    """Kernels, cases and seeds to compare: a preset (experiments.sweep.run), with its records."""

    kernels: KernelPair
    cases: tuple[KernelCase, ...]
    seeds: Sequence[int]
    program: Path | None = None
    left_out: list[str] = field(default_factory=list)
    facts: Sequence[Mapping[str, Any]] = ()
    records: dict[tuple[Place, int], Record] = field(default_factory=dict)
    scripts: dict[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "kernels"
    shelf: ClassVar[str] = "kernels"
    file: ClassVar[str] = "comparison.json"
    label = "compare"

    def about(self, runs: PointRuns) -> dict[str, Any]:
        return {"experiment": self.label}

    def fill(self, runs: PointRuns) -> None:
        runs.run(self.points(origin(runs.runner.lab)))
        if self.program:
            try:
                self.scripts = _scripts_on_both(self.kernels, self.program, runs.watch.note)
            except TcplabError as error:
                sentence = f"The kernels' packetdrill scripts are left out: {error.problem}"
                self.left_out.append(sentence)

    def points(self, origin: Origin) -> list[Point]:
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
        figures = iter(self.figures())
        return {
            "kernels": list(self.facts),
            "seeds": list(self.seeds),
            "least": LEAST,
            "cases": [
                {
                    "name": case.name,
                    "sentence": case.sentence,
                    "figures": [each.data() for each in islice(figures, len(case.measures))],
                }
                for case in self.cases
            ],
            "left_out": self.left_out,
            "failures": [
                f"{case}, {condition}, on {kernel}, seed {seed}: {run['problem'].splitlines()[0]}"
                for ((kernel, case, condition), seed), run in sorted(self.records.items())
                if run["status"] != "complete"
            ],
            "scripts": self.scripts,
        }

    def figures(self) -> list[KernelFigure]:
        old, new = self.kernels
        return compared(
            KernelFigure(
                of=measure.label,
                metric=measure.metric.name,
                title=f"{measure.metric.title}{', the largest' * (measure.pick == 'largest')}",
                unit=measure.metric.unit,
                old=self._of(old, case, measure),
                new=self._of(new, case, measure),
            )
            for case in self.cases
            for measure in case.measures
        )

    def _of(self, kernel: str, case: KernelCase, measure: KernelMeasure) -> tuple[float, ...]:
        place = kernel, case.name, measure.condition
        records = (self.records.get((place, seed)) for seed in self.seeds)
        return tuple(value_in(record, measure) if record else nan for record in records)


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
    """Return the cases with the conditions that both kernels have, and why others are left out."""
    kept, reasons = [], dict[str, None]()
    for case in cases:
        refused = set()
        for condition, kernel in product(case.spec.conditions, kernels):
            try:
                one = replace(case.spec, conditions=(condition,), kernel=kernel)
                refuse_what_is_lacking(one)
            except UsageError as error:
                refused.add(condition.name)
                reasons[f"{condition.label} is left out: {error.problem}"] = None
        conditions = tuple(item for item in case.spec.conditions if item.name not in refused)
        if conditions:
            measures = tuple(item for item in case.measures if item.condition not in refused)
            spec = replace(case.spec, conditions=conditions)
            kept.append(replace(case, spec=spec, measures=measures))
    return tuple(kept), list(reasons)


def comparison_of(
    kernels: KernelPair,
    cases: Sequence[KernelCase],
    seeds: Sequence[int],
    program: Path | None = None,
) -> KernelComparison:
    """Return what both built kernels can run. Raises UsageError if they are identical."""
    facts = []
    for kernel in kernels:
        ready = built_lab(kernel)
        name, digest = chosen(kernel).name, ready.digests["kernel"]
        facts.append({"name": name, "release": ready.kernel_release, "digest": digest})
    old, new = facts
    if old["digest"] == new["digest"]:
        raise UsageError(
            f"{old['name']} and {new['name']} are the same kernel, byte for byte.",
            "Compare it with another; a patch that changes no code changes no figure.",
        )
    kept, left_out = runnable(cases, kernels)
    return KernelComparison(kernels, kept, seeds, program, left_out, facts)


def _scripts_on_both(
    kernels: KernelPair, program: Path, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Run the scripts of the newer, or else the older kernel on both. Raises TcplabError."""
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
    return {
        "cases": len(cases),
        "only_old": [name for name in names if name in old - new],
        "only_new": [name for name in names if name in new - old],
        "neither": [name for name in names if name not in old | new],
    }
