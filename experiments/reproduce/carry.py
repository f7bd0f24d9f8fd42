"""All targets carried out: one point for each setting and seed, under today's kernel and the period's profile."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import testbed
from analysis.sweep.rows import value_of
from experiments.catalogue import catalogue
from experiments.profiles import Profile
from experiments.reproduce.targets import Target, combinations, described
from experiments.session import for_page, hand_over, lab_facts
from experiments.store import new_run
from experiments.sweep.grid import Combination
from experiments.sweep.point import Point, Record, origin
from experiments.sweep.results import results
from experiments.sweep.run import Watch, Way, run_points

_SEEDS = {"sack_loss_sweep": (1, 1), "wan_reordering": (1, 1), "packet_dropper": (3, 10)}
"""Seeds in the short and the full form; others take three and ten."""


@dataclass
class Carried:
    """What is known: each target's combination, and the record of each of its seeds."""

    combinations: dict[Target, Combination] = field(default_factory=dict)
    records: dict[tuple[str, int], Record] = field(default_factory=dict)

    def of(self, target: Target) -> list[tuple[int, Record]]:
        """The seeds of a target in order, with their records."""
        if target not in self.combinations:
            return []
        digest = self.combinations[target].digest
        return [(seed, record) for (one, seed), record in sorted(self.records.items()) if one == digest]


def carry_out(targets: Sequence[Target], quick: bool, out: Path, way: Way, watch: Watch) -> Path:
    """Run what is not known yet, and return the finished folder with reproduction.json.

    What was run is kept in any case: the same call goes on.
    """
    begun, carried, status = time.monotonic(), Carried(), "interrupted"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with results(out) as memory, new_run(out / "reproductions", "quick" if quick else "full") as run:
        try:
            source = origin(way.lab)
            points = _points(targets, quick, carried, source)
            known = memory.done(point.key for point in points)
            watch.wanted(len(points), len(known))
            for point in points:
                if point.key in known:
                    carried.records[point.combination.digest, point.seed] = known[point.key]
            missing = [point for point in points if point.key not in known]
            for point, record in run_points(missing, way, memory, source, watch):
                carried.records[point.combination.digest, point.seed] = record
            status = "complete"
        finally:
            facts = {
                "tcplab": testbed.VERSION, "started": started, "status": status,
                "wall_seconds": round(time.monotonic() - begun, 3),
            }  # fmt: skip
            content = {"format": 1, "id": run.identifier, "mode": "quick" if quick else "full",
                       **for_page(way.lab), **facts, **_totals(carried),
                       "studies": studies(targets, carried, quick)}  # fmt: skip
            (run.folder / "reproduction.json").write_text(json.dumps(content, indent=1) + "\n")
            folder = run.finish({"kind": "reproduction", "experiment": "all", **lab_facts(way.lab), **facts,
                                 **_totals(carried)})  # fmt: skip
            hand_over(folder)
    return folder


def _totals(carried: Carried) -> dict[str, float]:
    usages = [record.get("usage", {}) for record in carried.records.values()]
    return {name: round(sum(usage.get(short, 0.0) for usage in usages), 2)
            for name, short in (("virtual_seconds", "clock_seconds"), ("cpu_seconds", "cpu_seconds"))}  # fmt: skip


def _points(targets: Sequence[Target], quick: bool, carried: Carried, source: Any) -> list[Point]:
    """Every point once, seed by seed, so that an interrupted run has a first seed of everything."""
    carried.combinations = combinations(targets)
    unique = {one.digest: one for one in carried.combinations.values()}
    seeds = {
        one.digest: _SEEDS.get(target.experiment, (3, 10))[not quick] for target, one in carried.combinations.items()
    }
    return [source.point(unique[digest], seed) for seed in range(1, max(seeds.values(), default=0) + 1)
            for digest, most in seeds.items() if seed <= most]  # fmt: skip


def studies(targets: Sequence[Target], carried: Carried, quick: bool) -> list[dict[str, Any]]:
    """The studies of reproduction.json, in the order of their targets."""
    names = list(dict.fromkeys(target.experiment for target in targets))
    return [_study(name, [one for one in targets if one.experiment == name], carried, quick) for name in names]


def _study(name: str, targets: Sequence[Target], carried: Carried, quick: bool) -> dict[str, Any]:
    known = next((named for named in catalogue() if named.name == name), None)
    profile: Profile | None = getattr(import_module(f"experiments.{name}"), "PROFILE", None) if known else None
    settings = profile.settings if profile else ()
    return {
        "name": name, "claim": known.claim if known else "", "source": _source(name),
        "profile": [{"name": one.name, "value": one.value, "reason": one.reason} for one in settings],
        "notes": _notes(name, known is not None, quick), "plot": _PLOTS.get(name, {"kind": "bars"}),
        "rows": [_row(target, carried) for target in targets], "failures": list(_failures(targets, carried)),
    }  # fmt: skip


def _row(target: Target, carried: Carried) -> dict[str, Any]:
    found = carried.of(target)
    proved = [(seed, record) for seed, record in found if record["status"] == "complete"]
    return described(target) | {
        "today": _values(target, target.condition, proved),
        "period": _values(target, target.period_condition, proved),
        "seeds": [seed for seed, _ in proved],
    }


def _values(target: Target, condition: str, proved: Iterable[tuple[int, Record]]) -> list[float]:
    """One value a seed, in the target's unit; a seed that has none is left out."""
    chosen = ([row for row in record["rows"] if row["condition"] == condition] for _, record in proved)
    values = (value_of(rows, target.metric, target.flow) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]


def _failures(targets: Iterable[Target], carried: Carried) -> Iterable[dict[str, Any]]:
    """One line for each target and problem, with its seeds."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for target in targets:
        for seed, record in carried.of(target):
            if record["status"] != "complete":
                seeds.setdefault((target.where, record["problem"]), []).append(seed)
    for (where, problem), failed in seeds.items():
        yield {"where": f"{where}, seed {', '.join(map(str, failed))}", "problem": problem, "log": None}


def _source(name: str) -> str:
    return _SOURCES.get(name, _ASSIGNMENT)


def _notes(name: str, known: bool, quick: bool) -> list[str]:
    if not known:
        return ["This study is not an experiment of this version yet: its published numbers are listed, ours are not."]
    return [_SHORT[name]] if quick and name in _SHORT else []


_ASSIGNMENT = "TCP assignment of the GENI project, solutions for instructors (2013)"
_SOURCES = {
    "sack_loss_sweep": "M. Davids, a shell script to measure the effects of retransmissions (2017)",
    "wan_reordering": "ESnet, experiments on TCP re-ordering (December 2015)",
    "packet_dropper": "Experiments with a packet dropper module on a static router (about 2001)",
}
_SHORT = {
    "sack_loss_sweep": "Short form: 30 s for each loss rate instead of 300 s.",
    "cubic_vs_reno": "Short form: 300 s where 1800 s were published.",
    "wan_reordering": "Short form: 10 s for each case instead of 60 s.",
}
_PLOTS = {
    "sack_loss_sweep": {"kind": "loglog", "x": "loss", "x_unit": "%", "series": "SACK"},
    "packet_dropper": {"kind": "loglog", "x": "dropped", "x_unit": "%", "series": ""},
}
