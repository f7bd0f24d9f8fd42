"""Runs of all published numbers: a point for each setting and seed.

Content of reproduction.json: a row for each published number, with our values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.statistics.published import TOLERANCE
from experiments.run.session import for_page, lab_facts
from experiments.run.store import Facts, RunFolder, result_folder
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec, Flow
from experiments.study.catalogue import find
from experiments.study.grid import Combination
from experiments.study.points import (
    TIMES,
    PeriodKernelChoice,
    Time,
    combinations,
    command,
    condition_of,
    described,
    profile_of,
    times,
    told,
)
from experiments.study.published import Target, published_study, seeds_of, targets
from experiments.sweep.point import CAPTURES, ROWS, Point, Record, origin
from experiments.sweep.results import NETWORK, counted_verdicts, taken
from experiments.sweep.run import PointRunner, Watch
from experiments.sweep.store import results
from testbed.lab.ready import Lab


@dataclass
class ReproducedRuns:
    """The combinations of each target, and the records of their seeds that are known.

    A record's key is the combination's digest, the expression that it has, and the seed. `kernels`
    are those of the studies' times, by study.
    """

    combinations: dict[Target, dict[Time, Combination]] = field(default_factory=dict)
    records: dict[tuple[str, str, int], Record] = field(default_factory=dict)
    kernels: Mapping[str, PeriodKernelChoice] = field(default_factory=dict)

    def of(self, target: Target, time: Time) -> list[tuple[int, Record]]:
        """Return the seeds of a target in order, with their records."""
        combination = self.combinations.get(target, {}).get(time)
        if combination is None:
            return []
        return [
            (seed, record)
            for (digest, expression, seed), record in sorted(self.records.items())
            if (digest, expression) == (combination.digest, target.expression)
        ]


def studies(
    targets: Sequence[Target], carried: ReproducedRuns, quick: bool
) -> list[dict[str, Any]]:
    """Return the studies in the order of their targets."""
    names = list(dict.fromkeys(target.experiment for target in targets))
    return [
        _study(name, [target for target in targets if target.experiment == name], carried, quick)
        for name in names
    ]


def _study(
    name: str, targets: Sequence[Target], carried: ReproducedRuns, quick: bool
) -> dict[str, Any]:
    study, profile = published_study(name), profile_of(name)
    settings = (*profile.settings, *profile.path) if profile else ()
    return {
        "name": name,
        "claim": find(name).claim,
        "source": study.source,
        "profile": [
            {"name": setting.name, "value": setting.value, "reason": setting.reason}
            for setting in settings
        ],
        "profile_differs": profile.differs if profile else "",
        "kernel": _kernel(name, carried.kernels.get(name)),
        "notes": [*([study.short_form] if quick and study.short_form else []), *study.notes],
        "plot": study.plot,
        "rows": [_row(target, carried) for target in targets],
        "failures": list(_failures(targets, carried)),
    }


def _kernel(name: str, choice: PeriodKernelChoice | None) -> dict[str, Any] | None:
    """Return the published kernel, and the lab's kernel on which it was repeated, if any."""
    kernel = published_study(name).kernel
    if kernel is None:
        return None
    return {
        "linux": kernel.linux,
        "known": kernel.known,
        "taken": choice.series if choice else "",
        "remarks": list(choice.remarks) if choice else [],
    }


def _row(target: Target, carried: ReproducedRuns) -> dict[str, Any]:
    values, proved = dict[str, list[float]](), set[int]()
    for time in TIMES:
        runs = [run for run in carried.of(target, time) if run[1]["status"] == "complete"]
        rows = (record["rows"] for _, record in runs)
        values[time] = taken(target, condition_of(target, time), rows) if runs else []
        proved |= {seed for seed, _ in runs}
    return {
        **described(target),
        **_setting(target, carried),
        **values,
        "seeds": sorted(proved),
        "command": command(target) if carried.combinations.get(target) else None,
    }


