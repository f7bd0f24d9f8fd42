"""What makes the figures of a capture doubtful: sentences for the reader, each with what helps."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from analysis.analyze import short_numbers
from analysis.flows import FileFacts, Reading

_SHORT = 94
"""Bytes of a packet that hold all of TCP's options behind Ethernet and IPv4 (14 + 20 + 60)."""
_STEP = 1_000_000
"""Nanoseconds that time must step back to matter: between interfaces, less is usual."""
_NAMED = 5


def doubts(reading: Reading) -> list[str]:
    """The sentences, those on the whole file first; none for a capture as it should be."""
    return [
        *_of_file(reading.file),
        *_of_times(reading.file),
        *_of_connections(reading.connections),
    ]


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
            "If this is a tunnel (such as GRE, VXLAN, MPLS), its outer packets are read only:"
            " capture inside it."
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


def _both(name: str) -> tuple[pl.Expr, pl.Expr]:
    return pl.col(f"{name}_a2b"), pl.col(f"{name}_b2a")


def _one_way() -> pl.Expr:
    """Only one direction has packets; a SYN that nobody answered is no sign of that."""
    (a, b), (syns_a, syns_b) = _both("total_packets"), _both("syns")
    return ((a == 0) | (b == 0)) & (a + b > syns_a + syns_b)


def _unscaled() -> pl.Expr:
    (syns_a, syns_b), (data_a, data_b) = _both("syns"), _both("actual_data_pkts")
    return ~_one_way() & ((syns_a == 0) | (syns_b == 0)) & (data_a + data_b > 0)


def _unseen() -> pl.Expr:
    """Bytes that probe a closed window are not among the unique ones."""
    acked, seen, probing = (
        _both("bytes_acknowledged"),
        _both("unique_bytes_sent"),
        _both("zwnd_probe_bytes"),
    )
    missed = _both("missed_data")
    return pl.any_horizontal(
        *(
            (acked[way] > seen[way] + probing[way]) | (missed[way] > probing[way]).fill_null(False)
            for way in (0, 1)
        )
    )


def _mirrored() -> pl.Expr:
    """Many copies of segments; they are usual only if data is captured at its receiver."""
    (copies_a, copies_b), (data_a, data_b) = _both("copies"), _both("actual_data_pkts")
    many = ((copies_a * 5 > data_a) & (pl.col("vantage") != "b")) | (
        (copies_b * 5 > data_b) & (pl.col("vantage") != "a")
    )
    return many & (copies_a + copies_b >= 3)


_OF_CONNECTIONS = (
    (
        _one_way,
        (
            "only one direction was captured, so round trips, losses and what limited the sender"
            " cannot be told. Capture without a filter on the direction."
        ),
    ),
    (
        _unscaled,
        (
            "without both SYNs the scale of the windows is not known. They are shown unscaled, and"
            " the receive window may not be the limit: begin the capture before the connection."
        ),
    ),
    (
        _unseen,
        (
            "bytes were sent that are not in the capture. They were lost by the capture (tcpdump"
            " says how many; -B gives it a larger buffer), left out by its filter, or are in IP"
            " fragments."
        ),
    ),
    (
        _mirrored,
        (
            "many segments are in the capture twice, as from a mirror port or two interfaces. Round"
            " trips of them are not measured: Wireshark's editcap -d IN OUT takes the copies out."
        ),
    ),
)


def _of_connections(rows: pl.DataFrame) -> Iterator[str]:
    for is_so, sentence in _OF_CONNECTIONS:
        numbers = rows.filter(is_so())["connection"].to_list()
        if numbers:
            yield f"{_which(numbers, rows.height)}: {sentence}"


def _which(numbers: list[int], all_of_them: int) -> str:
    if len(numbers) == 1:
        return f"Connection {numbers[0]}"
    if len(numbers) == all_of_them:
        return f"All {all_of_them:,} connections"
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return f"Connections {', '.join(map(str, numbers[:_NAMED]))}{more}"
