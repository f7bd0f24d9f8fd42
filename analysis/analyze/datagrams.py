"""Flows of UDP and connections of QUIC in the terminal."""

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Any

from rich.console import Console
from rich.text import Text

from analysis.analyze import short_numbers

MOST = 10
"""Flows that the terminal shows."""

Row = Mapping[str, Any]
"""One flow, as analysis.flows.reader.Reading.udp has it."""


def show_datagrams(flows: Sequence[Row], console: Console) -> None:
    """Print the largest flows of UDP, each in two lines."""
    if not flows:
        return
    quic = sum(bool(flow["quic_version"]) for flow in flows)
    words = f", {quic:,} of QUIC" if quic else ""
    count = short_numbers.counted(len(flows), "flow")
    console.print(Text(f"\nUDP: {count}{words}", style="bold cyan"))
    for flow in nlargest(MOST, flows, key=_size):
        console.print(Text(_figures(flow)))
        console.print(Text(f"  {_ends(flow)}", style="cyan"))
    if len(flows) > MOST:
        console.print(f"And {len(flows) - MOST:,} smaller ones; --json has them all.")


def _size(flow: Row) -> int:
    return int(flow["bytes_a2b"]) + int(flow["bytes_b2a"])


def _figures(flow: Row) -> str:
    name = f"QUIC {flow['quic_version']}" if flow["quic_version"] else "UDP"
    took = short_numbers.seconds(flow["duration"])
    gap = max(flow["longest_gap_a2b"], flow["longest_gap_b2a"])
    parts = [
        f"{name}: {short_numbers.size(_size(flow))} in {took}",
        *_rate(flow),
        f"longest gap {short_numbers.seconds(gap)}",
        *_round_trips(flow),
    ]
    return ", ".join(parts)


def _rate(flow: Row) -> list[str]:
    if not flow["duration"]:
        return []
    rates = [8e9 * flow[f"bytes_{way}"] / flow["duration"] for way in ("a2b", "b2a")]
    return ["{} and {} back".format(*map(short_numbers.rate, rates))]


def _round_trips(flow: Row) -> list[str]:
    """Return the round trips of the handshake and of the spin bit, as far as they are known."""
    found = []
    if flow["handshake_outer"] is not None:
        trip = flow["handshake_outer"] + (flow["handshake_inner"] or 0)
        found.append(f"handshake {short_numbers.milliseconds(trip)}")
    if flow["spin_samples"]:
        found.append(f"spin bit {short_numbers.milliseconds(flow['spin_p50'])}")
    return found


def _ends(flow: Row) -> str:
    a, b = (short_numbers.end(flow[f"host_{end}"], flow[f"port_{end}"]) for end in "ab")
    identifier = f", DCID {flow['quic_identifier']}" if flow["quic_identifier"] else ""
    return f"{a} \N{RIGHTWARDS ARROW} {b}{identifier}"
