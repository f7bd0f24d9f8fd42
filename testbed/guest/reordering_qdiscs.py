"""A host's own reordering as queueing disciplines: tc's commands, and what tc must then read back.

root 1: prio    three bands, as tc makes them
1:1 10: netem   delay, reorder, gap, limit
1:      u32     packets to the peer's address go to 1:1, all others by their priority to 1:2
                and 1:3
"""

from __future__ import annotations

import json
from typing import Any

from testbed.guest.shaping import (
    TICK,
    InterfaceSetting,
    as_duration,
    checked,
    microseconds,
    options_of,
)
from topologies.foundation.errors import TcplabError
from topologies.foundation.units import Duration, Share
from topologies.topology_spec import HostReordering

NETEM = "10:"
_RESOLUTION = 2**-32  # netem keeps probabilities in 32 bits


def commands(interface: str, peer: str, reordering: HostReordering) -> list[str]:
    """Lines for `tc -batch`; `peer` is the IPv4 address whose packets are meant."""
    device = f"dev {interface}"
    correlation = f" {reordering.correlation}" if reordering.correlation.base else ""
    gap = f" gap {reordering.gap.base}" if reordering.gap.base > 1 else ""
    line = (
        f"limit {reordering.limit.base} delay {microseconds(reordering.delay)} reorder"
        f" {reordering.at_once}{correlation}{gap}"
    )
    return [
        f"qdisc add {device} root handle 1: prio",
        f"qdisc add {device} parent 1:1 handle {NETEM} netem {line}",
        f"filter add {device} protocol ip parent 1:0 prio 3 u32 match ip dst {peer}/32 flowid 1:1",
    ]


def compare(
    interface: str,
    peer: str,
    reordering: HostReordering,
    rows: list[dict[str, Any]],
    filters: list[dict[str, Any]],
) -> list[InterfaceSetting]:
    """Each field beside what `tc -j qdisc show` and `tc -j filter show` say.

    Raises TcplabError if they differ.
    """
    netem, prio = options_of(interface, rows, NETEM), options_of(interface, rows, "1:")
    reorder = netem.get("reorder", {})
    share, correlation = float(reorder.get("reorder", 0)), float(reorder.get("correlation", 0))
    delay = float(netem.get("delay", {}).get("delay", 0))
    gap, limit, bands = (
        int(value) for value in (netem.get("gap", 0), netem.get("limit", 0), prio.get("bands", 0))
    )
    pairs: list[tuple[str, str, float, str, float, float]] = [
        ("prio", "3 bands", 3, f"{bands} bands", bands, 0),
        ("delay", *as_duration(reordering.delay), *as_duration(Duration(round(delay * 1e9))), TICK),
        ("share sent at once", *_share(reordering.at_once.fraction), *_share(share), _RESOLUTION),
        (
            "correlation",
            *_share(reordering.correlation.fraction),
            *_share(correlation),
            _RESOLUTION,
        ),
        ("gap", f"{reordering.gap}", reordering.gap.base, f"{gap}", gap, 0),
        (
            "netem limit",
            f"{reordering.limit} packets",
            reordering.limit.base,
            f"{limit} packets",
            limit,
            0,
        ),
    ]
    return [checked(interface, *pair) for pair in pairs] + [_filtered(interface, peer, filters)]


def _share(fraction: float) -> tuple[str, float]:
    return str(Share(round(fraction * 1e10))), fraction


def _filtered(interface: str, peer: str, filters: list[dict[str, Any]]) -> InterfaceSetting:
    """One u32 row that matches the peer's address and nothing else, and leads to 1:1."""
    filtered = [
        (_destination(row), row["options"]["flowid"])
        for row in filters
        if "flowid" in row.get("options", {})
    ]
    if filtered != [(peer, "1:1")]:
        present = ", ".join(f"{address} to {band}" for address, band in filtered) or "none"
        raise TcplabError(
            f"{interface}: a filter of {peer} to 1:1 was asked for, the kernel has {present}.",
            "Look at the tc lines in log.txt; the kernel needs CONFIG_NET_CLS_U32.",
        )
    return InterfaceSetting(interface, "filter", f"{peer} to 1:1", f"{peer} to 1:1")


def _destination(row: dict[str, Any]) -> str:
    """The address that a u32 row compares the IPv4 destination with: 4 bytes at offset 16.

    The row's options as JSON if it compares anything else.
    """
    match = row["options"].get("match", {})
    value, mask, place = (str(match.get(name, "")) for name in ("value", "mask", "off"))
    if mask != "ffffffff" or place != "16":
        return json.dumps(row["options"])
    return ".".join(str(byte) for byte in bytes.fromhex(value.zfill(8)))
