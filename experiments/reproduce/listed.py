"""The studies of reproduction.json: a row for each published number with what our seeds gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.sweep.rows import value_of
from experiments.catalogue import catalogue
from experiments.reproduce.asked import TIMES, Time, command, described, profile_of
from experiments.reproduce.targets import Target
from experiments.sweep.grid import Combination
from experiments.sweep.point import Record


@dataclass
class Carried:
    """What is known: what each target runs, and the record of each of its seeds."""

    combinations: dict[Target, dict[Time, Combination]] = field(default_factory=dict)
    records: dict[tuple[str, int], Record] = field(default_factory=dict)

    def of(self, target: Target, time: Time) -> list[tuple[int, Record]]:
        """The seeds of a target in order, with their records."""
        asked = self.combinations.get(target, {}).get(time)
        if asked is None:
            return []
        return [(seed, record) for (digest, seed), record in sorted(self.records.items()) if digest == asked.digest]


def studies(targets: Sequence[Target], carried: Carried, quick: bool) -> list[dict[str, Any]]:
    """The studies in the order of their targets."""
    names = list(dict.fromkeys(target.experiment for target in targets))
    return [_study(name, [one for one in targets if one.experiment == name], carried, quick) for name in names]


def _study(name: str, targets: Sequence[Target], carried: Carried, quick: bool) -> dict[str, Any]:
    known = next((named for named in catalogue() if named.name == name), None)
    profile = profile_of(name) if known else None
    settings = (*profile.settings, *profile.path) if profile else ()
    return {
        "name": name, "claim": known.claim if known else "", "source": _SOURCES.get(name, _ASSIGNMENT),
        "profile": [{"name": one.name, "value": one.value, "reason": one.reason} for one in settings],
        "notes": _notes(name, known is not None, quick), "plot": _PLOTS.get(name, {"kind": "bars"}),
        "rows": [_row(target, carried) for target in targets], "failures": list(_failures(targets, carried)),
    }  # fmt: skip


def _row(target: Target, carried: Carried) -> dict[str, Any]:
    today, period = (_proved(carried.of(target, time)) for time in TIMES)
    return described(target) | {
        "today": _values(target, target.condition, today),
        "period": _values(target, target.period_condition, period),
        "seeds": sorted({seed for seed, _ in (*today, *period)}),
        "command": command(target) if carried.combinations.get(target) else None,
    }


def _proved(found: Iterable[tuple[int, Record]]) -> list[tuple[int, Record]]:
    return [(seed, record) for seed, record in found if record["status"] == "complete"]


def _values(target: Target, condition: str, proved: Iterable[tuple[int, Record]]) -> list[float]:
    """One value a seed, in the target's unit; a seed that has none is left out."""
    chosen = ([row for row in record["rows"] if row["condition"] == condition] for _, record in proved)
    values = (value_of(rows, target.metric, target.flow) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]


def _failures(targets: Iterable[Target], carried: Carried) -> Iterable[dict[str, Any]]:
    """One line for each target and problem, with its seeds."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for target in targets:
        for seed, record in [one for time in TIMES for one in carried.of(target, time)]:
            if record["status"] != "complete":
                seeds.setdefault((target.where, record["problem"]), set()).add(seed)
    for (where, problem), failed in seeds.items():
        yield {"where": f"{where}, seed {', '.join(map(str, sorted(failed)))}", "problem": problem, "log": None}


def _notes(name: str, known: bool, quick: bool) -> list[str]:
    if not known:
        return ["This study is not an experiment of this version yet: its published numbers are listed, ours are not."]
    return [_SHORT[name]] if quick and name in _SHORT else []


_ASSIGNMENT = "TCP assignment of the GENI project, solutions for instructors (2013)"
_SOURCES = {
    "sack": "Explanation of a Mininet script for selective acknowledgement, with its results (2014)",
    "sack_loss_sweep": "M. Davids, a shell script to measure the effects of retransmissions (2017)",
    "wan_reordering": "ESnet, experiments on TCP re-ordering (December 2015)",
    "packet_dropper": "Experiments with a packet dropper module on a static router (about 2001)",
}
_SHORT = {
    "sack_loss_sweep": "Short form: 30 s for each loss rate instead of 300 s.",
    "cubic_vs_reno": "Short form: 120 s where 1800 s were published.",
    "wan_reordering": "Short form: 10 s for each case instead of 60 s.",
}
_PLOTS = {
    "sack_loss_sweep": {"kind": "loglog", "x": "loss", "x_unit": "%", "series": "SACK"},
    "packet_dropper": {"kind": "loglog", "x": "dropped", "x_unit": "%", "series": ""},
}
