"""What the capture page has beside its graphs: pins, an address, files, an absolute clock."""

from __future__ import annotations

import csv
import io
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analysis import graphs
from analysis.graphs.layers import LOOKS
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page
from tests.analysis.made_packets import Made, both_ends

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]
LIMIT = 300  # seconds after which a download is taken to never come


def _open(page: Page, folder: Path, *captures: graphs.Capture, width: int = 1200) -> Path:
    file = folder / "graphs.html"
    file.write_text(graphs.page("A page", captures), encoding="utf-8")
    page.open(file, width)
    return file


def _utc(nanoseconds: int) -> str:
    second = datetime.fromtimestamp(nanoseconds // 10**9, UTC)
    return f"{second:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09}Z"


def _by_sack(capture: graphs.Capture) -> list[tuple[int, int]]:
    """Number and time of each retransmission by SACK."""
    rows = capture.packet_table.rows(capture.packet_table["kind"].values == 3)
    columns = (rows[name].values.tolist() for name in ("number", "time"))
    return list(zip(*columns, strict=True))


def _again(page: Page, capture: graphs.Capture) -> tuple[int, int, float, float]:
    """Number and time of a retransmission, and where on the screen its mark is."""
    number, at = _by_sack(capture)[5]
    x, y = page.run(
        "(() => { const [plot] = board.plots; plot.canvas.scrollIntoView({block: 'center'});"
        " const box = plot.canvas.getBoundingClientRect();"
        " const layer = plot.layers.find(each => each.name === 'again_sack');"
        f" const at = layer.fields[0][1].indexOf({number});"
        " return [box.left + plot.current.X(layer.x[at]), box.top + plot.current.Y(layer.top[at])]"
        " })()"
    )
    page.settle()
    return number, at, x, y


def _press(page: Page, x: float, y: float) -> None:
    page.mouse("mouseMoved", x, y)
    for kind in ("mousePressed", "mouseReleased"):
        page.mouse(kind, x, y, button="left", clickCount=1)


def _click(page: Page, selector: str) -> None:
    """A real click in the middle of an element."""
    x, y = page.run(
        f"(() => {{ const place = document.querySelector({selector!r});"
        " place.scrollIntoView({block: 'center'});"
        " const {left, top, width, height} = place.getBoundingClientRect();"
        " return [left + width / 2, top + height / 2] })()"
    )
    _press(page, x, y)


PINNED = (
    "[...document.querySelectorAll('.pinned')].map(line => parseFloat(line.style.left).toFixed(2))"
)


@pytest.mark.parametrize("width", [1200, 390])
def test_a_click_pins_a_packet_with_its_facts(page: Page, tmp_path: Path, width: int) -> None:
    capture = both_ends(Made(loss=0.1))[0]
    _open(page, tmp_path, capture, width=width)
    number, at, x, y = _again(page, capture)
    _press(page, x, y)
    page.mouse("mouseMoved", 1, 1)
    facts = page.run("document.querySelector('#time_sequence .pin p').textContent")
    assert LOOKS["again_sack"].words in facts
    assert f"record {number:,}" in facts
    assert _utc(at)[:10] in facts
    assert page.run("document.scrollingElement.scrollWidth") <= width
    at -= capture.start
    place = "board.plots.filter(plot => plot.graph.overTime && plot.current)"
    before, places = page.run(PINNED), f"{place}.map(plot => plot.current.X({at}).toFixed(2))"
    assert set(before) <= set(page.run(places))
    page.run(f"tcplabGraphs.zoom({at} - 2e7, {at} + 2e8)")
    page.run("tcplabGraphs.drawAll()")
    after = page.run(PINNED)
    assert len(after) == page.run(f"{place}.length")
    assert before != after
    assert set(after) == set(page.run(places))
    page.run("tcplabGraphs.zoom(0, 1000)")
    page.run("tcplabGraphs.drawAll()")
    assert page.run("[...document.querySelectorAll('.pinned')].every(line => line.hidden)")
    _click(page, "#time_sequence .pin button")
    assert page.run("document.querySelectorAll('.pin, .pinned').length") == 0


def test_a_second_click_unpins_and_a_drag_pins_nothing(page: Page, tmp_path: Path) -> None:
    capture = both_ends(Made(loss=0.1))[0]
    _open(page, tmp_path, capture)
    _, _, x, y = _again(page, capture)
    _press(page, x, y)
    assert page.run("document.querySelectorAll('.pin').length") == 1
    _press(page, x, y)
    assert page.run("document.querySelectorAll('.pin').length") == 0
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 60, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 60, y, button="left", clickCount=1)
    assert page.run("document.querySelectorAll('.pin').length") == 0


def test_enter_pins_what_the_keys_read(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, both_ends(Made())[0])
    page.run("board.plots[0].canvas.focus()")
    key = {"key": "ArrowRight", "modifiers": 8, "windowsVirtualKeyCode": 39}
    page.call("Input.dispatchKeyEvent", type="keyDown", **key)
    page.settle()
    read = page.run("document.querySelector('.plot-tooltip').textContent")
    page.key("Enter")
    assert page.run("document.querySelector('.pin p').textContent") == read != ""


