"""Rows of packets for pictures, of captures with more packets than rows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from analysis.flows import Reading, read
from analysis.flows.reader import RowLimit, ThinnedRows
from analysis.graphs import Capture, webpage
from analysis.graphs.capture import all_directions, drawn
from analysis.table import ColumnTable, Whole
from tests.analysis.captures import MadeCapture

ROWS = 1000
LATER = 40.0  # seconds until the sender goes on after its pause
Tables = tuple[ColumnTable, ColumnTable]


def transfer(
    capture: MadeCapture, segments: int = 3000, again: int = 100, **settings: int
) -> MadeCapture:
    """Segments of various sizes, one in `again` of them twice; a pause in the middle."""
    chance = np.random.default_rng(1)
    flow = capture.flow(**settings).open()
    for number in range(segments):
        at = 1 + 0.01 * number + LATER * (number > segments // 2)
        begin = flow.a.next
        size = int(chance.integers(500, 1400))
        flow.a.send(at, size)
        if number % again == again - 1:
            flow.a.send(at + 0.004, size, begin)
        flow.b.ack(at + float(chance.uniform(0.005, 0.009)))
    return capture


def limited(path: Path, connections: int = 64, most: int = 64) -> Reading:
    choose: Callable[[ColumnTable], list[int]] = lambda table: drawn(table, most)  # noqa: E731
    return read(path, packets=True, limit=RowLimit(ROWS, connections, choose))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return transfer(MadeCapture()).write(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def both(path: Path) -> Tables:
    """The rows of all packets, and those that are left for pictures."""
    tables = read(path, packets=True).packet_table, limited(path).packet_table
    assert tables[0] is not None and tables[1] is not None
    return tables[0], tables[1]


def values(table: ColumnTable, name: str) -> Whole:
    return table[name].known.astype(np.int64)


def test_rows_are_bounded_and_those_of_the_capture(both: Tables) -> None:
    whole, some = both
    assert len(some) <= ROWS < len(whole) / 5
    rows = whole.rows(np.isin(values(whole, "number"), values(some, "number")))
    for name in ("number", "time", "sequence", "acknowledgement", "kind", "in_flight", "rtt"):
        assert rows[name].to_list() == some[name].to_list()


def test_every_retransmission_stays(both: Tables) -> None:
    again = [values(table, "number")[values(table, "kind") > 1].tolist() for table in both]
    assert again[0] == again[1]
    assert len(again[0]) == 30


@pytest.mark.parametrize("name", ["payload", "window", "in_flight", "peer_in_flight", "rtt"])
def test_the_least_and_greatest_values_stay(name: str, both: Tables) -> None:
    whole, some = (values(table, name) for table in both)
    assert (whole.min(), whole.max()) == (some.min(), some.max())


def test_both_ends_of_a_pause_stay(both: Tables) -> None:
    longest = [int(np.diff(values(table, "time")).max()) for table in both]
    assert longest[0] == longest[1] > LATER * 1e9


def test_bytes_and_segments_are_of_all(both: Tables) -> None:
    whole, some = both
    sent, every = (table.rows(table["forward"].values) for table in (some, whole))
    payload = np.cumsum(values(every, "payload")) + 1  # the SYN
    place = np.searchsorted(values(every, "number"), values(sent, "number"))
    assert values(sent, "carried").tolist() == payload[place].tolist()
    assert len(some) + values(some, "left_out").sum() == len(whole)


def test_the_page_states_it_and_draws_runs_of_neighbours(path: Path) -> None:
    reading = limited(path)
    every = reading.thinned.every if reading.thinned else 0
    assert reading.thinned == ThinnedRows(6033, every, 1)
    capture = Capture.of("long", reading)
    (note,) = webpage.document([capture])["notes"]
    assert note.startswith(f"There are 6,033 segments. One mark stands for up to {every} neigh")
    [whole] = all_directions([Capture.of("long", read(path, packets=True))])[:1]
    [some] = all_directions([capture])[:1]
    assert (some.payload, some.start) == (whole.payload, whole.start)
    graphs = {graph.key: graph for graph in webpage.views([capture])[0].graphs}
    strokes = next(layer for layer in graphs["time_sequence"].layers if layer.look == "data")
    assert strokes.end is not None and strokes.top is not None
    # No stroke leads over the pause, and together they cover all bytes.
    assert (np.asarray(strokes.end) - strokes.x).max() < LATER * 1e9
    assert (strokes.y[1:] <= strokes.top[:-1]).all()


def test_of_too_many_connections_some_have_all_rows(tmp_path: Path) -> None:
    capture = MadeCapture()
    for number, segments in enumerate((300, 100, 200, 400)):
        transfer(capture, segments, ports=(4000 + number, 80))  # type: ignore[arg-type]
    reading = limited(capture.write(tmp_path), connections=3, most=2)
    assert reading.packet_table is not None
    assert set(values(reading.packet_table, "connection").tolist()) == {1, 4}
    assert len(reading.connection_table) == 4


def test_a_small_capture_keeps_all(tmp_path: Path) -> None:
    reading = limited(transfer(MadeCapture(), 100).write(tmp_path))
    assert reading.thinned is None
    assert reading.packet_table is not None and len(reading.packet_table) == 204


def test_too_many_retransmissions_share_rows_which_the_page_states(tmp_path: Path) -> None:
    reading = limited(transfer(MadeCapture(), 1500, again=1).write(tmp_path))
    assert reading.packet_table is not None and reading.thinned is not None
    assert len(reading.packet_table) <= ROWS
    events = reading.thinned.every_event
    assert events > 1
    (note,) = webpage.document([Capture.of("again", reading)])["notes"]
    assert f"up to {events} neighbours of the retransmissions have one" in note


def test_connections_that_cannot_be_thinned_keep_a_row_each(tmp_path: Path) -> None:
    capture = MadeCapture()
    for number in range(ROWS + 50):
        capture.flow(ports=(4000 + number, 80)).a.syn(0.001 * number)
    reading = limited(capture.write(tmp_path), connections=2 * ROWS)
    assert reading.packet_table is not None and len(reading.packet_table) == ROWS + 50
