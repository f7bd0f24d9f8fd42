"""The interactive page in a real browser, from file:// and without a network."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis import flows, graphs
from analysis.graphs import webpage
from analysis.graphs.layers import KINDS, LOOKS
from analysis.graphs.stored import PageColumns
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page
from tests.analysis.captures import MadeCapture
from tests.analysis.made_packets import MSS, Made, both_ends, large

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]
SCRIPT = "</script><script>throw 1</script>&<b>"


def _open(page: Page, folder: Path, captures: Sequence[graphs.Capture], width: int = 1200) -> str:
    file = folder / "graphs.html"
    file.write_text(graphs.page("A page", captures), encoding="utf-8")
    page.open(file, width)
    return file.read_text(encoding="utf-8")


def _marks(capture: graphs.Capture) -> Counter[str]:
    """How many segments of each kind that is drawn one by one were sent."""
    names = Counter(KINDS[kind] for kind in capture.packet_table.to_polars()["kind"])
    return Counter({name: count for name, count in names.items() if LOOKS[name].every})


def _place(page: Page, key: str) -> tuple[float, float]:
    """The middle of a graph, scrolled into view."""
    x, y = page.run(
        f"(() => {{ const box = document.querySelector('#{key} canvas');"
        " box.scrollIntoView({block: 'center'});const {left, top, width, height} ="
        " box.getBoundingClientRect();return [left + width / 2, top + height / 2] })()"
    )
    page.settle()
    return x, y


@pytest.mark.parametrize(
    "made", [Made(), Made(loss=0.1), Made(loss=0.1, sack=False)], ids=["clean", "sack", "no sack"]
)
def test_every_segment_of_a_small_capture_is_drawn(page: Page, tmp_path: Path, made: Made) -> None:
    capture = both_ends(made)[0]
    _open(page, tmp_path, [capture])
    drawn = page.run("tcplabGraphs.counts()")["time_sequence"]
    kinds = Counter(capture.packet_table.to_polars()["kind"])
    assert drawn["data"] == kinds[1] + 1  # and the SYN
    assert {name: drawn[name] for name in _marks(capture)} == _marks(capture)
    assert ("sack" in drawn) == (made.loss > 0 and made.sack)
    assert ("rto" in drawn or "fast" in drawn) == (made.loss > 0 and not made.sack)


def test_the_band_of_limits_stands_above_the_graphs_and_shares_their_time(
    page: Page, tmp_path: Path
) -> None:
    """A window of four segments limits from 1.04 to 1.08 s: there the band has its colour."""
    flow = MadeCapture().flow(scales=(0, 0)).open()
    flow.b.ack(0.5, window=60_000)
    for at in (1.0, 1.04, 1.08):
        flow.a.burst(at, 4, gap=0.0, size=1448)
        flow.b.ack(at + 0.04, window=4 * 1448)
    read = flows.read(flow.capture.write(tmp_path), packets=True)
    _open(page, tmp_path, [graphs.Capture.of("made", read)])
    assert page.run("tcplabGraphs.board.plots[0].graph.key") == "limits"
    drawn = page.run("tcplabGraphs.counts()")["limits"]
    assert drawn == {"limit_receiver": 1, "limit_network": 1}
    colours = page.run(
        "(() => { const {canvas, current: frame} = tcplabGraphs.board.plots[0];"
        "const row = canvas.getContext('2d').getImageData(0, frame.Y(0.5), canvas.width, 1).data;"
        "return [1.02e9, 1.06e9].map((at) => Math.floor(frame.X(at)))"
        ".map((x) => [...row.slice(4 * x, 4 * x + 3)]) })()"
    )
    assert colours == [[0, 0x72, 0xB2], [0xE6, 0x9F, 0]]


CTRL = 2  # of Input.dispatchMouseEvent in the DevTools protocol


def test_wheel_drag_keys_and_double_click_move_all_graphs_together(
    page: Page, tmp_path: Path
) -> None:
    _open(page, tmp_path, [both_ends(Made(loss=0.05))[0]])
    whole = page.run("tcplabGraphs.range()")
    x, y = _place(page, "time_sequence")
    edge = page.run("document.querySelector('canvas').getBoundingClientRect().left")
    before = page.run(f"board.plots[0].current.time({x - edge})")
    page.mouse("mouseWheel", x, y, deltaY=100)
    assert page.run("tcplabGraphs.range()") == whole and page.run("scrollY") > 0
    page.run("scrollTo(0, 0)")
    page.mouse("mouseWheel", x, y, deltaY=-800, modifiers=CTRL)
    left, right = zoomed = page.run("tcplabGraphs.range()")
    assert right - left == pytest.approx((whole[1] - whole[0]) * 1.0015**-800, rel=0.01)
    assert left < before < right
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    dragged = page.run("tcplabGraphs.range()")
    assert dragged[0] < left
    assert dragged[1] - dragged[0] == pytest.approx(right - left)
    page.key("+")
    inner = page.run("tcplabGraphs.range()")
    assert inner[1] - inner[0] == pytest.approx(0.6 * (zoomed[1] - zoomed[0]))
    page.run("tcplabGraphs.drawAll()")
    linked = "board.plots.filter(plot => plot.graph.overTime).map(plot => plot.current)"
    spans = page.run(f"{linked}.map(frame => [frame.left, frame.right])")
    assert spans == [inner] * len(spans)
    for _ in range(2):
        page.mouse("mousePressed", x, y, button="left", clickCount=2)
        page.mouse("mouseReleased", x, y, button="left", clickCount=2)
    assert page.run("tcplabGraphs.range()") == whole


def test_the_pointer_is_told_which_segment_it_is_on(page: Page, tmp_path: Path) -> None:
    capture = both_ends(Made(loss=0.1))[0]
    _open(page, tmp_path, [capture])
    packets = capture.packet_table.to_polars()
    again = packets.filter(packets["kind"] == 3).row(5, named=True)
    _place(page, "time_sequence")
    x, y = page.run(
        "(() => { const [plot] = board.plots; const box ="
        " plot.canvas.getBoundingClientRect();const layer = plot.layers.find(one => one.name ==="
        f" 'again_sack');const at = layer.fields[0][1].indexOf({again['number']});return [box.left"
        " + plot.current.X(layer.x[at]), box.top + plot.current.Y(layer.top[at])] })()"
    )
    page.mouse("mouseMoved", x, y)
    tooltip = page.run("document.querySelector('.plot-tooltip').textContent")
    low = again["sequence"]
    assert LOOKS["again_sack"].words in tooltip
    assert f"bytes {low:,} to {low + MSS:,} ({MSS:,})" in tooltip
    assert f"record {again['number']:,}" in tooltip
    page.mouse("mouseMoved", 1, 1)
    assert page.run("document.querySelector('.plot-tooltip').hidden")


def test_connection_and_direction_are_chosen(page: Page, tmp_path: Path) -> None:
    made = [Made(connection=number, seed=number, size=40_000 * number) for number in range(1, 31)]
    _open(page, tmp_path, both_ends(*made))
    assert page.run("document.getElementById('connection').length") == 30
    page.run(
        "(() => { const box = document.getElementById('connection'); box.selectedIndex = 6;"
        "box.dispatchEvent(new Event('change')); return tcplabGraphs.ready })()"
    )
    drawn = page.run("tcplabGraphs.counts()")
    assert drawn["time_sequence"]["data"] == -(-280_000 // MSS) + 1
    assert len(page.run("board.plots.find(plot => plot.graph.key === 'fairness').layers")) == 30
    assert 0 < drawn["jain"]["jain"] <= webpage.BINS


def test_two_captures_give_slanted_arrows_losses_and_queues(page: Page, tmp_path: Path) -> None:
    near, far = both_ends(Made(loss=0.1))
    _open(page, tmp_path, [near, far])
    ladder = "board.plots.find(({ graph }) => graph.key === 'ladder')"
    left, right = page.run(f"{ladder}.seen")
    times = near.packet_table["time"].values - near.start
    assert 0 < ((times >= left) & (times <= right)).sum() <= 41, "it opens at the first loss"
    page.run(f"(({ladder}.graph.opens = null), tcplabGraphs.drawAll())")
    drawn = page.run("tcplabGraphs.counts()")
    assert drawn["ladder"]["lost"] == len(near.packet_table) - len(far.packet_table) > 10
    assert drawn["queue_time"]["waited"] == far.packet_table["forward"].values.sum()
    took = page.run(
        "(() => { const arrow = board.plots.find(one => one.graph.key === 'ladder').layers[0];"
        "return arrow.end[0] - arrow.x[0] })()"
    )
    assert took == pytest.approx(40e6, abs=1)


def test_one_frame_switches_between_graphs_of_the_same_packets(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, both_ends(Made())[:1])
    shown = "board.plots.filter(({ section }) => !section.hidden).map(({ graph }) => graph.key)"
    assert "time_sequence" in page.run(shown) and "stevens" not in page.run(shown)
    page.run("(framed.value = 'stevens', framed.dispatchEvent(new Event('change')), null)")
    page.settle()
    assert "stevens" in page.run(shown) and "time_sequence" not in page.run(shown)
    assert page.run("document.querySelector('#stevens canvas').clientWidth") > 300


def test_one_capture_gives_half_arrows(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, both_ends(Made())[:1])
    ends = page.run(
        "board.plots.find(one => one.graph.key === 'ladder').layers.map(one => [one.y[0],"
        " one.top[0]])"
    )
    # a's at the upper end leave, b's come from the middle.
    assert sorted(map(tuple, ends)) == [(1, 2), (1, 2), (2, 1)]


def test_a_phone_shows_it_without_scrolling_sideways(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, both_ends(Made(loss=0.1)), width=360)
    assert page.run("document.scrollingElement.scrollWidth") <= 360
    assert page.run("document.querySelector('#time_sequence canvas').clientWidth") > 320
    assert page.run("tcplabGraphs.counts()")["time_sequence"]["data"] > 200


def test_a_line_is_hidden_by_a_click_in_the_legend(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, both_ends(Made())[:1])
    page.run("document.querySelector('#time_sequence .legend button').click()")
    page.settle()
    assert "window" not in page.run("tcplabGraphs.counts()")["time_sequence"]


def test_a_million_packets_keep_every_retransmission_in_five_megabytes(
    page: Page, tmp_path: Path
) -> None:
    capture = large()
    text = _open(page, tmp_path, [capture])
    assert len(text) <= 5_000_000
    drawn = page.run("tcplabGraphs.counts()")
    marks = _marks(capture)
    assert sum(marks.values()) == 2000
    assert {name: drawn["time_sequence"][name] for name in marks} == marks
    assert {name: drawn["stevens"][name] for name in marks} == marks
    assert max(drawn["time_sequence"][name] for name in ("data", "ack", "window")) < 5000
    page.run("tcplabGraphs.zoom(5e9, 5.01e9)")
    page.run("tcplabGraphs.drawAll()")
    table = capture.packet_table
    times = (table["time"].values - capture.start + 500) // 1000 * 1000
    seen = (times >= 5e9) & (times <= 5.01e9) & (table["kind"].values == 1)
    assert page.run("tcplabGraphs.counts()")["time_sequence"]["data"] == seen.sum() > 300


def test_what_is_drawn_as_one_is_said(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webpage, "MOST_SEGMENTS", 20_000)
    capture = large(200_000, again=500)
    text = _open(page, tmp_path, [capture])
    assert "one mark stands for up to 120 neighbours" in text
    assert page.run("document.querySelector('#time_sequence .finest').textContent") == ""
    drawn = page.run("tcplabGraphs.counts()")["time_sequence"]
    assert {name: drawn[name] for name in _marks(capture)} == _marks(capture)
    page.run("tcplabGraphs.zoom(5e7, 5.1e7)")
    page.settle()
    note = page.run("document.querySelector('#time_sequence .finest').textContent")
    assert note == "Beyond this zoom, one mark stands for up to 30 segments."


def test_lines_and_rates_are_of_all_packets_at_every_zoom(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 connections whose strokes are thinned: no pulses, and no steps of many ACKs."""
    monkeypatch.setattr(webpage, "MOST_SEGMENTS", 10_000)
    capture = MadeCapture()
    for port in range(20):
        flow = capture.flow(ports=(40_000 + port, 80)).open(at=port * 1e-5, rtt=0.01)
        for number in range(1500):  # 1000 bytes each 250 us are 32 Mbit/s
            flow.a.send(0.1 + number * 250e-6 + port * 1e-5)
            if number % 2:
                flow.b.ack(0.11 + number * 250e-6 + port * 1e-5)
    read = flows.read(capture.write(tmp_path), packets=True)
    assert read.packet_table is not None
    _open(page, tmp_path, [graphs.Capture.of("made", read)])
    page.run("tcplabGraphs.zoom(1.6e8, 2.4e8)")
    steps = "layer.y.slice(1).map((y, at) => y - layer.y[at])"
    layer = (
        "board.plots.find(plot => plot.graph.key === '{}').layers.find(each => each.name === '{}')"
    )
    acks = layer.format("time_sequence", "ack")
    assert page.run(f"(layer => Math.max(...{steps}))({acks})") == 2000
    goodput = layer.format("throughput", "goodput")
    values = page.run(f"rates({goodput}, 1.6e8, 2.4e8).values.map(value => value * 8e9)")
    assert min(values) > 28e6 and max(values) < 36e6


