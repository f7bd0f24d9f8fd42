"""Published numbers reproduced: a point for each setting and seed, a row for each number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from analysis.measures.metrics import Row
from analysis.measures.results import value_of
from analysis.statistics.published import TOLERANCE
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec, Flow
from experiments.study import points
from experiments.study.catalogue import find
from experiments.study.grid import Combination
from experiments.study.published import Target, published_study, seeds_of
from experiments.sweep.point import CAPTURES, ROWS, Record, origin
from experiments.sweep.run import EndedPoints, PointRuns

SeedRecord = tuple[int, Record]


@dataclass(frozen=True)
class Reproduction:
    """Targets to reproduce, a preset (experiments.sweep.run); `kernels` are of studies' times."""

    targets: Sequence[Target]
    quick: bool
    only: Sequence[str] = ()
    rows: Sequence[str] = ()
    kernel: str = DEFAULT_KERNEL
    kernels: Mapping[str, points.PeriodKernelChoice] = field(default_factory=dict)
    kind: ClassVar[str] = "reproduction"
    shelf: ClassVar[str] = "reproductions"
    file: ClassVar[str] = "reproduction.json"

    @property
    def label(self) -> str:
        return "quick" if self.quick else "full"

    def about(self, runs: PointRuns) -> dict[str, Any]:
        return {"experiment": "all"}

    @cached_property
    def combinations(self) -> dict[Target, dict[points.Time, Combination]]:
        series = {name: each.series for name, each in self.kernels.items() if each.series}
        return points.combinations(self.targets, self.kernel, series)

    def fill(self, runs: PointRuns) -> None:
        for line in points.told(self.kernels.values()):
            runs.watch.note(line)
        measures = set(map(_measures, self.combinations))
        sources = {text: origin(runs.runner.lab, text) for text in measures}
        unique = {
            (combination.digest, target.expression): (combination, target)
            for target, both in self.combinations.items()
            for combination in both.values()
        }
        wanted = [
            sources[_measures(target)].point(combination, seed)
            for combination, target in unique.values()
            for seed in seeds_of(target.experiment, self.quick)
        ]
        # Seed by seed: an interrupted run then has a first seed of all.
        runs.run(sorted(wanted, key=lambda point: point.seed))

    def content(self, runs: PointRuns, ended: EndedPoints, folder: Path) -> dict[str, Any]:
        records: dict[tuple[str, str], list[SeedRecord]] = defaultdict(list)
        for point, record in ended:
            known_as = point.combination.digest, point.origin.metric
            records[known_as].append((point.seed, record))
        names = dict.fromkeys(target.experiment for target in self.targets)
        return {
            "mode": self.label,
            "only": list(self.only),
            "rows": list(self.rows),
            "studies": [_study(name, self, records) for name in names],
        }


def _study(
    name: str, asked: Reproduction, records: Mapping[tuple[str, str], list[SeedRecord]]
) -> dict[str, Any]:
    study, profile, choice = published_study(name), points.profile_of(name), asked.kernels.get(name)
    settings = (*profile.settings, *profile.path) if profile else ()
    rows, seeds = [], dict[tuple[str, str], set[int]]()
    for target in (each for each in asked.targets if each.experiment == name):
        runs = asked.combinations.get(target, {})
        found = {
            time: records.get((run.digest, target.expression), []) for time, run in runs.items()
        }
        rows.append(_row(target, runs, found))
        for seed, record in chain(*found.values()):
            if record["status"] != "complete":
                seeds.setdefault((target.where, record["problem"]), set()).add(seed)
    return {
        "name": name,
        "claim": find(name).claim,
        "source": study.source,
        "profile": [
            {"name": setting.name, "value": setting.value, "reason": setting.reason}
            for setting in settings
        ],
        "profile_differs": profile.differs if profile else "",
        # the published kernel, and the lab's on which it was repeated
        "kernel": study.kernel
        and {
            "linux": study.kernel.linux,
            "known": study.kernel.known,
            "taken": choice.series if choice else "",
            "remarks": list(choice.remarks) if choice else [],
        },
        "notes": [*([study.short_form] if asked.quick and study.short_form else []), *study.notes],
        "plot": study.plot,
        "rows": rows,
        "failures": [
            {
                "where": f"{where}, seed {', '.join(map(str, sorted(failed)))}",
                "problem": problem,
                "log": None,
            }
            for (where, problem), failed in seeds.items()
        ],
    }


