"""Proof that a host reordered what it was to reorder, from netem's own counters.

netem counts a packet that leaves at once, before those that wait, as a requeue (net/sched/sch_netem.c,
netem_enqueue). Order changes only where some packets leave at once and others do not.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from experiments.spec import ExperimentSpec
from topologies.spec import HostReordering
from topologies.units import WHOLE

_NETEM = "10:"
_CHANCE = 4.5  # standard deviations, as for losses


def reorderings(spec: ExperimentSpec, folder: Path) -> list[dict[str, Any]]:
    """A row (see experiments.proof) for each host that reorders and sent anything."""
    if not spec.topology.reordering:
        return []
    readings = json.loads((folder / "reordering.json").read_text())
    rows = []
    for what in spec.topology.reordering:
        port = f"{what.host}-eth0"
        sent, at_once, dropped = counted(readings["before"][port], readings["after"][port])
        if sent:
            rows.append(_row(port, what, sent, at_once, dropped))
    return rows


def counted(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Packets that went through a host's netem, those that left at once, and those that its limit dropped."""
    first, last = (next(row for row in rows if row["handle"] == _NETEM) for rows in (before, after))
    sent, at_once, dropped = (last[name] - first[name] for name in ("packets", "requeues", "drops"))
    return sent, at_once, dropped


def _row(port: str, what: HostReordering, sent: int, at_once: int, dropped: int) -> dict[str, Any]:
    allowed = _allowed(what, sent)
    said = f"{at_once} of {sent} packets left at once, {sent - at_once} waited {what.delay}, {dropped} were dropped"
    return {
        "claim": f"{port} {_promise(what)}",
        "expected": " or ".join(f"{lowest} to {highest}" for lowest, highest in allowed),
        "observed": [said, f"chance allows {' or '.join(f'{lowest} to {highest}' for lowest, highest in allowed)}"],
        "held": any(lowest <= at_once <= highest for lowest, highest in allowed),
        "source": "reordering.json (tc -s -j qdisc show: requeues of netem)",
    }


def _promise(what: HostReordering) -> str:
    if what.correlation == WHOLE:
        return f"with a correlation of 100 % lets all packets wait {what.delay} or none, and reorders nothing"
    return f"lets {what.at_once} of its packets leave {what.delay} before the others"


def _allowed(what: HostReordering, sent: int) -> list[tuple[int, int]]:
    """How many packets may leave at once. Partly correlated draws have no simple distribution: anything."""
    if what.correlation == WHOLE:
        return [(0, 0), (sent // what.gap.base - 1, sent // what.gap.base + 1)]
    if what.correlation.base:
        return [(0, sent)]
    # After gap - 1 packets that wait, the first lucky draw: a cycle of gap - 1 + 1/p packets has one.
    share, cycle = what.at_once.fraction, what.gap.base - 1 + 1 / what.at_once.fraction
    middle = sent / cycle
    width = _CHANCE * math.sqrt(max(middle, 1) * (1 - share)) / (share * cycle) + 2
    return [(max(0, math.floor(middle - width)), math.ceil(middle + width))]