def test_zooming_ends_at_the_clocks_resolution(page: Page, tmp_path: Path) -> None:
    """Twenty ticks: 20 ns, or 20 us if all times are whole microseconds."""
    for odd, narrowest in ((0, 20_000), (1, 20)):
        made = both_ends(Made())[0]
        times = made.packet_table.whole("time") // 1000 * 1000 + odd
        _open(page, tmp_path, [replace(made, packet_table=made.packet_table.having(time=times))])
        page.run("tcplabGraphs.zoom(1e7, 1e7)")
        left, right = page.run("tcplabGraphs.range()")
        assert right - left == pytest.approx(narrowest, rel=1e-3)


def test_a_ladder_names_both_ends_in_full(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, [both_ends(Made())[0]])
    labels = page.run(
        "(() => { const seen = []; const write = CanvasRenderingContext2D.prototype.fillText;"
        " CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {"
        " seen.push(text); return write.call(this, text, ...place); };"
        " board.plots.find(plot => plot.graph.key === 'ladder').draw();"
        " CanvasRenderingContext2D.prototype.fillText = write; return seen; })()"
    )
    facts = next(both_ends(Made())[0].connection_table.as_rows())
    for end in "ab":
        assert f"{facts[f'host_{end}']}:{facts[f'port_{end}']}" in labels


