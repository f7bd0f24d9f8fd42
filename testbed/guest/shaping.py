"""A channel as queueing disciplines: the tc commands for it, and what tc must then read back.

    root 1: netem   the delay line: delay, jitter, loss. It detaches every packet from the socket
                    that sent it (skb_orphan_partial in net/sched/sch_netem.c), so TCP small
                    queues do not see what follows.
    1:1  2: tbf     the rate
    2:1  3: queue   the bottleneck's queue, counted in packets

Rate, queue and delay line are apart, so the queue holds waiting packets only and not those in
flight; in Mininet's TCLink one netem holds both, and HTB over netem falls far short at high
rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topologies.errors import TcplabError
from topologies.topology_spec import Channel
from topologies.units import Duration, Rate, Share

FRAME = 1514  # bytes that tc counts for a full Ethernet frame
# netem without delay, jitter or rate does not detach packets.
SHORTEST_DELAY = Duration.parse("10us")
_BURST_TIME = Duration.parse("250us")  # how late a timer may fire in real time without losing rate
_TOLERANCE = 1e-3  # relative; netem keeps probabilities in 32 bits and tc prints six digits
TICK = 1001  # nanoseconds; tc prints whole microseconds and rounds down: 99us for 100us


@dataclass(frozen=True)
class InterfaceSetting:
    """One thing that was asked of an interface and what the kernel has."""

    interface: str
    field: str
    asked: str
    found: str


def commands(
    interface: str, channel: Channel, frame: int = FRAME, *, detaching: bool = True
) -> list[str]:
    """Lines for `tc -batch` that give `interface` the channel. Full frames have `frame` bytes.

    A line that is not `detaching` leaves packets to their sockets, as a host's own must.
    """
    device = f"dev {interface}"
    delay = _delay(channel, detaching)
    line = f"delay {microseconds(delay)}" + (
        f" {microseconds(channel.jitter)}" if channel.jitter.base else ""
    )
    loss = f" loss {channel.loss}" if channel.loss.base else ""
    rate = (
        f"rate {channel.bandwidth.base}bit burst {burst(channel, frame)} limit"
        f" {channel.queue.base * frame}"
    )
    return [
        f"qdisc add {device} root handle 1: netem limit {channel.line} {line}{loss}",
        f"qdisc add {device} parent 1:1 handle 2: tbf {rate}",
        f"qdisc add {device} parent 2:1 handle 3: {_queue(channel)}",
    ]


def _delay(channel: Channel, detaching: bool) -> Duration:
    return max(channel.delay, SHORTEST_DELAY) if detaching else channel.delay


def microseconds(value: Duration) -> str:
    """For netem, whose parser takes fractions but no nanoseconds."""
    return f"{value.base // 1000}.{value.base % 1000:03d}us"


def burst(channel: Channel, frame: int = FRAME) -> int:
    """Bytes that may leave back to back: two frames, or what the rate carries in _BURST_TIME."""
    return max(2 * frame, channel.bandwidth.base * _BURST_TIME.base // (8 * 10**9))


def _queue(channel: Channel) -> str:
    """The discipline of the queue, limited to `channel.queue` packets in its own unit (tc(8)).

    sfq's own default is 127 packets a flow, so that a long queue would have no effect. cake is
    given the bytes of that many full frames. red marks between a sixth and half of its queue, as
    its manual page advises.
    """
    packets, octets = channel.queue.base, channel.queue.base * FRAME
    match channel.discipline:
        case "fifo":
            return f"pfifo limit {packets}"
        case "sfq":
            return f"sfq limit {packets} depth {min(packets, 127)}"
        case "fq":
            return f"fq limit {packets} flow_limit {packets}"
        case "cake":
            return f"cake unlimited memlimit {octets}"
        case "red":
            average = (
                f"min {octets // 6} max {octets // 2} avpkt {FRAME} burst {_red_burst(packets)}"
            )
            return (
                f"red limit {octets} {average} probability 0.02 bandwidth"
                f" {channel.bandwidth.base}bit"
            )
        case discipline:
            return f"{discipline} limit {packets}"


def _red_burst(packets: int) -> int:
    """(2 min + max) / (3 avpkt), tc-red(8)."""
    return max(1, (2 * packets // 6 + packets // 2) // 3 + 1)


def _limit(queue: dict[str, Any], channel: Channel) -> int:
    """The queue's length in packets as tc reads it back."""
    if channel.discipline == "cake":
        return int(queue.get("memlimit", 0)) // FRAME
    return int(queue.get("limit", 0)) // (FRAME if channel.discipline == "red" else 1)


