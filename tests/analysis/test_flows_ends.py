"""The captures of both ends, as files: losses between them, and times of each packet."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from analysis import flows
from analysis.flows.ends import MatchedConnection, journeys
from analysis.flows.matching import summary
from tests.analysis.captures import MadeCapture, match_captures
from topologies.errors import TcplabError

MS = 10**6
DELAY = 0.02


class MatchedWire:
    """Two ends and what goes between them.

    The far clock is `ahead` seconds ahead of the near one.
    """

    def __init__(self, ahead: float = 0.0, **settings: object) -> None:
        self.ends = [MadeCapture().flow(**settings), MadeCapture().flow(**settings)]
        self.ahead, self.numbers = (0.0, ahead), count(1)
        self.put("a", "syn", 0.0)
        self.put("b", "syn", 0.02)
        self.put("a", "ack", 0.04)

    def put(
        self,
        side: str,
        what: str,
        at: float,
        *arrivals: float,
        lost: bool = False,
        **fields: object,
    ) -> None:
        """Puts a packet that `side` sends at `at`.

        It arrives `DELAY` later, or at each of `arrivals`, or never.
        """
        start, end = (0, 1) if side == "a" else (1, 0)
        fields = {"number": next(self.numbers), "stamp": round(at * 1000), "echo": 1, **fields}
        getattr(getattr(self.ends[start], side), what)(at=at + self.ahead[start], **fields)
        for time in () if lost else arrivals or (at + DELAY,):
            getattr(getattr(self.ends[end], side), what)(at=time + self.ahead[end], **fields)

    def write(self, folder: Path) -> tuple[Path, Path]:
        near, far = (
            flow.capture.write(folder, name=name)
            for flow, name in zip(self.ends, ("near", "far"), strict=True)
        )
        return near, far


def only(connections: tuple[MatchedConnection, ...]) -> MatchedConnection:
    assert len(connections) == 1
    return connections[0]


def test_what_was_lost_is_known_in_both_directions(tmp_path: Path) -> None:
    path = MatchedWire()
    path.put("a", "send", 0.1, seq=1)
    path.put("a", "send", 0.101, seq=1001, lost=True)
    path.put("b", "ack", 0.12, to=1001, lost=True)
    path.put("a", "send", 0.35, seq=1001)
    path.put("b", "ack", 0.37, to=2001)
    path.put("a", "ack", 0.5, to=1)
    path.put("b", "ack", 0.6, to=2001)
    connection = only(match_captures(*path.write(tmp_path)))
    assert connection.forward.packets["lost"].to_list() == [False, False, False, True, False, False]
    assert connection.back.packets["lost"].to_list() == [False, True, False, False]
    assert set(connection.forward.packets["delay"].known) == {20 * MS}
    assert summary(connection.back).lost == 1


def test_the_order_of_the_captures_says_whose_way_is_forward(tmp_path: Path) -> None:
    path = MatchedWire()
    path.put("a", "send", 0.1, seq=1)
    path.put("b", "ack", 0.12, to=1001)
    near, far = path.write(tmp_path)
    connection = only(match_captures(far, near))
    assert connection.forward.packets["payload"].values.sum() == 0
    assert connection.back.packets["payload"].values.sum() == 1000
    assert connection.back.packets["delay"].known.min() == 20 * MS


def test_a_capture_that_began_later_is_matched_all_the_same(tmp_path: Path) -> None:
    """The far capture has no handshake, and the ACK first.

    Its a is the near one's b, and its numbers start elsewhere.
    """
    path = MatchedWire()
    for number in range(20):
        path.put("a", "send", 0.1 + number * 0.1, seq=1 + 1000 * number, lost=number == 15)
        path.put("b", "ack", 0.12 + number * 0.1, to=1001 + 1000 * number - 1000 * (number >= 15))
    path.ends[1].capture.records = path.ends[1].capture.sorted()[14:]
    connection = only(match_captures(*path.write(tmp_path)))
    assert summary(connection.forward).lost == 1


def test_the_clocks_offset_cancels_or_is_taken_out(tmp_path: Path) -> None:
    path = MatchedWire(ahead=-3.0)
    path.put("a", "send", 0.1, seq=1)
    path.put("b", "ack", 0.12, to=1001)
    files = path.write(tmp_path)
    assert only(match_captures(*files)).forward.packets["delay"].to_list()[0] == -2980 * MS
    aligned = only(match_captures(*files, aligned=True))
    assert aligned.offset == -3000 * MS
    for way in (aligned.forward, aligned.back):
        assert way.packets["delay"].to_list()[0] == 20 * MS


def test_ports_used_again_are_matched_in_their_order(tmp_path: Path) -> None:
    captures = [MadeCapture(), MadeCapture()]
    for place, capture in enumerate(captures):
        for begin, first in ((0.0, 1000), (100.0, 2**31)):
            flow = capture.flow(firsts=(first, first)).open(
                at=begin + place * DELAY, seen_at_b=place == 1
            )
            flow.a.fin(begin + 0.2 + place * DELAY)
            flow.b.fin(begin + 0.26 - place * DELAY)
    connections = match_captures(
        *(capture.write(tmp_path, name=str(place)) for place, capture in enumerate(captures)),
    )
    assert (
        [connection.near["connection"] for connection in connections]
        == [connection.far["connection"] for connection in connections]
        == [1, 2]
    )


def _both_ways(folder: Path) -> tuple[Path, Path]:
    """A connection that the near host opened, and one that the far host opened.

    The far capture has no SYN of the latter.
    """
    captures = [MadeCapture(), MadeCapture()]
    for place, capture in enumerate(captures):
        near, far = place * DELAY, DELAY - place * DELAY
        opened = capture.flow(ports=(40000, 80), timestamps=False).open(near, seen_at_b=place == 1)
        opened.a.send(0.1 + near, 700)
        called = capture.flow(hosts=("10.0.0.2", "10.0.0.1"), ports=(40001, 80), timestamps=False)
        called.open(1 + far, seen_at_b=place == 0)
        called.a.send(1.1 + far, 500)
        called.b.ack(1.2 + near)
    captures[1].records = [
        record
        for record in captures[1].sorted()
        if record.data[47] != 0x02 or record.data[35] != 0x41
    ]
    near_file, far_file = (
        capture.write(folder, name=str(place)) for place, capture in enumerate(captures)
    )
    return near_file, far_file


def test_every_packet_is_told_by_the_side_it_was_sent_on(tmp_path: Path) -> None:
    files = _both_ways(tmp_path)
    near, far = (flows.read(path, packets=True) for path in files)
    assert far.connections["host_a"].to_list() == [
        "10.0.0.1",
        "10.0.0.1",
    ]  # the second one's a is another here
    packets = journeys(near, far).to_polars()
    assert (
        len(packets) == near.file.tcp_segments - 1
    )  # the SYN that its sender's capture lacks is not known as sent
    assert set(packets["arrived"] - packets["time"]) == {20 * MS}
    data = packets.filter(packets["payload"] > 0)
    assert data.select("payload", "outward", "forward", "forward_far").rows() == [
        (700, True, True, True),
        (500, False, True, False),
    ]


def test_captures_of_different_flows_have_nothing_in_common(tmp_path: Path) -> None:
    first = MadeCapture().flow(ports=(1, 2)).open().capture.write(tmp_path, name="one")
    other = MadeCapture().flow(ports=(3, 4), firsts=(5_000_000, 6_000_000))
    second = other.open(at=7.0).capture.write(tmp_path, name="two")  # no NAT: other timestamps
    assert match_captures(first, second) == ()


def test_a_file_that_is_no_capture_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no capture\n" * 9)
    with pytest.raises(TcplabError, match=r"\w"):
        match_captures(path, path)
