"""A channel as queueing disciplines: the tc commands for it, and what tc must then read back.

Root 1: netem is the delay line (delay, jitter, loss), which detaches packets from their sockets
(skb_orphan_partial), so TCP small queues do not see what follows; 1:1 2: tbf is the rate; 2:1 3: is
the bottleneck's queue. They are apart, so the queue holds waiting packets only.

In the lab kernel the rate is a line: each packet takes its own time on it (line.patch: tbf with a
burst below the MTU). A stock kernel has a token bucket only, since its timers may be late.

A host that reorders has a u32 filter: packets to the peer's address go through netem in the first
of three bands (root 1: prio, 1:1 10: netem), all others through the others.
"""

import json
import re
import struct
import sys
from collections.abc import Collection
from typing import Any

from testbed.guest.netlink import InterfaceSetting, NetlinkRequest, queueing, queues_found
from topologies.disciplines import discipline
from topologies.errors import TcplabError
from topologies.notation import json_value
from topologies.spec import SHORTEST_DELAY, Channel, HostReordering
from topologies.units import Duration, Packets, Quantity, Rate, Share, Size

FRAME = 1514  # bytes that tc counts for a full Ethernet frame
_BUFFER = 65535  # bytes of IP that TCP hands down at once if segmentation is on
_HEADERS = 66  # bytes of Ethernet, IP, and TCP with timestamps in front of each segment
_LINE = 1  # bytes of burst that make a line of the lab kernel's tbf
_BURST_TIME = Duration.parse("250us")  # how late a timer may fire in real time without losing rate
# A netem with a rate hands no packet on before the one ahead of it (netem_enqueue in
# net/sched/sch_netem.c); at this rate a full frame takes 1.5 ns.
_IN_ORDER = "8tbit"
_TOLERANCE = 1e-3  # relative; netem keeps probabilities in 32 bits and tc prints six digits
_DRAW = 1e10 * 2**-32  # netem keeps probabilities in 32 bits; a share's unit is 10^-10
TICK = 2000  # nanoseconds; the kernel has them all, tc prints 99us for 100us, 332us for 333.3us


def commands(
    interface: str,
    channel: Channel,
    frame: int = FRAME,
    is_line: bool = False,
    of_host: bool = False,
) -> list[str]:
    """Return lines for `tc -batch` that give `interface` the channel, for frames of `frame` bytes.

    With `is_line` (lab kernel) every packet takes its own time. A port `of_host` has no delay line.
    """
    device = f"dev {interface}"
    delay, jitter = _delay(channel, of_host)
    line = f"delay {microseconds(delay)}"
    line += f" {microseconds(jitter)}" if jitter.base else ""
    in_order = channel.processing_time.base or channel.order == "kept"
    line += f" rate {_IN_ORDER}" if in_order else ""
    loss = f" loss {channel.loss}" if channel.loss.base else ""
    if channel.bursts:
        loss = f" loss {channel.bursts.words}"
    tokens = _LINE if is_line else burst(channel, frame, of_host)
    limit = channel.queue.base * frame
    rate = f"rate {channel.bandwidth.base}bit burst {tokens} limit {limit}"
    return [
        f"qdisc add {device} root handle 1: netem limit {channel.line} {line}{loss}",
        f"qdisc add {device} parent 1:1 handle 2: tbf {rate}",
        *_queue(channel, frame, device),
    ]


_LAST = 65000  # preference of a chain's last filter
_LARGEST = 1 << 17  # bytes of a buffer, which a policer drops if it is larger than this


def hook_commands(interface: str) -> list[str]:
    """Return lines that let filters see what leaves: faults in chain 0, then all others."""
    last = f"egress pref {_LAST} matchall action goto chain 1"
    return [f"qdisc add dev {interface} clsact", f"filter add dev {interface} {last}"]


