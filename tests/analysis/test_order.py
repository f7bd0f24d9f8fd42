"""The order of packets against sequences whose reordering is known, after the definitions of RFC 4737."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from analysis.capture import Segment, data_towards, read_capture
from analysis.order import Late, order, values_of

MSS = 1000


def sent(count: int) -> list[Segment]:
    """A packet each 10 ms."""
    return [Segment(0.01 * place, 4000, 5001, 1 + MSS * place, MSS, place) for place in range(count)]


def arriving(*places: int, every: float = 0.01) -> list[Segment]:
    """The packets of `sent` in this order, one each `every` seconds from 1 s on."""
    packets = sent(max(places) + 1)
    return [Segment(1 + every * at, 4000, 5001, packets[place].sequence, MSS, place) for at, place in enumerate(places)]


def test_in_order_nothing_is_late() -> None:
    found = order(sent(5), arriving(0, 1, 2, 3, 4))
    assert (found.sent, found.arrived, found.late) == (5, 5, ())
    assert found.delays == pytest.approx([1.0] * 5)


def test_a_late_packet_has_the_extent_of_those_that_overtook_it() -> None:
    """Packet 1 comes after 2, 3 and 4: by three places and 30 ms late, and right after three that were sent later."""
    (late,) = order(sent(6), arriving(0, 2, 3, 4, 1, 5)).late
    assert (late.extent, late.directly) == (3, 3)
    assert late.time == pytest.approx(0.03)


def test_extent_counts_from_the_first_that_overtook_and_n_only_what_is_right_before() -> None:
    """RFC 4737's own distinction: 4 came right after 7 alone (1-reordered) though 5, 6 and 7 had passed it."""
    found = order(sent(8), arriving(0, 5, 1, 6, 2, 7, 4))
    assert [(one.extent, one.directly) for one in found.late] == [(1, 1), (3, 1), (5, 1)]


def test_against_the_definitions_written_out() -> None:
    chance = random.Random(7)
    places = sorted(range(300), key=lambda place: place + chance.uniform(0, 25))
    expected = []
    for at, place in enumerate(places):
        ahead = [before for before in range(at) if places[before] > place]
        if ahead:
            directly = next(n for n in range(at + 1) if n == at or places[at - n - 1] < place)
            expected.append((at - ahead[0], directly))
    assert len(expected) > 100
    assert [(one.extent, one.directly) for one in order(sent(300), arriving(*places)).late] == expected


def test_a_lost_packet_and_one_that_was_sent_again_are_told_apart() -> None:
    """The same bytes are sent twice; the first is lost. Nothing is late: what arrives last was sent last."""
    again = Segment(0.5, 4000, 5001, 1, MSS, 77)
    found = order([*sent(3), again], [*arriving(1, 2), Segment(2.0, 4000, 5001, 1, MSS, 77)])
    assert (found.sent, found.arrived, found.late) == (4, 3, ())


def test_the_values_are_in_percent_packets_and_milliseconds() -> None:
    values = values_of(order(sent(5), arriving(0, 2, 3, 4, 1)))
    assert (values["order.share"], values["order.share_3"]) == (20, 20)
    assert (values["order.extent_median"], values["order.extent_most"]) == (3, 3)
    assert values["order.time_median"] == pytest.approx(30)
    assert values_of(order(sent(2), [])) == {}


def test_from_captures_packets_are_recognised_by_their_identification(
    build_capture: Callable[[list[tuple[float, int, int, int, int]]], bytes],
) -> None:
    """Two packets with the same bytes, of which only the second arrives, and before another one."""

    def captured(*packets: tuple[float, int, int]) -> list[Segment]:
        """Time, sequence number and identification, which stands 18 bytes into each frame."""
        content = bytearray(build_capture([(time, 4000, 5001, sequence, 10) for time, sequence, _ in packets]))
        length = (len(content) - 24) // len(packets)
        for at, (*_, number) in enumerate(packets):
            start = 24 + at * length + 16 + 18
            content[start : start + 2] = number.to_bytes(2, "big")
        return data_towards(read_capture(bytes(content)), 5001)

    found = order(captured((0.1, 1, 7), (0.2, 11, 8), (0.3, 1, 9)), captured((1.0, 1, 9), (1.25, 11, 8)))
    assert found.arrived == 2
    assert found.late == (Late(1, pytest.approx(0.25), 1),)
