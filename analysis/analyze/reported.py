"""Sentences and lines on a capture: errors of ICMP, extensions of TCP, events, and doubts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis import fmt
from analysis.analyze.facts import ConnectionFacts, DirectionFacts, lost_packets
from analysis.analyze.listed import ListedCapture
from analysis.analyze.verdict import UNANSWERED
from analysis.flows import FileFacts
from analysis.flows.columns import table_rows
from analysis.flows.reader import IcmpError, Reading

if TYPE_CHECKING:
    from analysis.table import ColumnTable


def named(error: IcmpError) -> str:
    mtu = f" (MTU {error['mtu']:,})" if error["mtu"] else ""
    return f"{error['error']}{mtu}"


def about_connection(errors: Sequence[IcmpError]) -> list[str]:
    kinds = dict[tuple[str, str], list[int]]()
    for error in errors:
        kinds.setdefault((error["reporter"], named(error)), []).append(error["packet"])
    return [
        f"ICMP: {reporter} reports {name} {fmt.times(len(packets))},"
        f" {fmt.packets(min(packets), max(packets))}."
        for (reporter, name), packets in kinds.items()
    ]


def about_flow(errors: Sequence[IcmpError], flow: Mapping[str, Any]) -> list[str]:
    ends = {(flow[f"host_{end}"], flow[f"port_{end}"]) for end in "ab"}
    found = Counter(
        named(error)
        for error in errors
        if error["protocol"] == "UDP"
        and {(error[end], error[f"{end}_port"]) for end in ("source", "target")} == ends
    )
    return [f"{name} {fmt.times(count)}" for name, count in found.items()]


def about_many(capture: ListedCapture) -> list[str]:
    errors = [error for errors in capture.errors.values() for error in errors]
    if not errors:
        return []
    kinds = Counter(map(named, errors)).most_common()
    counts = fmt.listed([f"{name} {fmt.times(count)}" for name, count in kinds])
    about = fmt.counted(len(capture.errors), "connection")
    return [f"ICMP reports about {about}: {counts}; --events lists them."]


_WAYS = ("a2b", "b2a")
Subflows = Mapping[int, int]  # the number of the connection that each subflow joins, by its own


def subflows(capture: ListedCapture) -> Subflows:
    names = [f"mptcp_{name}_{way}" for name in ("key", "version", "token") for way in _WAYS]
    owners, joins = dict[int, int](), list[tuple[int, int]]()
    for number, *values in capture.values("connection", *names):
        keys, versions, tokens = values[:2], values[2:4], values[4:]
        version = max((each for each in versions if each is not None), default=0)
        owners |= {_token(key, version): number for key in keys if key}
        joins += [(number, token) for token in tokens if token is not None]
    return {number: owners[token] for number, token in joins if token in owners}


def _token(key: str, version: int) -> int:
    """Return the token of a key: the first 32 bits of its hash (RFC 8684, 6824)."""
    import hashlib  # takes longer to load than a small capture to read

    digest = hashlib.sha256 if version else hashlib.sha1
    return int.from_bytes(digest(bytes.fromhex(key)).digest()[:4], "big")


def sentences(facts: ConnectionFacts, joined: Subflows) -> list[str]:
    ways = sorted(facts.directions, key=lambda way: way.ending)
    found = [_fast_open(ways[0]), _multipath(facts.number, ways, joined)]
    found += [_hop(way) for way in ways]
    if all(way["ecn_counter"] for way in ways):
        options = sum(way["accecn_options"] for way in ways)
        found.append(f"ECN is accurate: {fmt.counted(options, 'option')} of counters.")
    return [sentence for sentence in found if sentence]


def _hop(way: DirectionFacts) -> str:
    """Return the delay and the losses between the places that saw the packets of a direction."""
    if not way["hop_packets"]:
        return ""
    least, median, most = (fmt.milliseconds(way[f"hop_delay_{at}"]) for at in ("min", "p50", "max"))
    return (
        f"Seen at two places by {way.source} first: {int(way['hop_packets']):,} packets took"
        f" {median} between them (least {least}, most {most}), {int(way['hop_lost']):,} did not"
        " reach the second."
    )


def _fast_open(way: DirectionFacts) -> str:
    sent, taken = way["syn_data"], way["syn_data_accepted"]
    asked = {"request": "asked for a cookie", "cookie": "with a cookie"}
    parts = [asked[way["fastopen"]]] if way["fastopen"] in asked else []
    if sent:
        size = fmt.size(sent)
        answer = "accepted" if taken == sent else f"{fmt.size(taken or 0)} accepted"
        answer = "not answered" if taken is None else answer if taken else "rejected"
        parts.append(f"{size} in the SYN, {answer}")
    return f"Fast Open: {', '.join(parts)}." if parts else ""


def _multipath(number: int, ways: list[DirectionFacts], joined: Subflows) -> str:
    if number in joined:
        return f"Multipath TCP: a subflow of connection {joined[number]}."
    if ways[0]["mptcp"] == "join":
        return "Multipath TCP: a subflow of a connection that is not in the capture."
    if ways[0]["mptcp"] != "capable":
        return ""
    if ways[1]["mptcp"] != "capable":
        return f"Multipath TCP: asked for, {'refused' if ways[1]['syns'] else 'not answered'}."
    own = [str(each) for each, owner in joined.items() if owner == number]
    version = f"Multipath TCP, version {ways[1]['mptcp_version']}"
    return f"{version}: joined by connection {fmt.listed(own)}." if own else f"{version}."


_HEAD = ("Packet", "Time (s)", "Conn.", "Way", "Severity", "Event", "What the packet says", "Why")


def table(reading: Reading) -> ColumnTable:
    import numpy as np  # it takes longer to load than a small capture to read

    from analysis.flows.events import events

    told, connections = events(reading), reading.connection_table
    place = np.searchsorted(connections["connection"].values, told["connection"].values)
    ends = []
    for side in "ab":
        cells = (connections[f"{name}_{side}"].to_list() for name in ("host", "port"))
        named = [f"{host}:{port}" for host, port in zip(*cells, strict=True)]
        ends.append(np.array(named, np.object_)[place])
    forward = told["forward"].values
    return told.having(source=np.where(forward, *ends), target=np.where(forward, *ends[::-1]))


def lines(reading: Reading) -> Iterator[str]:
    """Yield an aligned line an event, after a head; times since the file's first packet."""
    cells = [_HEAD, *(_cells(row, reading.file.first or 0) for row in table(reading).as_rows())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        pairs = list(zip(row, widths, strict=True))
        padded = [cell.rjust(width) for cell, width in pairs[:3]]
        padded += [cell.ljust(width) for cell, width in pairs[3:]]
        yield "  ".join(padded).rstrip()


def _cells(row: dict[str, Any], first: int) -> tuple[str, ...]:
    said = f"seq {row['sequence']} len {row['payload']} win {row['window']}"
    said = "" if row["sequence"] is None else said  # an error of ICMP
    acknowledged = row["acknowledgement"]
    why = row["meaning"]
    why += f" (number {row['count']})" if row["count"] else ""
    why += f", {row['since'] / 1e6:.3f} ms after it was last sent" if row["since"] else ""
    return (
        str(row["number"]),
        f"{(row['time'] - first) / 1e9:.6f}",
        str(row["connection"]),
        f"{row['source']} → {row['target']}",
        row["severity"],
        row["event"],
        said + ("" if acknowledged is None else f" ack {acknowledged}"),
        why,
    )


_SHORT = 94
"""Bytes of a packet that hold all of TCP's options behind Ethernet and IPv4 (14 + 20 + 60)."""
_NAMED = 5
_HIDING = 10  # one packet not read for so many segments may be the missing direction's


def doubts(capture: ListedCapture) -> list[str]:
    """Return the sentences, those on the whole file first; none for a capture as it should be."""
    return [*_of_file(capture.file), *_of_connections(capture)]


def _is_short(file: FileFacts) -> bool:
    return 0 < file.snaplen < _SHORT


def _of_file(file: FileFacts) -> Iterator[str]:
    found = {
        "short": _is_short(file) and file.tcp_segments,
        "lost": file.lost,
        "timeless": file.timeless,
        "link_type": "link type not known" in file.ignored,
        "tunnel": not file.tcp_segments and {"not TCP", "not IP"} & set(file.ignored),
        "sorted": file.is_sorted and file.longest_back,
        "backwards": file.clock_back,
    }
    back = f"at {fmt.counted(file.backwards, 'packet')}, by up to {fmt.seconds(file.longest_back)}"
    words = {
        "snaplen": file.snaplen,
        "lost": lost_packets(file),
        "timeless": f"{file.timeless:,} of {fmt.counted(file.packets, 'packet')}",
        "types": fmt.listed(list(map(str, file.link_types))),
        "extent": back,
    }
    yield from (_DOUBTS[name].format(**words) for name, is_so in found.items() if is_so)


Values = Mapping[str, Any]  # what `_COLUMNS` names, of one connection
_OF_BOTH_WAYS = (
    *("total_packets", "syns", "options_known", "actual_data_pkts", "bytes_acknowledged"),
    *("unique_bytes_sent", "zwnd_probe_bytes", "missed_data", "mirrored", "unanswered_repeats"),
    *("late_by", "hop_packets"),
)
_COLUMNS = (
    *("connection", "host_a", "host_b"),
    *(f"{name}_{way}" for name in _OF_BOTH_WAYS for way in _WAYS),
)


def _both(row: Values, name: str) -> tuple[int, int]:
    return row[f"{name}_a2b"], row[f"{name}_b2a"]


def _unseen(row: Values) -> bool:
    """Bytes that probe a closed window are not among the unique ones."""
    names = ("bytes_acknowledged", "unique_bytes_sent", "zwnd_probe_bytes", "missed_data")
    return any(
        acked > seen + probing or (missed or 0) > probing
        for acked, seen, probing, missed in zip(*(_both(row, name) for name in names), strict=True)
    )


def _mirrored(row: Values) -> bool:
    """Many copies of packets, and not a few that a network doubled, at one place."""
    if any(_both(row, "hop_packets")):
        return False
    copies, packets = _both(row, "mirrored"), _both(row, "total_packets")
    pairs = zip(copies, packets, strict=True)
    return sum(copies) >= 3 and any(number * 5 > of for number, of in pairs)


_TABLE = tuple(table_rows(Path(__file__).with_name("doubts.csv")))
_DOUBTS = {row["name"]: row["sentence"] for row in _TABLE}
"""Sentences on a file or its connections, with what helps."""


def _of_connections(capture: ListedCapture) -> Iterator[str]:
    general = [_DOUBTS[name] for name in ("one_way", "unscaled", "unseen", "mirrored")]
    doubted: dict[str, list[int]] = {sentence: [] for sentence in general}
    one_way = _without_direction(capture.file)
    for values in capture.values(*_COLUMNS):
        row = dict(zip(_COLUMNS, values, strict=True))
        for sentence in _of_connection(row, one_way):
            doubted.setdefault(sentence, []).append(row["connection"])
    if _is_short(capture.file):
        doubted.pop(_DOUBTS["cut"], None)  # said of the whole file
    for sentence, numbers in doubted.items():
        if numbers:
            yield f"{_which(numbers, capture.height)}: {sentence}"


def _of_connection(row: Values, one_way: str) -> Iterator[str]:
    packets, syns, known = (_both(row, x) for x in ("total_packets", "syns", "options_known"))
    is_silent = max(_both(row, "unanswered_repeats")) >= UNANSWERED
    # SYNs and data without an answer are no sign of a direction that is missing.
    if 0 in packets and sum(packets) > sum(syns) and not is_silent:
        yield one_way
    elif any(sent and not whole for sent, whole in zip(syns, known, strict=True)):
        yield _DOUBTS["cut"]
    elif sum(_both(row, "actual_data_pkts")) and not all(known):
        host = row["host_a"] if known[1] else row["host_b"]
        yield _DOUBTS["half_scaled"].format(host=host) if any(known) else _DOUBTS["unscaled"]
    if _unseen(row):
        yield _DOUBTS["unseen"]
    if _mirrored(row):
        yield _DOUBTS["mirrored"]
    if (late := max(_both(row, "late_by"))) > 0:
        yield _DOUBTS["late"].format(late=fmt.seconds(late))


def _without_direction(file: FileFacts) -> str:
    """Return the sentence on a direction that is missing: packets that are not read may hide it."""
    others = sum(number for why, number in file.ignored.items() if why != "outside the period")
    if others * _HIDING < file.tcp_segments:
        return _DOUBTS["one_way"]
    types = fmt.listed([f"0x{kind:04x}" for kind in file.unread_types][:_NAMED])
    of_types = f", of the types {types} of Ethernet" if types else ""
    return _DOUBTS["unread"].format(others=f"{others:,}", of_types=of_types)


def _which(numbers: list[int], all_of_them: int) -> str:
    if len(numbers) == 1:
        return f"Connection {numbers[0]}"
    if len(numbers) == all_of_them:
        return f"All {all_of_them:,} connections"
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return f"Connections {', '.join(map(str, numbers[:_NAMED]))}{more}"


def fault_sentence(file: FileFacts) -> str:
    """Return where and why reading a damaged file stopped."""
    return (
        f"{file.path} is damaged: {file.fault}. Reading stopped at byte {file.fault_offset or 0:,},"
        f" after {fmt.counted(file.packets, 'packet')}; what precedes is shown."
    )
