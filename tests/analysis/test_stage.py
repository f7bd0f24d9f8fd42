"""The stage of a report, in a browser: its packets are those of the captures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.flows import read
from analysis.graphs.stored import shape_of
from analysis.pages.run import SHARED, make_report
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from topologies.shapes import chain, two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate

LINK = Channel(Rate.parse("2mbit"), Duration.parse("30ms"), queue=Packets(20))
STAGE = "tcplabGraphs.stage"
SAYS_NOW = f"{STAGE}.said.textContent.startsWith({STAGE}.clock.textContent)"
MOST_SHARED = 500_000  # bytes


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if not CHROMIUM:
        pytest.skip(NO_CHROMIUM)
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


def staged(page: Page, run: Path) -> None:
    make_report(run)
    page.complaints.clear()
    page.open(run / "report.html")
    page.run("tcplabGraphs.staged.then(() => null)")
    page.settle()


def test_one_fifo_has_places_and_several_queues_have_none() -> None:
    only = shape_of(two_hosts(LINK), "h1", "h2")
    assert (only.nodes, only.delay, only.rate, only.queue) == (("h1", "s1", "h2"), 0.03, 2e6, 20)
    several = shape_of(chain(3, LINK), "h1", "h2")
    assert several.rate == 0 and len(several.nodes) == 5


@pytest.mark.browser
def test_as_many_packets_fly_as_the_captures_have(chromium: Page, run_directory: Path) -> None:
    staged(chromium, run_directory)
    folder = run_directory / "raw/seed-5/sack_on"
    sent, came = (times_of(folder / f"{host}-eth0.pcap") for host in ("h1", "h2"))
    start = captures_start(folder / "h1-eth0.pcap")
    for moment in np.linspace(0.2, 8, 25):
        flying = chromium.run(
            f"(model => model.flying({moment}).filter(at => !model.isLost(at)).length)"
            f"({STAGE}.models[1])"
        )
        at = start + int(moment * 1e9)
        expected = sum(left <= at < came[key] for key, left in sent.items() if key in came)
        assert abs(flying - expected) <= 1, moment  # times are of microseconds
    lost = chromium.run(
        f"(model => model.data.sent.filter((_, at) => model.isLost(at)).length)({STAGE}.models[1])"
    )
    assert lost == len(sent.keys() - came.keys()) > 0


@pytest.mark.browser
def test_the_sender_has_unacknowledged_what_its_capture_says(
    chromium: Page, run_directory: Path
) -> None:
    staged(chromium, run_directory)
    rows = table(run_directory / "raw/seed-5/sack_on/h1-eth0.pcap")
    times = rows["time"].values - rows["time"].values.min()
    data = rows["forward"].values & (rows["payload"].values > 0)
    ends = rows.whole("sequence") + rows["payload"].values
    acks, first = rows.whole("acknowledgement"), rows.whole("sequence")[data].min()
    found = []
    for moment in np.linspace(0.2, 8, 25):
        shown = chromium.run(f"{STAGE}.models[1].unacknowledged(0, {moment})")
        before = times <= int(moment * 1e9)
        heard = before & ~rows["forward"].values
        found.append(max(0, ends[data & before].max() - max(acks[heard].max(), first)))
        assert shown == found[-1], moment
    assert len(set(found)) > 3


def captures_start(capture: Path) -> int:
    return int(table(capture)["time"].values.min())


def table(capture: Path) -> Any:
    return read(capture, packets=True).packet_table


def times_of(capture: Path) -> dict[tuple[int, int, int], int]:
    """When each segment of the data's direction passed, by what it is recognised by."""
    rows = table(capture)
    takes = (rows["payload"].values > 0) | (rows["flags"].values & 3 > 0)
    kept = rows.rows(rows["forward"].values & takes)
    names = ("sequence", "ip_id", "timestamp", "time")
    columns = (kept.whole(name).tolist() for name in names)
    return {
        (first, second, third): time for first, second, third, time in zip(*columns, strict=True)
    }


@pytest.mark.browser
def test_why_tells_each_repair_in_the_order_of_time(chromium: Page, run_directory: Path) -> None:
    staged(chromium, run_directory)
    text = chromium.run(
        f"JSON.stringify({STAGE}.models.flatMap(model => [...model.isAgain.keys()]"
        ".filter(at => model.isAgain[at] && model.data.length[at])"
        ".map(at => whyPacket(model, at).clauses)))"
    )
    chains = json.loads(text)
    assert len(chains) > 10
    for clauses in chains:
        times = [clause["time"] for clause in clauses]
        first, texts = clauses[0]["text"], " ".join(clause["text"] for clause in clauses)
        assert times == sorted(times) and len(clauses) >= 3
        assert "RFC" in texts or "not known" in texts
        assert " lost" in first or "dropped" in first or "not lost" in texts