def _row(
    target: Target,
    runs: Mapping[points.Time, Combination],
    records: Mapping[points.Time, list[SeedRecord]],
) -> dict[str, Any]:
    """Return the row of reproduction.json: values of proved runs."""
    values, proved = dict[str, list[float]](), set[int]()
    for time in points.TIMES:
        complete = [run for run in records.get(time, ()) if run[1]["status"] == "complete"]
        rows = (record["rows"] for _, record in complete)
        values[time] = taken(target, points.condition_of(target, time), rows) if complete else []
        proved |= {seed for seed, _ in complete}
    last = runs.get(points.times(target.experiment)[-1])
    return {
        **points.described(target),
        "setting": " ".join([*map("=".join, target.settings), target.condition]),
        "line_rate": last is not None and at_line_rate(target, last.spec),
        **values,
        "seeds": sorted(proved),
        "command": points.command(target) if runs else None,
    }


_FULL = 1 - TOLERANCE
"""Share of the link's payload rate from which a full link agrees with the published number."""
_UNITS = {"Mbit/s": 1e6, "kbit/s": 1e3}
_FRAME_HEADER, _HEADERS = 14, 52  # bytes of Ethernet; of IP and TCP with timestamps


def at_line_rate(target: Target, spec: ExperimentSpec) -> bool:
    """Return whether the number (or amount in a time) is the rate of link or sender."""
    prefix = target.flow.removesuffix("*")  # as analysis.measures.results.value_of takes it
    flows = [flow for flow in spec.flows if flow.name.startswith(prefix)]
    if not target.published or target.among or target.listed:
        return False
    if target.unit == "s" and len(flows) == 1 and flows[0].amount:
        rate = 8 * flows[0].amount.base / target.published
    else:
        rate = target.published * _UNITS.get(target.unit, 0.0)
    return bool(rate) and rate >= _FULL * min(_highest(spec, flow) for flow in flows)


def _highest(spec: ExperimentSpec, flow: Flow) -> float:
    """Return the payload rate of the slowest link, or the rate at which a sender of UDP sends."""
    if flow.rate:
        return float(flow.rate.base)
    ports = spec.topology.path(flow.sender, flow.receiver)
    slowest = min(port.channel.bandwidth.base for port in ports if port.channel)
    mtu = spec.topology.mtu.base
    return slowest * (mtu - _HEADERS) / (mtu + _FRAME_HEADER)


def _measures(target: Target) -> str:
    """Return the function that measures a target: from captures, an expression, or columns."""
    if target.captured:
        return CAPTURES
    return f"{ROWS} {target.expression}".strip()


Cell = tuple[ExperimentSpec, Iterable[tuple[int, list[Row]]]]
"""The spec of a combination, and each seed with the rows of its proved run."""


def taken(target: Target, condition: str | None, runs: Iterable[Iterable[Row]]) -> list[float]:
    """Return each run's value under this condition in the target's unit, if it has one."""
    chosen = ([row for row in rows if row["condition"] == condition] for rows in runs)
    values = (value_of(rows, target.metric, target.flow, target.among) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]


def published_of(cells: Iterable[Cell]) -> dict[str, Any]:
    """Return `published` of sweep.json: rows of proved points, of short forms if need be."""
    measured = list(cells)
    for quick in (False, True):
        rows = [row for row in _rows(measured, quick).values() if row["today"] or row["period"]]
        if rows:
            note = published_study(measured[0][0].name).short_form if quick else ""
            return {"note": note, "rows": rows}
    return {}


def _rows(cells: Iterable[Cell], quick: bool) -> dict[Target, dict[str, Any]]:
    """Return a row for each target; its two times may be of points with different networks."""
    rows: dict[Target, dict[str, Any]] = {}
    for spec, runs in cells:
        matched = points.published_with_run(spec, quick)
        for match in matched:
            empty = {
                "today": [],
                "period": [],
                "seeds": [],
                "command": points.command(match.target),
            }
            rows.setdefault(match.target, points.described(match.target) | empty)
        for seed, measured in runs if matched else ():
            for match in matched:
                row = rows[match.target]
                row["today"] += taken(match.target, match.today, [measured])
                row["period"] += taken(match.target, match.period, [measured])
                row["seeds"] = sorted({*row["seeds"], seed})
    return rows
