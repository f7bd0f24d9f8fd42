"""Two captures of one flow: losses, delays, copies and reordering are those of the made path."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
import polars as pl
import pytest

from analysis.flows.matching import align_clocks, match, reordering, summary
from analysis.table import ColumnTable
from tests.analysis.tables_of_frames import table_of
from topologies.errors import TcplabError

MS = 10**6
SCHEMA = {
    "number": pl.UInt64,
    "time": pl.Int64,
    "sequence": pl.UInt64,
    "acknowledgement": pl.UInt64,
    "payload": pl.UInt32,
    "flags": pl.UInt16,
    "timestamp": pl.UInt32,
    "echo": pl.UInt32,
    "ip_id": pl.UInt16,
}


@dataclass
class Path:
    """What is put on it at one end and taken off at the other."""

    sent: list[dict[str, int | None]] = field(default_factory=list)
    arrived: list[dict[str, int | None]] = field(default_factory=list)

    def put(
        self, at: int, sequence: int, *arrivals: int, ip_id: int | None = 1, stamp: int | None = 1
    ) -> None:
        """1000 bytes from `sequence`, sent at `at` ms.

        Each of `arrivals` is a time in ms; without any the packet is lost.
        """
        packet = {
            "sequence": sequence,
            "acknowledgement": 1,
            "payload": 1000,
            "flags": 0x10,
            "timestamp": stamp,
            "echo": stamp,
            "ip_id": ip_id,
        }
        self.sent.append({**packet, "number": 2 * len(self.sent) + 1, "time": at * MS})
        self.arrived += [{**packet, "time": time * MS} for time in arrivals]

    def tables(self) -> tuple[ColumnTable, ColumnTable]:
        sent, arrived = self.frames()
        return table_of(sent), table_of(arrived)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        self.arrived.sort(key=lambda row: row["time"] or 0)
        numbered = [{**row, "number": number} for number, row in enumerate(self.arrived, 1)]
        return pl.DataFrame(self.sent, schema=SCHEMA), pl.DataFrame(numbered, schema=SCHEMA)


@dataclass
class Always:
    first: int = 0
    last: int = 10**18


def test_what_did_not_arrive_is_lost_and_delays_are_one_way() -> None:
    path = Path()
    path.put(0, 1, 40)
    path.put(1, 1001)
    path.put(2, 2001, 45)
    way = match(*path.tables(), Always())
    assert way.packets["lost"].to_list() == [False, True, False]
    assert way.packets["delay"].to_list() == [40 * MS, None, 43 * MS]
    assert way.packets["arrival"].to_list() == [1, None, 2]
    assert (summary(way).lost, summary(way).lost_bytes) == (1, 1000)


@pytest.mark.parametrize("told_by", [{"ip_id": 2}, {"ip_id": 1, "stamp": 9}, {}])
def test_the_retransmission_arrived_and_the_first_was_lost(told_by: dict[str, int]) -> None:
    """Also if no field tells the two apart: only one of them was sent the usual delay before."""
    path = Path()
    path.put(0, 1, 40)
    path.put(1, 1001)
    path.put(201, 1001, 242, **told_by)
    way = match(*path.tables(), Always())
    assert way.packets["lost"].to_list() == [False, True, False]
    assert way.packets["needless"].to_list() == [False] * 3


def test_a_retransmission_of_what_arrived_is_needless() -> None:
    path = Path()
    path.put(0, 1, 40)
    path.put(200, 1, 240, ip_id=2)
    way = match(*path.tables(), Always())
    assert way.packets["needless"].to_list() == [False, True]
    assert summary(way).lost == 0


def test_a_copy_that_the_network_made_is_no_retransmission() -> None:
    path = Path()
    path.put(0, 1, 40, 41)
    path.put(1, 1001, 42)
    way = match(*path.tables(), Always())
    assert way.packets["copies"].to_list() == [1, 0]
    assert (summary(way).copies, summary(way).unsent) == (1, 0)


def test_what_the_senders_capture_missed_is_kept_apart() -> None:
    path = Path()
    path.put(0, 1, 40)
    sent, arrived = path.frames()
    stranger = arrived.with_columns(sequence=pl.lit(5001, pl.UInt64), number=pl.lit(2, pl.UInt64))
    assert match(table_of(sent), table_of(pl.concat([arrived, stranger])), Always()).unsent[
        "sequence"
    ].to_list() == [5001]


def test_what_the_receivers_capture_cannot_have_seen_is_not_called_lost() -> None:
    path = Path()
    for at in (0, 100, 200, 300):
        path.put(at, 1 + at, *([at + 40] if at == 100 else []))
    way = match(*path.tables(), Always(first=100 * MS, last=300 * MS))
    assert way.packets["lost"].to_list() == [None, False, True, None]
    assert summary(way).undecided == 2


def test_the_extent_of_reordering_is_in_packets_and_time() -> None:
    path = Path()
    for number, arrival in enumerate([10, 25, 13, 16, 26]):  # the second comes after the fourth
        path.put(number, 1 + 1000 * number, arrival)
    packets = match(*path.tables(), Always()).packets
    assert packets["extent"].to_list() == [0, 2, 0, 0, 0]
    assert packets["extent_time"].to_list() == [0, 12 * MS, 0, 0, 0]
    assert packets["n_reordered"].to_list() == [0, 2, 0, 0, 0]


def test_a_super_packet_is_matched_segment_by_segment() -> None:
    path = Path()
    for number in range(3):
        path.put(
            number, 1 + 1000 * number, *([40 + number] if number != 1 else []), ip_id=number + 7
        )
    sent, arrived = path.frames()
    whole = sent.head(1).with_columns(payload=pl.lit(3000, pl.UInt32))
    assert match(table_of(whole), table_of(arrived), Always(), mss=1000).packets[
        "lost"
    ].to_list() == [
        False,
        True,
        False,
    ]


def test_the_clocks_are_left_alone_unless_asked() -> None:
    ahead, forward, back = 500, Path(), Path()
    forward.put(0, 1, 20 + ahead)
    back.put(30 + ahead, 1, 50)
    ways = [match(*path.tables(), Always()) for path in (forward, back)]
    assert [way.packets["delay"].to_list()[0] for way in ways] == [520 * MS, -480 * MS]
    *aligned, offset = align_clocks(*ways)
    assert offset == ahead * MS
    assert [way.packets["delay"].to_list()[0] for way in aligned] == [20 * MS, 20 * MS]


def test_clocks_without_a_matched_packet_are_one_clear_error() -> None:
    path = Path()
    path.put(0, 1)
    way = match(*path.tables(), Always())
    with pytest.raises(TcplabError, match="cannot be aligned"):
        align_clocks(way, way)


@pytest.mark.parametrize("seed", range(5))
def test_a_random_path_is_found_again(seed: int) -> None:
    chance, path, lost, copied = Random(seed), Path(), [], []
    for number in range(2000):
        arrivals = [
            number + 40 + chance.randrange(30)
            for _ in range(chance.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 2]))
        ]
        path.put(number, 1 + 1000 * (number // 2), *arrivals, ip_id=number % 2**16)
        lost.append(not arrivals)
        copied.append(max(len(arrivals) - 1, 0))
    way = match(*path.tables(), Always())
    assert way.packets["lost"].to_list() == lost
    assert way.packets["copies"].to_list() == copied
    assert len(way.unsent) == 0


@pytest.mark.parametrize("count", [0, 1, 2, 64, 301])
def test_reordering_is_what_its_definition_says(count: int) -> None:
    """RFC 4737 word by word, the slow way."""
    chance = np.random.default_rng(count)
    sent = chance.permutation(2 * count)[:count].astype(np.int64)
    arrived = np.cumsum(chance.integers(1, 9, count))
    found = reordering(sent, arrived)
    for place in range(count):
        later = [before for before in range(place) if sent[before] > sent[place]]
        row = 0
        while place - row - 1 in later:
            row += 1
        first = later[0] if later else place
        assert found["extent"][place] == place - first
        assert found["extent_time"][place] == arrived[place] - arrived[first]
        assert found["n_reordered"][place] == row


@pytest.mark.parametrize("flags", [0x02, 0x10])
def test_a_capture_of_shorter_packets_invents_no_loss(flags: int) -> None:
    """A snap length that cuts a SYN's timestamps, or those of all packets."""
    path = Path()
    for number in range(5):
        path.put(10 * number, 1 + 1000 * number, 10 * number + 5, ip_id=number, stamp=number)
    path.put(60, 5001, ip_id=9, stamp=9)
    sent, arrived = (frame.with_columns(flags=pl.lit(flags, pl.UInt16)) for frame in path.frames())
    cut = arrived.with_columns(
        pl.lit(None, pl.UInt32).alias(name) for name in ("timestamp", "echo")
    )
    figures = summary(match(table_of(sent), table_of(cut), Always()))
    assert (figures.lost, figures.unsent, figures.delay_median) == (1, 0, 5 * MS)
