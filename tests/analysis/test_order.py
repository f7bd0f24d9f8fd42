"""The order of packets as a report gives it: counts, shares, extents and times (RFC 4737)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import flows
from analysis.measures.captures import End, late, order, values_of_order
from analysis.table import ColumnTable

Build = Callable[[list[tuple[float, int, int, int, int]]], bytes]
MSS = 1000


@pytest.fixture
def end(build_capture: Build, tmp_path: Path) -> Callable[..., End]:
    """A capture of these data segments.

    Each is time, place in the stream, and identification (its 18th byte in a frame).
    """

    def build(role: str, *packets: tuple[float, int, int]) -> End:
        rows = [(time, 4000, 5001, 1 + MSS * place, MSS) for time, place, _ in packets]
        content = bytearray(build_capture(rows))
        length = (len(content) - 24) // len(packets)
        for at, (*_, number) in enumerate(packets):
            start = 24 + at * length + 16 + 18
            content[start : start + 2] = number.to_bytes(2, "big")
        path = tmp_path / f"{role}.pcap"
        path.write_bytes(content)
        reading = flows.read(path, packets=True)
        assert reading.packet_table is not None
        return End(
            role,
            "h1-eth0",
            reading,
            reading.connections.row(0, named=True),
            reading.packet_table,
            by_a=True,
        )

    return build


def both(end: Callable[..., End], *places: int) -> ColumnTable:
    """Sent one each 10 ms, arriving in the order of `places` one each 10 ms from 1 s on."""
    sent = [(0.01 * place, place, place) for place in range(max(places) + 1)]
    return order(
        end("sender", *sent),
        end("receiver", *((1 + 0.01 * at, place, place) for at, place in enumerate(places))),
    )


def test_in_order_nothing_is_late(end: Callable[..., End]) -> None:
    result = both(end, 0, 1, 2, 3, 4)
    values = values_of_order(result)
    assert (
        values["sent"],
        values["arrived"],
        values["late"],
    ) == (5, 5, 0)
    assert (values["delay_least"], values["delay_most"]) == (1000, 1000)
    assert not len(late(result))


def test_the_values_are_in_percent_packets_and_milliseconds(end: Callable[..., End]) -> None:
    """Packet 1 comes after 2, 3 and 4.

    It is three places and 30 ms late, right after three that were sent later.
    """
    result = both(end, 0, 2, 3, 4, 1)
    values = values_of_order(result)
    assert late(result).to_polars().rows() == [(3, 30_000_000, 3)]
    assert (values["share"], values["share_3"]) == (20, 20)
    assert (values["extent_median"], values["extent_most"]) == (
        3,
        3,
    )
    assert values["time_median"] == pytest.approx(30)


def test_extent_counts_from_the_first_that_overtook_and_n_only_what_is_right_before(
    end: Callable[..., End],
) -> None:
    """RFC 4737's own distinction.

    4 came right after 7 alone (1-reordered), though 5, 6 and 7 had passed it.
    """
    frame = late(both(end, 0, 5, 1, 6, 2, 7, 4)).to_polars()
    assert frame.select("extent", "n_reordered").rows() == [(1, 1), (3, 1), (5, 1)]


def test_a_packet_is_recognised_by_its_identification(end: Callable[..., End]) -> None:
    """Two packets with the same bytes, of which only the second arrives, and before another one."""
    result = order(
        end("sender", (0.1, 0, 7), (0.2, 1, 8), (0.3, 0, 9)),
        end("receiver", (1.0, 0, 9), (1.25, 1, 8)),
    )
    values = values_of_order(result)
    assert (values["arrived"], values["lost"]) == (2, 1)
    assert late(result).to_polars().rows() == [(1, 250_000_000, 1)]


def test_where_nothing_arrived_there_are_no_values(end: Callable[..., End]) -> None:
    assert values_of_order(order(end("sender", (0.1, 0, 7)), end("receiver", (0.2, 0, 8)))) == {}
    assert values_of_order(ColumnTable({})) == {}