def _setting(target: Target, carried: ReproducedRuns) -> dict[str, Any]:
    """Return the name that all rows of one published setting share, and if its link was full."""
    combination = carried.combinations.get(target, {}).get(times(target.experiment)[-1])
    return {
        "setting": " ".join([*map("=".join, target.settings), target.condition]),
        "line_rate": combination is not None and at_line_rate(target, combination.spec),
    }


def _failures(targets: Iterable[Target], carried: ReproducedRuns) -> Iterable[dict[str, Any]]:
    """Yield a line for each target and problem, with its seeds."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for target in targets:
        for seed, record in [run for time in TIMES for run in carried.of(target, time)]:
            if record["status"] != "complete":
                seeds.setdefault((target.where, record["problem"]), set()).add(seed)
    for (place, problem), failed in seeds.items():
        yield {
            "where": f"{place}, seed {', '.join(map(str, sorted(failed)))}",
            "problem": problem,
            "log": None,
        }


_FULL = 1 - TOLERANCE
"""Share of the link's payload rate from which a full link agrees with the published number."""
_UNITS = {"Mbit/s": 1e6, "kbit/s": 1e3}
_FRAME_HEADER, _HEADERS = 14, 52  # bytes of Ethernet; of IP and TCP with timestamps


def at_line_rate(target: Target, spec: ExperimentSpec) -> bool:
    """Return whether the published number is the rate of the link, or of the sender's datagrams.

    A time counts by the amount that a flow sends in it. One of several flows never counts.
    """
    prefix = target.flow.removesuffix("*")  # as analysis.measures.results.value_of takes it
    flows = [flow for flow in spec.flows if flow.name.startswith(prefix)]
    rate = _published_rate(target, flows)
    return bool(rate) and rate >= _FULL * min(_highest(spec, flow) for flow in flows)


def _published_rate(target: Target, flows: list[Flow]) -> float:
    """Return bits of payload a second; 0 for what is no rate of all these flows."""
    if not target.published or target.among or target.listed:
        return 0.0
    if target.unit == "s" and len(flows) == 1 and flows[0].amount:
        return 8 * flows[0].amount.base / target.published
    return target.published * _UNITS.get(target.unit, 0.0)


def _highest(spec: ExperimentSpec, flow: Flow) -> float:
    """Return the payload rate of the slowest link, or the rate at which a sender of UDP sends."""
    if flow.rate:
        return float(flow.rate.base)
    ports = spec.topology.path(flow.sender, flow.receiver)
    rates = [port.channel.bandwidth.base for port in ports if port.channel]
    mtu = spec.topology.mtu.base
    return min(rates) * (mtu - _HEADERS) / (mtu + _FRAME_HEADER)


@dataclass(frozen=True)
class ReproductionRequest:
    """Targets to reproduce, in the short or in the full form.

    `only` are names of studies and `rows` texts of rows, if some were chosen. `kernels` are those
    of the studies' times; everything else runs on `kernel`.
    """

    targets: Sequence[Target]
    quick: bool
    only: Sequence[str] = ()
    rows: Sequence[str] = ()
    kernel: str = DEFAULT_KERNEL
    kernels: Mapping[str, PeriodKernelChoice] = field(default_factory=dict)