def policer_commands(interface: str, channel: Channel) -> list[str]:
    """Return the line for the channel's policer, which packets meet before the delay line."""
    bucket = f"rate {channel.policer.base}bit burst {channel.policer_burst.base}b mtu {_LARGEST}"
    police = f"matchall action police {bucket} conform-exceed drop/continue"
    line = f"filter add dev {interface} egress chain 1 pref 1 {police}"
    return [line] if channel.policer.base else []


def without_policer(interface: str) -> str:
    return f"filter del dev {interface} egress chain 1 pref 1"


_POLICE = re.compile(r"police \S+ rate (\S+) burst ([\d.]+)([KM]?)b")
_ROUNDED = 1024  # bytes to which tc rounds what it prints of a burst, at most


def compare_policer(interface: str, channel: Channel, shown: str) -> list[InterfaceSetting]:
    """Compare the policer with what tc shows, as text. Raises TcplabError if they differ."""
    found = _POLICE.search(shown)
    rate, number, unit = found.groups() if found else ("0bit", "0", "")
    burst = round(float(number) * 1024 ** " KM".index(unit or " "))
    return [
        checked(interface, "policer", channel.policer, Rate.parse(rate)),
        checked(interface, "policer_burst", channel.policer_burst, Size(burst), _ROUNDED),
    ]


def _delay(channel: Channel, of_host: bool) -> tuple[Duration, Duration]:
    """Return netem's delay and how far it varies up and down."""
    half = channel.processing_time.base // 2
    if half > 1000:  # whole microseconds, since tc prints no others
        half -= half % 1000
    delay = channel.delay + Duration(half)
    return delay if of_host else max(delay, SHORTEST_DELAY), channel.jitter + Duration(half)


def microseconds(value: Duration) -> str:
    """For netem, whose parser takes fractions but no nanoseconds."""
    return f"{value.base // 1000}.{value.base % 1000:03d}us"


