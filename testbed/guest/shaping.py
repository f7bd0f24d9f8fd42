"""A channel as queueing disciplines: the tc commands for it, and what tc must then read back.

    root 1: netem   the delay line: delay, jitter, loss. It detaches every packet from the socket
                    that sent it (skb_orphan_partial in net/sched/sch_netem.c), so TCP small
                    queues do not see what follows.
    1:1  2: tbf     the rate
    2:1  3: queue   the bottleneck's queue, counted in packets

Rate, queue and delay line are apart, so the queue holds waiting packets only and not those in
flight; in Mininet's TCLink one netem holds both, and HTB over netem falls far short at high
rates.

In the lab kernel the rate is a line: each packet takes its own time on it, and the next one leaves
the queue when it is through (line.patch of testbed/lab/kernel: tbf with a burst below the MTU). A
stock kernel has a token bucket only, which lets a lone packet and a burst through at once; it needs
one, since its timers may be late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topologies.foundation.errors import TcplabError
from topologies.foundation.units import Duration, Rate, Share
from topologies.topology_spec import SHORTEST_DELAY, Channel

FRAME = 1514  # bytes that tc counts for a full Ethernet frame
_BUFFER = 65535  # bytes of IP that TCP hands down at once if segmentation is on
_HEADERS = 66  # bytes of Ethernet, IP, and TCP with timestamps in front of each segment
_LINE = 1  # bytes of burst that make a line of the lab kernel's tbf
_BURST_TIME = Duration.parse("250us")  # how late a timer may fire in real time without losing rate
_FQ_FLOW, _FQ_LEAST = 100, 10  # packets
_CAKE_MORE = 790  # bytes of memory that a packet of TCP takes beyond its frame (skb->truesize)
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
    interface: str,
    channel: Channel,
    frame: int = FRAME,
    is_line: bool = False,
    of_host: bool = False,
) -> list[str]:
    """Lines for `tc -batch` that give `interface` the channel. Full frames have `frame` bytes.

    With `is_line`, which only the lab kernel can, every packet takes its own time at the rate. Port
    `of_host` leaves packets to the sockets that sent them.
    """
    device = f"dev {interface}"
    delay = _delay(channel, of_host)
    line = f"delay {microseconds(delay)}" + (
        f" {microseconds(channel.jitter)}" if channel.jitter.base else ""
    )
    loss = f" loss {channel.loss}" if channel.loss.base else ""
    rate = (
        f"rate {channel.bandwidth.base}bit"
        f" burst {_LINE if is_line else burst(channel, frame, of_host)}"
        f" limit {channel.queue.base * frame}"
    )
    return [
        f"qdisc add {device} root handle 1: netem limit {channel.line} {line}{loss}",
        f"qdisc add {device} parent 1:1 handle 2: tbf {rate}",
        f"qdisc add {device} parent 2:1 handle 3: {_queue(channel, frame)}",
    ]


def changed(lines: list[str]) -> list[str]:
    """The same commands for an interface that has the channel's qdiscs already, with their packets.

    The queue comes last: tbf sets the limit of a FIFO behind it to its own (tbf_change in
    net/sched/sch_tbf.c).
    """
    return [line.replace("qdisc add", "qdisc change", 1) for line in lines]


def _delay(channel: Channel, of_host: bool) -> Duration:
    return channel.delay if of_host else max(channel.delay, SHORTEST_DELAY)


def microseconds(value: Duration) -> str:
    """For netem, whose parser takes fractions but no nanoseconds."""
    return f"{value.base // 1000}.{value.base % 1000:03d}us"


def burst(channel: Channel, frame: int = FRAME, of_host: bool = False) -> int:
    """Bytes that may leave back to back: two frames, or what the rate carries in _BURST_TIME.

    A host's own port lets out one frame, which is a whole buffer if segmentation is on.
    """
    least = frame if of_host else 2 * frame
    return max(least, channel.bandwidth.base * _BURST_TIME.base // (8 * 10**9))


def buffer(frame: int) -> int:
    """What tc counts for the largest buffer of segments in frames of `frame` bytes.

    Each segment has headers of its own (qdisc_pkt_len_init in net/core/dev.c).
    """
    return _BUFFER // (frame - _HEADERS) * frame


def _queue(channel: Channel, frame: int) -> str:
    """The discipline of the queue, limited to `channel.queue` packets in its own unit (tc(8)).

    What is not named has its default. sfq's own default is 127 packets a flow, so that a long queue
    would have no effect. red is given the bytes of that many full frames, and marks between a sixth
    and half of them, as tc-red(8) advises. cake counts memory (sch_cake.c, buffer_used): it is
    given that of as many full frames of TCP. fq would pace by the socket of the sender, which a
    packet keeps on its way through this computer and not through a network.
    """
    packets, octets = channel.queue.base, channel.queue.base * frame
    match channel.discipline:
        case "fifo":
            return f"pfifo limit {packets}"
        case "sfq":
            return f"sfq limit {packets} depth {min(packets, 127)}"
        case "fq":
            return f"fq limit {packets} flow_limit {_flow_limit(packets)} nopacing"
        case "cake":
            return f"cake unlimited memlimit {packets * (frame + _CAKE_MORE)}"
        case "red":
            average = (
                f"min {octets // 6} max {octets // 2} avpkt {frame} burst {_red_burst(packets)}"
            )
            return (
                f"red limit {octets} {average} probability 0.02 bandwidth"
                f" {channel.bandwidth.base}bit"
            )
        case discipline:
            return f"{discipline} limit {packets}"


def _flow_limit(packets: int) -> int:
    """Packets of one flow in fq: its default of 100 (tc-fq(8)), but a tenth of a shorter queue.

    fq drops what comes to a full queue, whichever flow it is of: a flow that may fill the queue
    keeps all others out. Ten are an initial window.
    """
    return min(packets, max(_FQ_LEAST, min(_FQ_FLOW, packets // 10)))


def _red_burst(packets: int) -> int:
    """(2 min + max) / (3 avpkt), tc-red(8)."""
    return max(1, (2 * packets // 6 + packets // 2) // 3 + 1)


def _limit(queue: dict[str, Any], channel: Channel, frame: int) -> int:
    """The queue's length in packets as tc reads it back."""
    if channel.discipline == "cake":
        return int(queue.get("memlimit", 0)) // (frame + _CAKE_MORE)
    return int(queue.get("limit", 0)) // (frame if channel.discipline == "red" else 1)


def compare(
    interface: str,
    channel: Channel,
    rows: list[dict[str, Any]],
    frame: int = FRAME,
    of_host: bool = False,
) -> list[InterfaceSetting]:
    """Each field of the channel beside what `tc -j qdisc show` says of the interface.

    If they differ, raises TcplabError, which names the interface, what was asked for and what the
    kernel has.
    """
    netem, tbf, queue = (options_of(interface, rows, handle) for handle in ("1:", "2:", "3:"))
    delay, jitter = (float(netem.get("delay", {}).get(name, 0)) for name in ("delay", "jitter"))
    limit, line_length = _limit(queue, channel, frame), int(netem.get("limit", 0))
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
            *as_duration(_delay(channel, of_host)),
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