def test_the_address_has_the_connection_the_direction_and_the_zoom(
    page: Page, tmp_path: Path
) -> None:
    made = [Made(connection=number, seed=number) for number in (1, 2, 3)]
    file = _open(page, tmp_path, *both_ends(*made))
    for name, place in (("capture", 1), ("connection", 2)):
        page.run(
            f"(() => {{ const box = document.getElementById('{name}'); box.selectedIndex = {place};"
            " box.dispatchEvent(new Event('change')); return tcplabGraphs.ready })()"
        )
    page.run("tcplabGraphs.zoom(1e8, 2e8)")
    chosen = "choices.map(box => box.value)"
    address, seen = page.run("location.href"), page.run(f"[{chosen}, tcplabGraphs.range()]")
    assert seen[1] == [1e8, 2e8]
    page.open(file)
    page.run("location.hash = ''")
    page.call("Page.navigate", url="about:blank")
    page.call("Page.navigate", url=address)
    page.run(
        "new Promise(done => document.readyState === 'complete' ? done() :"
        " addEventListener('load', done))"
    )
    page.run("window.tcplabGraphs.ready")
    assert page.run(f"[{chosen}, tcplabGraphs.range()]") == seen
    for odd in ("view=length", "view=-1", "view=1e9", "zoom=x..y&view="):
        page.run(f"location.hash = '{odd}'")
        page.settle()
        assert page.run(f"{chosen}.every(Boolean)")


def test_csv_has_what_is_seen_with_both_clocks(page: Page, tmp_path: Path) -> None:
    capture = both_ends(Made(loss=0.1))[0]
    _open(page, tmp_path, capture)
    left, right = 2e8, 6e8
    page.run(f"tcplabGraphs.zoom({left}, {right})")
    page.settle()
    table = list(csv.DictReader(io.StringIO(page.run("csvOf(board.plots[0])"), newline="")))
    sent = _by_sack(capture)
    times = [time for _, time in sent if left <= time - capture.start <= right]
    rows = [row for row in table if row["line"] == LOOKS["again_sack"].words]
    assert len(rows) == len(times) > 5
    assert [row["UTC"] for row in rows] == [_utc(time) for time in times]
    seconds = [float(row["time since the first packet (s)"]) for row in rows]
    assert seconds == [pytest.approx((time - capture.start) / 1e9, abs=1e-12) for time in times]
    numbers = {str(number) for number, _ in sent}
    assert {row["record"] for row in rows} <= numbers
    page.run("document.querySelector('#time_sequence .legend button').click()")
    page.settle()
    hidden = page.run("document.querySelector('#time_sequence .legend button').textContent")
    assert hidden in {row["line"] for row in table}
    assert hidden not in page.run("csvOf(board.plots[0])")


def test_the_rate_as_csv_sums_to_what_was_carried(page: Page, tmp_path: Path) -> None:
    capture = both_ends(Made())[0]
    _open(page, tmp_path, capture)
    page.run("tcplabGraphs.drawAll()")
    table = page.run("csvOf(board.plots.find(plot => plot.graph.key === 'throughput'))")
    every = csv.reader(io.StringIO(table, newline=""))
    rows = [row for row in every if row[0].startswith("goodput")]
    bits = sum((float(end) - float(begin)) * float(rate) for _, begin, end, rate, *_ in rows)
    assert bits / 8 == pytest.approx(Made().size, rel=0.01)


def test_each_button_saves_a_file(page: Page, tmp_path: Path) -> None:
    _open(page, tmp_path, both_ends(Made(loss=0.1))[0])
    folder = tmp_path / "saved"
    folder.mkdir()
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    begins = {"png": b"\x89PNG", "svg": b"<svg ", "csv": b"line,"}
    for number, (ending, begin) in enumerate(begins.items(), 2):
        _click(page, f"#time_sequence .plot-buttons button:nth-child({number})")
        assert _saved(folder / f"time_sequence.{ending}").startswith(begin)
    assert b"UTC</text>" in (folder / "time_sequence.svg").read_bytes()


def _saved(path: Path) -> bytes:
    """The file, once it is whole: until then it has another name."""
    end = time.monotonic() + LIMIT
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return path.read_bytes()


def test_the_axis_tells_the_absolute_time_of_its_left_edge(page: Page, tmp_path: Path) -> None:
    capture = both_ends(Made())[0]
    _open(page, tmp_path, capture)
    page.run("tcplabGraphs.zoom(123456789, 123476789)")
    page.settle()
    svg = page.run("svgOf(board.plots[0])")
    left = round(page.run("tcplabGraphs.range()")[0])
    (seen,) = re.findall(r"from (\S+ \S+) UTC", svg)
    assert len(seen) >= len("2023-11-14 22:13:20.1234567")
    assert _utc(capture.start + left).startswith(seen.replace(" ", "T"))