def carry_out(
    request: ReproductionRequest,
    out: Path,
    runner: PointRunner,
    watch: Watch,
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """Run the points that are not known yet, and return the folder with reproduction.json.

    Finished runs are kept in any case: the same call continues. `tell` gets sentences about the
    kernels and the time that it may take.
    """
    carried = ReproducedRuns(kernels=request.kernels)
    mode = "quick" if request.quick else "full"

    def write(run: RunFolder, facts: Facts) -> dict[str, Any]:
        totals = _totals(carried)
        content = {
            "format": 1,
            "id": run.identifier,
            "mode": mode,
            "only": list(request.only),
            "rows": list(request.rows),
            **for_page(runner.lab),
            **facts,
            **totals,
            NETWORK: counted_verdicts(carried.records.values()),
            "studies": studies(request.targets, carried, request.quick),
        }
        (run.folder / "reproduction.json").write_text(json.dumps(content, indent=1) + "\n")
        kind = {"kind": "reproduction", "experiment": "all"}
        return kind | lab_facts(runner.lab) | facts | totals

    with results(out) as memory, result_folder(out / "reproductions", mode, write) as run:
        on = series_of(request.kernels)
        carried.combinations = combinations(request.targets, request.kernel, on)
        points = _points(carried, request.quick, runner.lab)
        known = memory.done(point.key for point in points)
        missing = [point for point in points if point.key not in known]
        lines = told(request.kernels.values())
        for line in (*lines, estimated(missing, request.quick, runner.slots)):
            tell(line)
        for point, record in runner.run_missing(points, memory, watch):
            known_as = point.combination.digest, point.origin.metric, point.seed
            carried.records[known_as] = record
    return run.place


def series_of(kernels: Mapping[str, PeriodKernelChoice]) -> dict[str, str]:
    """Return the kernel of each study that can run on one of its time."""
    return {name: choice.series for name, choice in kernels.items() if choice.series}


def _totals(carried: ReproducedRuns) -> dict[str, float]:
    usages = [record.get("usage", {}) for record in carried.records.values()]
    return {
        name: round(sum(usage.get(short, 0.0) for usage in usages), 2)
        for name, short in (("virtual_seconds", "clock_seconds"), ("cpu_seconds", "cpu_seconds"))
    }


def _points(carried: ReproducedRuns, quick: bool, lab: Lab) -> list[Point]:
    """Return each point once, seed by seed: an interrupted run then has a first seed of all."""
    sources = {text: origin(lab, text) for text in set(map(_measures, carried.combinations))}
    unique = {
        (combination.digest, target.expression): (combination, target)
        for target, both in carried.combinations.items()
        for combination in both.values()
    }
    points = [
        sources[_measures(target)].point(combination, seed)
        for combination, target in unique.values()
        for seed in seeds_of(target.experiment, quick)
    ]
    return sorted(points, key=lambda point: point.seed)


def _measures(target: Target) -> str:
    """Return the function that measures a target: from captures, an expression, or columns."""
    if target.captured:
        return CAPTURES
    return f"{ROWS} {target.expression}".strip()


def estimated(missing: Sequence[Point], quick: bool, slots: int | None) -> str:
    """Return a sentence with the time of the missing points, from each study's time for a seed.

    A run on a kernel of the study's time counts like any other. `slots` guests run in parallel;
    None if that is unknown, as on a cluster.
    """
    if not missing:
        return "All results are known; no run is needed."
    left = Counter(point.combination.spec.name for point in missing)
    costs = {name: published_study(name).processor_seconds for name in left}
    seconds = sum(
        cost[not quick] * left[name] / _runs_of_a_seed(name, quick)
        for name, cost in costs.items()
        if cost
    )
    sentences = []
    if seconds:
        parallel = f", {_long(seconds / slots)} with {slots} at once" if slots else ""
        sentences.append(f"This takes about {_long(seconds)} of a processor{parallel}.")
    if silent := sorted(name for name, cost in costs.items() if not cost):
        sentences.append(f"How long {', '.join(silent)} takes is not known.")
    return " ".join(sentences)


def _runs_of_a_seed(name: str, quick: bool) -> int:
    """Return the number of guests for one seed of all published numbers of a study."""
    own = combinations(target for target in targets(quick) if target.experiment == name)
    runs = ((each.digest, target.expression) for target in own for each in own[target].values())
    return len(set(runs))


def _long(seconds: float) -> str:
    """Write minutes up to two hours, then hours."""
    minutes = max(round(seconds / 60), 1)
    if minutes < 120:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / 3600:.1f} hours"