@pytest.mark.browser
def test_keys_step_play_and_ask(chromium: Page, run_directory: Path) -> None:
    staged(chromium, run_directory)
    chromium.run(f"{STAGE}.box.focus()")
    chromium.key("Home")
    first = chromium.run(f"{STAGE}.time")
    chromium.key("ArrowRight")
    second = chromium.run(f"{STAGE}.time")
    chromium.key("ArrowLeft")
    assert chromium.run(f"{STAGE}.time") == first < second
    chromium.key("l")
    assert chromium.run(f"{STAGE}.time") in chromium.run(f"[...{STAGE}.losses]")
    assert "on the way" in chromium.run(f"{STAGE}.said.textContent")
    chromium.key("w")
    assert chromium.run(f"{STAGE}.panel.querySelectorAll('li').length") >= 1
    chromium.key("Escape")
    assert chromium.run(f"{STAGE}.panel.hidden")
    heads = "[...document.querySelectorAll('.playhead')].filter(head => !head.hidden)"
    assert chromium.run(f"{heads}.length") >= 2
    assert chromium.complaints == []


@pytest.mark.browser
def test_a_drag_on_a_graph_moves_the_playhead(chromium: Page, run_directory: Path) -> None:
    staged(chromium, run_directory)
    x, y = chromium.run(
        "(box => { box.scrollIntoView({ block: 'center' });"
        " const { x, y, width, height } = box.getBoundingClientRect();"
        " return [x + width / 2, y + height / 2]; })"
        "(document.querySelector('#time_sequence_sack_on canvas'))"
    )
    before = chromium.run(f"{STAGE}.time")
    chromium.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    chromium.mouse("mouseMoved", x + 40, y, button="left", buttons=1)
    chromium.mouse("mouseReleased", x + 40, y, button="left", clickCount=1)
    assert chromium.run(f"{STAGE}.time") > before
    assert chromium.run("tcplabGraphs.board.span.isWhole")
    chromium.settle()
    assert chromium.run(SAYS_NOW)
    chromium.run(f"{STAGE}.play(true)")
    chromium.settle()
    assert chromium.run(f"{STAGE}.time") > before and chromium.run(SAYS_NOW)
    chromium.run(f"{STAGE}.play(false)")


@pytest.mark.browser
def test_reduced_motion_goes_from_packet_to_packet(chromium: Page, run_directory: Path) -> None:
    staged(chromium, run_directory)
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    chromium.call("Emulation.setEmulatedMedia", features=[calm])
    try:
        chromium.run(f"({STAGE}.go({STAGE}.start), {STAGE}.calmStep())")
        moments = chromium.run(f"{STAGE}.models.flatMap(model => [...model.moments])")
        assert chromium.run(f"{STAGE}.time") in moments
        chromium.settle()
        assert "on the way" in chromium.run(f"{STAGE}.said.textContent")
    finally:
        chromium.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.browser
def test_on_paper_strips_and_graphs_are_of_the_papers_width(
    chromium: Page, run_directory: Path
) -> None:
    staged(chromium, run_directory)
    chromium.run("dispatchEvent(new Event('beforeprint'))")
    assert chromium.run(f"{STAGE}.strips.map(({{ wide }}) => wide)") == [700, 700]
    heights = chromium.run("tcplabGraphs.board.plots.map(({ canvas }) => canvas.height)")
    assert max(heights) == 2 * 220
    chromium.run("dispatchEvent(new Event('afterprint'))")
    assert chromium.run(f"{STAGE}.strips[0].wide") > 700


@pytest.mark.browser
def test_the_shared_file_is_small_and_works_alone(chromium: Page, run_directory: Path) -> None:
    make_report(run_directory)
    shared = run_directory / SHARED
    assert shared.stat().st_size < MOST_SHARED
    chromium.complaints.clear()
    chromium.open(shared)
    assert chromium.run("tcplabStage.then(({ stage }) => stage.models.length)") == 2
    chromium.open(shared, address="?lecture#t=0.5")
    assert chromium.run("tcplabStage.then(({ stage }) => stage.time)") == 0.5
    assert chromium.run("document.documentElement.className") == "lecture"
    assert chromium.run(_CLICK_IN_THE_MIDDLE) == pytest.approx(0, abs=0.02)
    assert chromium.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "size", [(1920, 1080), (1366, 768), (1280, 720), (1024, 768), (800, 600)], ids=str
)
def test_a_lecture_fits_the_projector(
    chromium: Page, run_directory: Path, size: tuple[int, int]
) -> None:
    make_report(run_directory)
    chromium.open(run_directory / SHARED, *size, address="?lecture#t=0.5")
    chromium.run("tcplabStage.then(() => 0)")
    for _ in range(3):  # the stage takes its height, then the graphs take theirs
        chromium.settle()
    assert chromium.run("document.documentElement.scrollHeight") == size[1]
    bottom = chromium.run("document.getElementById('graphs').getBoundingClientRect().bottom")
    assert size[1] - 12 <= bottom <= size[1]


