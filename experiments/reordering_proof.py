"""Proof that hosts reordered packets as they should, from netem's counters and those of TCP.

netem counts what leaves at once, before what waits, as a requeue (net/sched/sch_netem.c,
netem_enqueue). A requeue is a buffer of up to 64 KB, which TCP hands down whole even if offloads
are off; `packets` counts its segments. If every buffer has one segment, as acknowledgements have,
the two can be compared.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from experiments.spec import ExperimentSpec
from topologies.foundation.units import WHOLE
from topologies.topology_spec import HostReordering

NETEM = "10:"
_CHANCE = 4.5  # standard deviations, as for losses
_SEEN = ("TcpExtTCPSACKReorder", "TcpExtTCPRenoReorder", "TcpExtTCPTSReorder")

Counters = dict[str, dict[str, int]]


def reorderings(spec: ExperimentSpec, folder: Path) -> list[dict[str, Any]]:
    """A row (see experiments.proof) for each host that reorders and sent anything."""
    if not spec.topology.reordering:
        return []
    readings, counters = (
        json.loads((folder / name).read_text()) for name in ("reordering.json", "counters.json")
    )
    senders = {flow.sender for flow in spec.flows}
    rows = []
    for reordering in spec.topology.reordering:
        port = f"{reordering.host}-eth0"
        grown = counted(readings["before"][port], readings["after"][port])
        if grown["packets"] and reordering.host in senders:
            rows.append(_of_data(port, reordering, grown, seen(counters, reordering.host)))
        elif grown["packets"]:
            rows.append(_of_acknowledgements(port, reordering, grown))
    return rows


def counted(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, int]:
    """How much `packets`, `requeues` and `drops` of a host's netem have grown."""
    first, last = (next(row for row in rows if row["handle"] == NETEM) for rows in (before, after))
    return {name: last[name] - first[name] for name in ("packets", "requeues", "drops")}


def seen(counters: dict[str, Counters], host: str) -> int:
    """How often the TCP of `host` found that the path had reordered its segments."""
    return sum(
        counters["after"][host].get(name, 0) - counters["before"][host].get(name, 0)
        for name in _SEEN
    )


def _of_data(
    port: str, reordering: HostReordering, grown: dict[str, int], seen_by_tcp: int
) -> dict[str, Any]:
    """A frozen draw lets all or none wait, so TCP sees nothing; with any other draw it does.

    Before Linux 3.6 that draw let every second buffer leave at once, which netem did not count.
    """
    every_second = bool(seen_by_tcp and not grown["requeues"])
    frozen = reordering.correlation == WHOLE and reordering.gap.base == 1 and not every_second
    # A correlated draw may have let all packets wait.
    undecided = reordering.correlation.base > 0 and not frozen
    held = (
        seen_by_tcp == 0
        if frozen
        else bool(grown["requeues"] and seen_by_tcp) or (undecided and not grown["requeues"])
    )
    counts = (
        f"{grown['requeues']} of at most {grown['packets']} buffers left at once, {grown['drops']}"
        " were dropped"
    )
    promise = (
        "reorders nothing, since its draw is frozen"
        if frozen
        else f"lets buffers wait {reordering.delay} behind others"
    )
    return {
        "claim": f"{port} {promise}",
        "expected": "no reordering" if frozen else "reordering",
        "observed": [counts, f"TCP of {reordering.host} saw {seen_by_tcp} reorderings"],
        "held": held,
        "source": "reordering.json (tc -s -j qdisc show: requeues of netem), counters.json",
    }


def _of_acknowledgements(
    port: str, reordering: HostReordering, grown: dict[str, int]
) -> dict[str, Any]:
    sent, at_once = grown["packets"], grown["requeues"]
    allowed = _allowed(reordering, sent)
    return {
        "claim": f"{port} lets the right share of its packets wait {reordering.delay}",
        "expected": " or ".join(f"{lowest} to {highest}" for lowest, highest in allowed),
        "observed": [f"{at_once} of {sent} packets left at once, {grown['drops']} were dropped"],
        "held": any(lowest <= at_once <= highest for lowest, highest in allowed),
        "source": "reordering.json (tc -s -j qdisc show: requeues of netem)",
    }


def _allowed(reordering: HostReordering, sent: int) -> list[tuple[int, int]]:
    """How many of `sent` packets may leave at once: ranges (lowest, highest).

    Partly correlated draws have no simple distribution: any number may.
    """
    if reordering.correlation == WHOLE:
        return [(0, 0), (max(0, sent // reordering.gap.base - 1), sent // reordering.gap.base + 1)]
    if reordering.correlation.base:
        return [(0, sent)]
    # gap - 1 packets wait, then draws decide until one leaves at once: a renewal process of such
    # cycles.
    share = reordering.at_once.fraction
    cycle = reordering.gap.base - 1 + 1 / share
    width = _CHANCE * math.sqrt(sent * (1 - share) / share**2 / cycle**3) + 2
    return [(max(0, math.floor(sent / cycle - width)), math.ceil(sent / cycle + width))]