def burst(channel: Channel, frame: int = FRAME, of_host: bool = False) -> int:
    """Return bytes that may leave back to back: two frames (one of a host), or _BURST_TIME's."""
    least = frame if of_host else 2 * frame
    return max(least, channel.bandwidth.base * _BURST_TIME.base // (8 * 10**9))


def buffer(frame: int) -> int:
    """Return what tc counts for the largest buffer, in frames of `frame` bytes with headers."""
    return _BUFFER // (frame - _HEADERS) * frame


def _queue(channel: Channel, frame: int, device: str) -> list[str]:
    """Return lines for the discipline; none for one that netlink makes."""
    each = discipline(channel.discipline)
    if each.attributes:
        return []
    size = channel.queue.base, frame, channel.bandwidth.base
    place = f"{device} parent 2:1 handle 3: {each.kind}"
    given = (channel.settings,) if channel.settings else ()
    lines = [f"qdisc add {place} {each.words(*size, *given)}"]
    if further := each.further(*size, channel.settings):
        lines.append(f"qdisc change {place} {further}")
    return lines


def request(interface: str, channel: Channel, change: bool = False) -> NetlinkRequest | None:
    """Return the request for a discipline that tc may not know; None for all others."""
    each = discipline(channel.discipline)
    if not each.attributes:
        return None
    numbers = {"limit": channel.queue.base}
    numbers |= {name: each.parameter(name).number(value) for name, value in channel.settings}
    known = [(each.attributes[name], number) for name, number in numbers.items()]
    options = sorted((kind, struct.pack(form, number)) for (kind, form), number in known)
    words = f"qdisc {'change' if change else 'add'} dev {interface} parent 2:1 {each.kind}"
    remedy = f"It came with Linux {each.since}: choose a newer kernel, or another discipline."
    return queueing(words, interface, each.kind, options, remedy, change)


_UNREADABLE = re.compile(r"\[(?:Unknown qdisc|cannot parse)[^]]*\] ?")  # amid tc's JSON


def qdisc_rows(text: str, others: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of `tc -j qdisc show`; those of `others`, by kind, come from netlink."""
    rows: list[dict[str, Any]] = json_value(_UNREADABLE.sub("", text))
    unread = [row for row in rows if row["kind"] in others]
    found = queues_found() if unread else {}
    for row in unread:
        each = discipline(row["kind"])
        options, counted = found[row["dev"], row["handle"]]
        row["options"] = {
            name: int.from_bytes(options[kind], sys.byteorder)
            for name, (kind, _) in (each.attributes or {}).items()
            if kind in options
        }
        values = struct.unpack(f"={len(counted) // 4}I", counted)
        row |= dict(zip(each.counters, values, strict=False))
    return rows


def compare(
    interface: str,
    channel: Channel,
    rows: list[dict[str, Any]],
    frame: int = FRAME,
    of_host: bool = False,
) -> list[InterfaceSetting]:
    """Compare each field of the channel with what tc shows. Raises TcplabError if they differ."""
    netem, tbf, queue = (options_of(interface, rows, handle) for handle in ("1:", "2:", "3:"))
    delay, jitter = (_duration(netem.get("delay", {}).get(name, 0)) for name in ("delay", "jitter"))
    asked_delay, asked_jitter = _delay(channel, of_host)
    waiting = Packets(discipline(channel.discipline).packets(queue, frame))
    line, loss = Packets(int(netem.get("limit", 0))), netem.get("loss-random", {}).get("loss", 0)
    return [
        checked(interface, "rate", channel.bandwidth, Rate(tbf["rate"] * 8)),
        checked(interface, "delay", asked_delay, delay, TICK),
        checked(interface, "jitter", asked_jitter, jitter, TICK),
        checked(interface, "loss", channel.loss, _share(loss), _DRAW),
        checked(interface, "queue", channel.queue, waiting, unit=" packets"),
        checked(interface, "delay line", channel.line, line, unit=" packets"),
        *_bursts(interface, channel, netem),
        *_parameters(interface, channel, queue),
    ]


def _bursts(interface: str, channel: Channel, netem: dict[str, Any]) -> list[InterfaceSetting]:
    """Compare each share of the model of losses in bursts with what tc shows."""
    model, found = channel.bursts, netem.get("loss-gemodel", {})
    if not model:
        return []
    return [
        checked(interface, f"gemodel {name}", asked, _share(found.get(name, 0)), _DRAW)
        for name, asked in (("p", model.p), ("r", model.r), ("1-h", model.bad), ("1-k", model.good))
    ]


def _parameters(interface: str, channel: Channel, shown: dict[str, Any]) -> list[InterfaceSetting]:
    managed = discipline(channel.discipline)
    options = managed.shown(shown) if channel.settings else {}
    compared = []
    for name, asked in channel.settings:
        setting = managed.parameter(name)
        found = setting.found(options)
        if not setting.agrees(asked, found):
            wanted = f"{interface}: a {name} of {asked} was asked of {managed.name}"
            remedy = "Choose a value that this kernel can hold, or a newer kernel."
            raise TcplabError(f"{wanted}, the kernel has {found or 'none'}.", remedy)
        compared.append(InterfaceSetting(interface, name, asked, asked))
    return compared


def _duration(seconds: float) -> Duration:
    return Duration(round(seconds * 1e9))


def _share(fraction: float) -> Share:
    return Share(round(fraction * 1e10))


def options_of(interface: str, rows: list[dict[str, Any]], handle: str) -> dict[str, Any]:
    """Return the options of the interface's qdisc with that handle. Raises TcplabError."""
    for row in rows:
        if row.get("dev") == interface and row.get("handle") == handle:
            return dict(row.get("options", {}))
    own = (f"{row['kind']} {row['handle']}" for row in rows if row.get("dev") == interface)
    present = ", ".join(own) or "none"
    problem = f"{interface}: qdisc {handle} was asked for, the kernel has {present}."
    remedy = "Look at the tc lines in log.txt; a kernel without netem, tbf or pfifo shapes no link."
    raise TcplabError(problem, remedy)


def checked(
    interface: str,
    field: str,
    asked: Quantity,
    found: Quantity,
    resolution: float = 0,
    unit: str = "",
) -> InterfaceSetting:
    """Return the setting of a field, which tc prints to `resolution`. Raises TcplabError."""
    difference = abs(found.base - asked.base)
    if difference > max(_TOLERANCE * asked.base, resolution):
        wanted = f"{interface}: a {field} of {asked}{unit} was asked for"
        remedy = "Choose a value that this kernel's tc can hold, or report the difference."
        raise TcplabError(f"{wanted}, the kernel has {found}{unit}.", remedy)
    same = asked if difference <= resolution else found
    return InterfaceSetting(interface, field, f"{asked}{unit}", f"{same}{unit}")


NETEM = "10:"


def reordering_commands(interface: str, peer: str, reordering: HostReordering) -> list[str]:
    """Return lines for `tc -batch`; `peer` is the IPv4 address whose packets are meant."""
    device = f"dev {interface}"
    correlation = f" {reordering.correlation}" if reordering.correlation.base else ""
    gap = f" gap {reordering.gap.base}" if reordering.gap.base > 1 else ""
    line = f"limit {reordering.limit.base} delay {microseconds(reordering.delay)}"
    line += f" reorder {reordering.at_once}{correlation}{gap}"
    return [
        f"qdisc add {device} root handle 1: prio",
        f"qdisc add {device} parent 1:1 handle {NETEM} netem {line}",
        f"filter add {device} protocol ip parent 1:0 prio 3 u32 match ip dst {peer}/32 flowid 1:1",
    ]


def compare_reordering(
    interface: str,
    peer: str,
    reordering: HostReordering,
    rows: list[dict[str, Any]],
    filters: list[dict[str, Any]],
) -> list[InterfaceSetting]:
    """Compare each field with what tc shows. Raises TcplabError if they differ."""
    netem, prio = options_of(interface, rows, NETEM), options_of(interface, rows, "1:")
    reorder, asked = netem.get("reorder", {}), reordering
    share, correlation = (_share(reorder.get(name, 0)) for name in ("reorder", "correlation"))
    gap, limit = (Packets(int(netem.get(name, 0))) for name in ("gap", "limit"))
    delay, bands = netem.get("delay", {}).get("delay", 0), Packets(int(prio.get("bands", 0)))
    return [
        checked(interface, "prio", Packets(3), bands, unit=" bands"),
        checked(interface, "delay", asked.delay, _duration(delay), TICK),
        checked(interface, "share sent at once", asked.at_once, share, _DRAW),
        checked(interface, "correlation", asked.correlation, correlation, _DRAW),
        checked(interface, "gap", asked.gap, gap),
        checked(interface, "netem limit", asked.limit, limit, unit=" packets"),
        _filtered(interface, peer, filters),
    ]


def _filtered(interface: str, peer: str, filters: list[dict[str, Any]]) -> InterfaceSetting:
    """Check for one u32 row that matches only the peer's address and leads to 1:1."""
    options = (row.get("options", {}) for row in filters)
    filtered = [f"{_destination(each)} to {each['flowid']}" for each in options if "flowid" in each]
    if filtered != [f"{peer} to 1:1"]:
        present = ", ".join(filtered) or "none"
        problem = f"{interface}: a filter of {peer} to 1:1 was asked for, the kernel has {present}."
        remedy = "Look at the tc lines in log.txt; the kernel needs CONFIG_NET_CLS_U32."
        raise TcplabError(problem, remedy)
    return InterfaceSetting(interface, "filter", f"{peer} to 1:1", f"{peer} to 1:1")


def _destination(options: dict[str, Any]) -> str:
    """Return the address (4 bytes at offset 16) that a u32 filter compares with, or its options."""
    match = options.get("match", {})
    value, mask, place = (str(match.get(name, "")) for name in ("value", "mask", "off"))
    if mask != "ffffffff" or place != "16":
        return json.dumps(options)
    return ".".join(str(byte) for byte in bytes.fromhex(value.zfill(8)))