_CLICK_IN_THE_MIDDLE = """tcplabStage.then(({ board, stage }) => {
  const plot = board.plots[0];
  const box = plot.canvas.getBoundingClientRect();
  const frame = plot.current;
  const clientX = box.left + (frame.x + frame.width / 2) * plot.size;
  plot.canvas.dispatchEvent(new MouseEvent("click", { clientX, clientY: box.top + 99 }));
  return stage.time - (frame.left + frame.right) / 2;
})"""


_MADE = """new StageModel({{ label: "", kinds: [{{ name: "new" }}],
    shape: {{ nodes: ["a", "b"], delay: 0, rate: 0, queue: 0, loss: false }},
    data: {{ sent: [0, 0.01, 5], arrived: [0.05, 0.06, 5.05], sequence: [0, 1000, {next}],
      length: Uint32Array.of(1000, {length}, 1000), flow: Uint8Array.of(0, 0, 0),
      kind: [0, 0, 0], marked: [0, 0, 0] }},
    acks: {{ sent: [0.05], arrived: [0.06], acknowledgement: [{acknowledged}], flow: [0],
      window: {offered} }},
    blocks: {{ ack: [], left: [], right: [] }},
    samples: {{ time: [{sampled}], window: [{window}], threshold: [{threshold}] }} }})"""


def model_of(length: int, **values: object) -> str:
    unsampled = {"acknowledged": 1000, "sampled": "", "window": "", "threshold": ""}
    return _MADE.format(**unsampled | values, length=length, next=1000 + length)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("acknowledged", "length", "offered", "reason"),
    [
        (1300, 300, "undefined", "not full"),
        (2000, 1000, "undefined", "or the receiver"),
        (2000, 1000, "[9000]", "window was open"),
        (2000, 1000, "[500]", "room for 500 bytes only"),
        (1000, 300, "[9000]", "not known"),
    ],
)
def test_a_pause_has_its_reason(
    chromium: Page, run_directory: Path, acknowledged: int, length: int, offered: str, reason: str
) -> None:
    staged(chromium, run_directory)
    model = model_of(length, acknowledged=acknowledged, offered=offered)
    assert reason in chromium.run(f"whyWaited({model}, 2)")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("length", "offered", "window", "threshold", "reason"),
    [
        (1000, "[1500]", 9000, 1, "The receive window is full: 1.0 kB of 1.5 kB"),
        (1000, "[9000]", 1500, 1, "is full (RFC 5681, section 3.1): 1.0 kB are"),
        (1000, "[9000]", 700, 1, "more than the samples say"),
        (1000, "[9000]", 8000, 1, "which, captures do not show"),
        (300, "[9000]", 8000, 1, "the program had no more data"),
        (1000, "undefined", 8000, 1, "not known"),
        (1000, "[9000]", "700, 900", "1, 1", "0.7 kB to 0.9 kB, by samples at 0.030 and 0.062 s"),
        (1000, "[9000]", 700, 0, "is 1.7 kB, 0.7 kB of a sample at 0.030 s and 1.0 kB"),
        (1000, "[9000]", "700, 1100", "0, 1100", "Slow start ends: the window is 1.1 kB"),
    ],
)
def test_the_limit_is_named_and_each_clause_moves_the_playhead(
    chromium: Page,
    run_directory: Path,
    length: int,
    offered: str,
    window: int | str,
    threshold: int | str,
    reason: str,
) -> None:
    staged(chromium, run_directory)
    sampled = "0.03" if isinstance(window, int) else "0.03, 0.062"
    sample = {"sampled": sampled, "window": window, "threshold": threshold}
    model = model_of(length, offered=offered, **sample)
    found = chromium.run(f"whyLimited({model}, 0.061)")
    assert reason in " ".join(clause["text"] for clause in found["clauses"])
    chromium.run(f"({STAGE}.show([{model}]), {STAGE}.go(0.0605), {STAGE}.why())")
    moved = chromium.run(
        f"[...{STAGE}.panel.querySelectorAll('li button')].map("
        f"clause => (clause.click(), {STAGE}.time.toFixed(4)))"
    )
    assert moved == [f"{clause['time']:.4f}" for clause in chromium.run(f"{STAGE}.clauses")]
    assert len(moved) >= 2
