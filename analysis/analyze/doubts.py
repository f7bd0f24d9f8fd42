"""What makes the figures of a capture doubtful: sentences for the reader, each with what helps."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.analyze import short_numbers
from analysis.analyze.listed import ListedCapture
from analysis.flows import FileFacts

_SHORT = 94
"""Bytes of a packet that hold all of TCP's options behind Ethernet and IPv4 (14 + 20 + 60)."""
_STEP = 1_000_000
"""Nanoseconds that time must step back to matter: between interfaces, less is usual."""
_NAMED = 5


def doubts(capture: ListedCapture) -> list[str]:
    """Return the sentences, those on the whole file first; none for a capture as it should be."""
    return [*_of_file(capture.file), *_of_times(capture.file), *_of_connections(capture)]


def _of_file(file: FileFacts) -> Iterator[str]:
    if 0 < file.snaplen < _SHORT and file.tcp_segments:
        yield (
            f"Only the first {file.snaplen} bytes of each packet were kept. TCP's options are cut"
            " off, so window scales, SACK and timestamps may be missing: capture with tcpdump -s"
            " 128."
        )
    if "link type not known" in file.ignored:
        types = short_numbers.listed([str(link_type) for link_type in file.link_types])
        yield (
            f"Of link type {types} not all is read: Ethernet, Linux cooked, raw IP, loopback and"
            " PPP are."
        )
    if not file.tcp_segments and {"not TCP", "not IP"} & set(file.ignored):
        yield (
            "If this is a tunnel, it is none of those that are read (GRE, IP in IP, VXLAN, Geneve,"
            " GTP-U, L2TP and others), or it is encrypted: capture inside it."
        )


def _of_times(file: FileFacts) -> Iterator[str]:
    if file.longest_back >= _STEP:
        extent = (
            f"at {short_numbers.counted(file.backwards, 'packet')}, by up to"
            f" {short_numbers.seconds(file.longest_back)}"
        )
        yield (
            f"Time goes backwards in this file {extent}: durations, rates, round trips and"
            " reordering may be wrong. Wireshark's reordercap IN OUT puts the packets in order."
        )


Values = Mapping[str, Any]
"""What `_COLUMNS` names, of one connection."""
_OF_BOTH_WAYS = (
    "total_packets",
    "syns",
    "options_known",
    "actual_data_pkts",
    "bytes_acknowledged",
    "unique_bytes_sent",
    "zwnd_probe_bytes",
    "missed_data",
    "mirrored",
)
_COLUMNS = ("connection", *(f"{name}_{way}" for name in _OF_BOTH_WAYS for way in ("a2b", "b2a")))


def _both(row: Values, name: str) -> tuple[int, int]:
    return row[f"{name}_a2b"], row[f"{name}_b2a"]


def _one_way(row: Values) -> bool:
    """Only one direction has packets; an unanswered SYN is no sign of that."""
    packets, syns = _both(row, "total_packets"), _both(row, "syns")
    return 0 in packets and sum(packets) > sum(syns)


def _unscaled(row: Values) -> bool:
    carries_data = sum(_both(row, "actual_data_pkts")) > 0
    return not _one_way(row) and 0 in _both(row, "options_known") and carries_data


def _unseen(row: Values) -> bool:
    """Bytes that probe a closed window are not among the unique ones."""
    names = ("bytes_acknowledged", "unique_bytes_sent", "zwnd_probe_bytes", "missed_data")
    return any(
        acked > seen + probing or (missed or 0) > probing
        for acked, seen, probing, missed in zip(*(_both(row, name) for name in names), strict=True)
    )


def _mirrored(row: Values) -> bool:
    """Many copies of packets, and not a few that a network doubled."""
    copies, packets = _both(row, "mirrored"), _both(row, "total_packets")
    return sum(copies) >= 3 and any(
        number * 5 > of for number, of in zip(copies, packets, strict=True)
    )


_OF_CONNECTIONS = {
    _one_way: "only one direction was captured, so round trips, losses and what limited the sender"
    " cannot be told. Capture without a filter on the direction.",
    _unscaled: "without both SYNs the scale of the windows is not known. They are shown unscaled,"
    " and the receive window may not be the limit: begin the capture before the connection.",
    _unseen: "bytes were sent that are not in the capture. They were lost by the capture (tcpdump"
    " says how many; -B gives it a larger buffer), left out by its filter, or are in IP fragments"
    " that are not whole.",
    _mirrored: "many segments are in the capture twice, as from a mirror port or two interfaces."
    " The second ones are counted as copies only; --dedup FILE writes the capture without them.",
}


def _of_connections(capture: ListedCapture) -> Iterator[str]:
    doubted: dict[str, list[int]] = {sentence: [] for sentence in _OF_CONNECTIONS.values()}
    for values in capture.values(*_COLUMNS):
        row = dict(zip(_COLUMNS, values, strict=True))
        for is_so, sentence in _OF_CONNECTIONS.items():
            if is_so(row):
                doubted[sentence].append(row["connection"])
    for sentence, numbers in doubted.items():
        if numbers:
            yield f"{_which(numbers, capture.height)}: {sentence}"


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
        f" after {short_numbers.counted(file.packets, 'packet')}; what precedes is shown."
    )
