"""Graphs as data: their layers, and the pictures and page columns of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import graphs
from analysis.flows.ends import journeys
from analysis.graphs import ladder, timelines, webpage
from analysis.graphs.capture import CaptureDirection, all_directions
from analysis.graphs.layers import KINDS, LOOKS, Graph, Layer
from analysis.graphs.paper import write_pictures
from analysis.graphs.stored import latest
from analysis.records.output import SocketSample
from tests.analysis import tcptrace_lines, xplot
from tests.analysis.made_packets import MSS, START, Made, both_ends, large, read_sample
from tests.analysis.tables_of_frames import table_of
from tests.tools import tcptrace
from topologies.errors import TcplabError

Both = tuple[graphs.Capture, graphs.Capture]


@pytest.fixture(scope="module")
def lossy() -> Both:
    return both_ends(Made(loss=0.1))


@pytest.fixture(scope="module")
def sender(lossy: Both) -> CaptureDirection:
    return all_directions(lossy[:1])[0]


def _graph(captures: tuple[graphs.Capture, ...], key: str, **more: object) -> Graph:
    [view, *_] = webpage.views(captures, **more)  # type: ignore[arg-type]
    return next(graph for graph in view.graphs if graph.key == key)


def _layer(graph: Graph, look: str) -> Layer:
    return next(layer for layer in graph.layers if layer.look == look)


def test_each_kind_is_a_layer_of_its_own_at_the_bytes_that_were_sent(
    lossy: Both, sender: CaptureDirection
) -> None:
    packets = lossy[0].packet_table.to_polars()
    drawn = timelines.draw_segments(sender)
    kinds = Counter(packets.filter("forward")["kind"])
    assert kinds.pop(0) == 1  # the SYN, which is drawn with the data
    for kind, count in kinds.items():
        assert len(_layer(drawn, KINDS[kind])) == count + (kind == 1)
    again = packets.filter(pl.col("kind") == 3)
    layer = _layer(drawn, "again_sack")
    assert layer.y.tolist() == again["sequence"].to_list()
    assert (np.asarray(layer.top) - layer.y).tolist() == again["payload"].to_list()
    assert (layer.x + START).tolist() == again["time"].to_list()


def test_only_the_first_block_of_a_dsack_is_a_duplicate(
    lossy: Both, sender: CaptureDirection
) -> None:
    reports = lossy[0].packet_table.to_polars().filter("dsack")
    assert len(reports) > 0
    assert sender.blocks.duplicate.sum() == len(reports)
    assert len(sender.blocks.time) == sum(map(len, lossy[0].packet_table.to_polars()["sacks"])) // 2
    firsts = sender.blocks.left[sender.blocks.duplicate]
    assert firsts.tolist() == [blocks[0] for blocks in reports["sacks"]]


def test_a_reset_and_an_old_ack_do_not_bend_the_lines(lossy: Both) -> None:
    packets = lossy[0].packet_table.to_polars()
    last = packets.tail(1).with_columns(
        forward=pl.lit(False), acknowledgement=pl.lit(1, pl.UInt64), time=pl.col("time") + 1
    )
    reset = last.with_columns(
        flags=pl.lit(4, pl.UInt16), window=pl.lit(0, pl.UInt64), time=pl.col("time") + 1
    )
    changed = replace(lossy[0], packet_table=table_of(pl.concat([packets, last, reset])))
    before, after = (all_directions([capture])[0].answers for capture in (lossy[0], changed))
    assert after.highest[-1] == before.highest[-1]
    assert len(after.time) == len(before.time) + 1


def test_times_that_go_back_are_put_in_order(lossy: Both) -> None:
    mixed = replace(lossy[0], packet_table=table_of(lossy[0].packet_table.to_polars().reverse()))
    for direction in all_directions([mixed]):
        assert (np.diff(direction.sent.time) >= 0).all()
        assert (np.diff(direction.answers.time) >= 0).all()


def test_round_trips_and_their_distribution(lossy: Both) -> None:
    measured = lossy[0].packet_table.to_polars()["rtt"].drop_nulls().to_numpy()
    assert _layer(_graph(lossy, "rtt"), "rtt").y.tolist() == measured.tolist()
    share = _layer(_graph(lossy, "rtt_distribution"), "share")
    middle = share.x[np.searchsorted(share.y, 0.5)]
    assert (measured <= middle).mean() >= 0.5 >= (measured < middle).mean()


def test_samples_of_the_socket_stand_beside_the_bytes_in_flight(lossy: Both) -> None:
    windows = ((1, 10, None, 0.08), (2, 7, 6, 0.09))
    samples = [
        SocketSample(START / 1e9 + at, cwnd, ssthresh, rtt, 0, 0, 0, 0, 3, 0.08)
        for at, cwnd, ssthresh, rtt in windows
    ]
    drawn = _graph(lossy, "in_flight", samples={1: samples})
    assert _layer(drawn, "cwnd").y.tolist() == [10 * MSS, 7 * MSS]
    assert _layer(drawn, "ssthresh").y.tolist() == [6 * MSS]
    assert _layer(drawn, "cwnd").x == pytest.approx([1e9, 2e9], abs=1000)
    assert "cwnd" not in {layer.look for layer in _graph(lossy, "in_flight").layers}


@pytest.mark.parametrize("turned", [False, True])
def test_the_same_packets_are_found_in_both_captures(lossy: Both, turned: bool) -> None:
    near, far = lossy
    seen = far.packet_table.to_polars().with_columns(
        kind=pl.when(pl.col("kind") == 3).then(11).otherwise("kind").cast(pl.UInt8)
    )
    far = replace(far, packet_table=table_of(seen))  # the receiver's capture takes them for late
    both = (journeys(far, near) if turned else journeys(near, far)).to_polars()
    lost = both.filter(pl.col("arrived").is_null())
    assert len(lost) == len(near.packet_table) - len(far.packet_table) > 10
    assert both["outward"].to_list() == [forward != turned for forward in both["forward"]]
    assert Counter(both.filter("forward")["kind"]) == Counter(
        near.packet_table.to_polars().filter("forward")["kind"]
    )
    took = both["arrived"] - both["time"]
    assert took.drop_nulls().min() == 40_000_000


def test_a_wrong_clock_does_not_turn_the_arrows(lossy: Both) -> None:
    hour = 3_600 * 10**9
    earlier = lossy[1].packet_table.to_polars().with_columns(pl.col("time") - hour)
    late = replace(lossy[1], packet_table=table_of(earlier))
    both = journeys(lossy[0], late).to_polars().drop_nulls("arrived")
    forward = (both["arrived"] - both["time"]).filter(both["forward"])
    assert forward.min() == 40_000_000 - hour  # still from a to b, by the clocks as they are
    [waited, _] = ladder.draw_queue(all_directions([lossy[0]])[0], table_of(both.filter("outward")))
    assert waited.layers[0].y.min() == 0


def test_at_the_receiver_the_graphs_say_what_they_do_not_show(lossy: Both) -> None:
    for capture, at_receiver in zip(lossy, (False, True), strict=True):
        drawn = {graph.key: graph.caption for graph in webpage.views([capture])[0].graphs}
        for key, beginning in (
            ("rtt", "No round trips: this capture was taken at the receiver"),
            ("rtt_distribution", "No round trips"),
            ("in_flight", "This capture was taken at the receiver"),
        ):
            assert drawn[key].startswith(beginning) == at_receiver


def test_without_the_other_direction_no_bytes_in_flight_are_drawn(lossy: Both) -> None:
    forward = lossy[0].packet_table.to_polars().filter("forward")
    alone = replace(lossy[0], packet_table=table_of(forward))
    drawn = {graph.key: len(graph.layers) for graph in webpage.views([alone])[0].graphs}
    assert drawn["in_flight"] == 0
    assert drawn["time_sequence"] > 0


def test_the_queue_is_what_waited_at_the_bottleneck() -> None:
    """Ten segments at once on a link of one MSS per ms: the last waits 9 ms behind nine others."""
    captures = both_ends(Made(size=10 * MSS, rate=MSS * 1000.0))
    waited, ahead = (_graph(captures, key).layers[0] for key in ("queue_time", "queue_bytes"))
    # The SYN, which has no payload, was the quickest.
    assert waited.y.max() / 1e6 == pytest.approx(10, abs=0.01)
    assert ahead.y.max() == 9 * MSS


def test_jains_index_is_one_for_equals_and_a_half_when_one_of_two_starves() -> None:
    equal = both_ends(*(Made(connection=number) for number in (1, 2)))[0]
    index = _layer(_graph((equal,), "jain"), "jain")
    assert index.y == pytest.approx(1)
    unequal = both_ends(Made(connection=1), Made(connection=2, size=3000, rate=1000))[0]
    index = _layer(_graph((unequal,), "jain"), "jain")
    assert index.y.min() == pytest.approx(0.5)
    assert len(webpage.larger(all_directions([unequal]))) == 2


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200), st.integers(1, 50))
def test_merged_marks_cover_what_they_stand_for(values: list[int], run: int) -> None:
    x, y = np.arange(len(values)), np.array(values)
    bars = ladder.merged(Layer("data", "bars", x, y, y + 10), run)
    assert bars.top is not None
    assert (bars.y.min(), bars.top.max()) == (y.min(), y.max() + 10)
    assert bars.run <= run
    line = ladder.merged(Layer("in_flight", "line", x, y), run)
    assert (line.y.min(), line.y.max(), line.y[-1]) == (y.min(), y.max(), y[-1])
    again = ladder.merged(Layer("rto", "bars", x, y, y + 10), run)
    assert len(again) == len(values)


def test_a_run_never_covers_a_step_back() -> None:
    """Segments 0, 10, 20, then 5 again: the stroke of the first three ends before the fourth."""
    low = np.array([0, 10, 20, 5, 15])
    merged = ladder.merged(Layer("data", "bars", np.arange(5), low, low + 10), 5)
    assert merged.y.tolist() == [0, 5]
    assert (merged.run, np.asarray(merged.end).tolist()) == (3, [2, 4])


def test_a_large_capture_is_stored_in_runs_but_its_retransmissions_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    capture = large(30_000, again=200)
    whole = webpage.document([capture])
    monkeypatch.setattr(webpage, "MOST_SEGMENTS", 3000)
    short = webpage.document([capture])

    def counted(document: dict[str, Any]) -> dict[str, int]:
        (graph,) = (each for each in document["graphs"] if each["key"] == "time_sequence")
        return {layer["look"]: layer["marks"] for layer in graph["layers"]}

    few, all_of_them = counted(short), counted(whole)
    assert few.pop("data") < all_of_them.pop("data") / 5
    assert few.keys() == all_of_them.keys()
    assert all(few[name] == all_of_them[name] for name in few if LOOKS[name].every)
    assert "up to 120 neighbours" in short["notes"][-1]


def test_connections_beyond_the_largest_are_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webpage, "MOST_CONNECTIONS", 2)
    capture = both_ends(*(Made(connection=number, size=5000 * number) for number in (1, 2, 3)))[0]
    document = webpage.document([capture])
    assert [view["connection"][0] for view in document["views"]] == ["2", "3"]
    (note,) = document["notes"]
    assert note.startswith("Showing 2 of 3 connections of h1-eth0: those with most payload, and")
    assert "./tcplab analyze FILE --connection N --out FOLDER draws others." in note


@pytest.mark.parametrize("condition", ["sack_on", "sack_off"])
def test_the_lines_are_tcptraces(condition: str, tmp_path: Path) -> None:
    """Compares the lines of a real capture.

    Of stairs the upright lines are compared, for tcptrace also writes some without length.
    """
    path = Path(__file__).parent / "data" / "run" / "raw" / "seed-5" / condition / "h1-eth0.pcap"
    capture = read_sample(path)
    ours = tcptrace_lines.time_sequence(all_directions([capture])[0])
    tcptrace.run(path, tmp_path, "-S")
    drawn = (tmp_path / "a2b_tsg.xpl").read_text()
    theirs = xplot.time_sequence(xplot.read_xplot(drawn))
    assert ours.start == pytest.approx(theirs.start, abs=1e-5)
    for name in ("data", "resent", "sacks", "acks", "window"):
        both = [getattr(file, name) for file in (theirs, ours)]
        uprights = [lines[lines[:, 1] != lines[:, 3]] for lines in both]
        assert bool(len(uprights[0])) == (name != "sacks" or condition == "sack_on")
        assert uprights[1] == pytest.approx(uprights[0], abs=2e-6)


def test_pictures_are_written_in_each_format(lossy: Both, tmp_path: Path) -> None:
    written = write_pictures(lossy[:1], tmp_path, ("png", "svg"))
    names = {path.stem for path in written}
    assert {"h1-eth0_1_a2b_time_sequence", "h1-eth0_1_a2b_rtt", "h1-eth0_1_a2b_ladder"} <= names
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") if path.suffix == ".png" else b"<svg" in content
    assert len(written) == 2 * len(names)


def test_a_folder_that_cannot_be_written_is_named(lossy: Both, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TcplabError, match="cannot be written"):
        write_pictures(lossy[:1], tmp_path / "file" / "folder")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 12, 13, 40])
@pytest.mark.parametrize("whole_way", [False, True])
def test_any_beginning_of_a_capture_gives_graphs(
    lossy: Both, tmp_path: Path, count: int, whole_way: bool
) -> None:
    cut = [
        replace(capture, packet_table=table_of(capture.packet_table.to_polars().head(count)))
        for capture in lossy[: 1 + whole_way]
    ]
    document = webpage.document(cut)
    assert len(document["views"]) == sum(
        len({True, False} & set(capture.packet_table.to_polars()["forward"])) > 0 for capture in cut
    )
    if count == 12 and not whole_way:
        assert len(write_pictures(cut, tmp_path)) >= 4


def test_a_layer_without_marks_has_no_latest_time(lossy: Both) -> None:
    graph = _graph(lossy, "queue_time")
    empty = replace(graph.layers[0], x=graph.layers[0].x[:0], y=graph.layers[0].y[:0], end=None)
    with_empty = replace(graph, layers=(*graph.layers, empty))
    assert latest([with_empty]) == latest([graph]) > 0
    assert latest([replace(graph, layers=(empty,))]) == 0
