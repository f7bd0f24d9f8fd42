"""Proof that ports lost and reordered what they should, from the counters of tc and TCP.

A requeue of netem is a buffer of up to 64 KB that left at once (netem_enqueue); `packets` counts
its segments. Both compare if every buffer has one segment, as acknowledgements have.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.spec import ExperimentSpec
from topologies.notation import json_value
from topologies.spec import MOST_PACKETS, Channel, HostReordering, Port
from topologies.units import WHOLE

CHANGES = "changes.json"
"""A row for each change of the link: its port, when it was (s), and the port's qdiscs before."""
# Counts each buffer that TCP hands to IP once, however many segments it holds.
_HANDED_DOWN = "IpOutRequests"
_CHANCE = 4.5  # standard deviations; once in 150 000 the right loss would be doubted
_NETEM = "10:"  # handle of netem on a host's port
_LOST, _REORDERING = ("packets", "drops"), ("packets", "requeues", "drops")
_REORDERED = ("TcpExtTCPSACKReorder", "TcpExtTCPRenoReorder", "TcpExtTCPTSReorder")

Counters = dict[str, dict[str, int]]
ProofRow = dict[str, Any]
"""A proof as the run directory keeps it: claim, expected, observed (sentences), held, source."""


def losses(spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Prove that every delay line lost the share that it should, within what chance allows."""
    rows = (
        _loss(port, channel, before, after, _handed_down(port, spec, folder))
        for port in spec.topology.ports
        for channel, before, after in _readings(port, spec, folder)
    )
    return [row for row in rows if row]


def _read(folder: Path, name: str) -> Any:
    return json_value((folder / name).read_text())


def _readings(
    port: Port, spec: ExperimentSpec, folder: Path
) -> Iterator[tuple[Channel, list[ProofRow], list[ProofRow]]]:
    """Yield each channel of the port, with its qdiscs at the beginning and end of its time."""
    readings = _read(folder, "qdiscs.json")
    channel, before = port.channel, readings["before"].get(port.name)
    if channel is None:
        return
    done = _read(folder, CHANGES) if spec.changes else []
    changes = sorted(spec.changes, key=lambda change: change.at)
    for change, row in zip(changes, done, strict=False):  # fewer, if the flows ended before
        if row["port"] == port.name:
            yield channel, before, row["before"]
            channel, before = change.channel, row["before"]
    yield channel, before, readings["after"][port.name]


def _handed_down(port: Port, spec: ExperimentSpec, folder: Path) -> int | None:
    """Return the buffers that hosts behind `port` sent with segmentation: netem draws for each."""
    if spec.topology.segmentation == "off":
        return None
    pairs = ((flow.sender, flow.receiver) for flow in spec.flows)
    ways = {way for pair in pairs for way in (pair, pair[::-1])}
    hosts = {source for source, to in ways if port in spec.topology.path(source, to)}
    return sum(_grown(_read(folder, "counters.json"), host, _HANDED_DOWN) for host in hosts)


def _grown(counters: dict[str, Counters], host: str, name: str) -> int:
    before, after = (counters[time][host].get(name, 0) for time in ("before", "after"))
    return after - before


def _loss(
    port: Port,
    channel: Channel,
    before: list[ProofRow],
    after: list[ProofRow],
    handed_down: int | None,
) -> ProofRow | None:
    """Return the proof of a port's loss; None if no packet entered its delay line.

    netem's `drops` include the queue's, which counts segments: with segmentation any number.
    """
    line, queue = (_growth(before, after, handle, _LOST) for handle in ("1:", "3:"))
    least = most = max(0, line["drops"] - queue["drops"])
    entered, source = line["packets"] + line["drops"], "qdiscs.json (tc -s -j qdisc show)"
    if handed_down is not None:
        most, entered, source = line["drops"], handed_down, f"{source}, {_HANDED_DOWN}"
    if not entered:
        return None
    share = channel.mean_loss.fraction
    clustering = channel.bursts.clustering if channel.bursts else 1.0
    width = _CHANCE * math.sqrt(entered * share * (1 - share) * clustering)
    lowest = max(0, math.floor(entered * share - width))
    highest = math.ceil(entered * share + width)
    lost = f"{least} to {most} of {entered}"
    if least == most:
        lost = f"{least} of {entered}, {100 * least / entered:.3g} %"
    full = channel.line < MOST_PACKETS  # netem counts a full line's drops as losses
    more = f" and those above {channel.line} on their way" if full else ""
    return {
        "claim": f"{port.name} loses {channel.mean_loss} of the packets that enter it{more}",
        "expected": str(channel.mean_loss),
        "observed": [f"{lost} (chance allows {lowest} to {highest})"],
        "held": lowest <= most and (full or least <= highest),
        "source": source,
    }


def _growth(
    before: list[ProofRow], after: list[ProofRow], handle: str, counters: tuple[str, ...]
) -> dict[str, int]:
    first, last = (next(row for row in rows if row["handle"] == handle) for rows in (before, after))
    return {name: last[name] - first[name] for name in counters}


def reorderings(spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Return a row for each host that reorders and sent anything."""
    rows = []
    for reordering in spec.topology.reordering:
        readings, counters = _read(folder, "reordering.json"), _read(folder, "counters.json")
        host, port = reordering.host, f"{reordering.host}-eth0"
        grown = _growth(readings["before"][port], readings["after"][port], _NETEM, _REORDERING)
        if grown["packets"] and host in {flow.sender for flow in spec.flows}:
            seen = sum(_grown(counters, host, name) for name in _REORDERED)
            rows.append(_of_data(port, reordering, grown, seen))
        elif grown["packets"]:
            rows.append(_of_acknowledgements(port, reordering, grown))
    return rows


def _of_data(
    port: str, reordering: HostReordering, grown: dict[str, int], seen_by_tcp: int
) -> ProofRow:
    """Judge reordered data: TCP sees it unless the draw is frozen, or counts by twos."""
    every_second = bool(seen_by_tcp and not grown["requeues"])
    frozen = reordering.correlation == WHOLE and reordering.gap.base == 1 and not every_second
    # A correlated draw may have let all packets wait.
    undecided = reordering.correlation.base > 0 and not grown["requeues"]
    promise = f"lets buffers wait {reordering.delay} behind others"
    held = bool(grown["requeues"] and seen_by_tcp) or undecided
    if frozen:
        promise, held = "keeps the order, since its draw is frozen", seen_by_tcp == 0
    return {
        "claim": f"{port} {promise}",
        "expected": "no reordering" if frozen else "reordering",
        "observed": [
            f"{grown['requeues']} of at most {grown['packets']} buffers left at once,"
            f" {grown['drops']} were dropped",
            f"TCP of {reordering.host} saw {seen_by_tcp} reorderings",
        ],
        "held": held,
        "source": "reordering.json (tc -s -j qdisc show: requeues of netem), counters.json",
    }


def _of_acknowledgements(port: str, reordering: HostReordering, grown: dict[str, int]) -> ProofRow:
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
    """Return how many of `sent` packets may leave at once: ranges (lowest, highest)."""
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