def test_names_from_outside_stay_text(page: Page, tmp_path: Path) -> None:
    capture = replace(both_ends(Made())[0], label=SCRIPT)
    other = both_ends(Made())[1]
    _open(page, tmp_path, [capture, other])
    assert page.run("document.getElementById('capture').options[0].textContent") == SCRIPT


def test_a_capture_without_connections_is_said(page: Page, tmp_path: Path) -> None:
    capture = both_ends(Made())[0]
    tables = {name: getattr(capture, name) for name in ("packet_table", "connection_table")}
    empty = {name: table.rows(slice(0)) for name, table in tables.items()}
    _open(page, tmp_path, [replace(capture, **empty)])
    assert "no TCP connection" in page.run("document.getElementById('graphs').textContent")


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(np.array([0, 5, -3, 2**40, 7]), id="signs"),
        pytest.param(np.array([], dtype=np.int64), id="none"),
        pytest.param(np.arange(70_000) ** 2, id="growing"),
        pytest.param(np.array([0.25, 1e9, -3.5]), id="fractions"),
        pytest.param(np.array([3.0, 1000.0, 2.0**31 - 1]), id="decades"),
        pytest.param(np.geomspace(0.001, 1e9, 2000), id="many"),
    ],
)
def test_the_browser_reads_the_numbers_that_were_stored(
    page: Page, tmp_path: Path, numbers: np.ndarray
) -> None:
    columns = PageColumns()
    place = columns.put(numbers)
    _open(page, tmp_path, both_ends(Made(size=3000))[:1])
    stored = json.dumps(columns.stored[place])
    read = page.run(f"decoded({stored}).then(values => Array.from(values))")
    few = 1e-6 if numbers.dtype.kind == "f" else 0
    assert np.allclose(read, numbers, *((0, 500) if len(numbers) == 2000 else (few, 0)))