def compare(
    interface: str, channel: Channel, rows: list[dict[str, Any]], *, detaching: bool = True
) -> list[InterfaceSetting]:
    """Each field of the channel beside what `tc -j qdisc show` says of the interface.

    If they differ, raises TcplabError, which names the interface, what was asked for and what the
    kernel has.
    """
    netem, tbf, queue = (options_of(interface, rows, handle) for handle in ("1:", "2:", "3:"))
    delay, jitter = (float(netem.get("delay", {}).get(name, 0)) for name in ("delay", "jitter"))
    limit, line_length = _limit(queue, channel), int(netem.get("limit", 0))
    loss = float(netem.get("loss-random", {}).get("loss", 0))
    pairs: list[tuple[str, str, float, str, float, float]] = [
        (
            "rate",
            str(channel.bandwidth),
            channel.bandwidth.base,
            str(Rate(tbf["rate"] * 8)),
            tbf["rate"] * 8,
            0,
        ),
        (
            "delay",
            *as_duration(_delay(channel, detaching)),
            *as_duration(Duration(round(delay * 1e9))),
            TICK,
        ),
        ("jitter", *as_duration(channel.jitter), *as_duration(Duration(round(jitter * 1e9))), TICK),
        (
            "loss",
            str(channel.loss),
            channel.loss.fraction,
            str(Share(round(loss * 1e10))),
            loss,
            2**-32,
        ),
        ("queue", f"{channel.queue} packets", channel.queue.base, f"{limit} packets", limit, 0),
        (
            "delay line",
            f"{channel.line} packets",
            channel.line.base,
            f"{line_length} packets",
            line_length,
            0,
        ),
    ]
    return [checked(interface, *pair) for pair in pairs]


def as_duration(value: Duration) -> tuple[str, float]:
    return str(value), value.base


def options_of(interface: str, rows: list[dict[str, Any]], handle: str) -> dict[str, Any]:
    """The options of the interface's qdisc with that handle. Raises TcplabError if it has none."""
    for row in rows:
        if row.get("dev") == interface and row.get("handle") == handle:
            options: dict[str, Any] = row.get("options", {})
            return options
    present = ", ".join(
        f"{row.get('kind')} {row.get('handle')}" for row in rows if row.get("dev") == interface
    )
    raise TcplabError(
        f"{interface}: qdisc {handle} was asked for, the kernel has {present or 'none'}.",
        "Look at the tc lines in log.txt; a kernel without netem, tbf or pfifo cannot shape a"
        " link.",
    )


def checked(
    interface: str,
    field: str,
    asked: str,
    wanted: float,
    found: str,
    actual: float,
    resolution: float,
) -> InterfaceSetting:
    """The setting of a field, or TcplabError if the kernel's value differs too much.

    `resolution` is how exactly tc prints the field: within it the kernel has what was asked for.
    """
    if abs(actual - wanted) > max(_TOLERANCE * abs(wanted), resolution):
        raise TcplabError(
            f"{interface}: a {field} of {asked} was asked for, the kernel has {found}.",
            "Choose a value that this kernel's tc can hold, or report the difference.",
        )
    return InterfaceSetting(
        interface, field, asked, asked if abs(actual - wanted) <= resolution else found
    )
