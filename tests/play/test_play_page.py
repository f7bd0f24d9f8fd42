"""The live page in a real browser: real clicks, drags and keys, wide and narrow."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from experiments.play.lesson import all_lessons
from experiments.play.server import PageOffer, whole_page
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.play.made_player import MadePlayer
from tests.play.serving import served, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason=NO_CHROMIUM)]
WIDE, NARROW = (1400, 1000), (390, 844)
GRAPHS = ("window", "rate", "trip", "flight", "sequence")
KEYS = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39}
SHIFT = 8  # of Input.dispatchKeyEvent


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


class LivePage:
    """The page as a person uses it."""

    def __init__(self, page: Page, player: MadePlayer) -> None:
        self.page, self.player = page, player

    def run(self, script: str) -> Any:
        return self.page.run(script)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def until(self, script: str) -> None:
        wait_until(lambda: bool(self.run(f"Boolean({script})")))

    def until_shown(self) -> None:
        """Until the newest runs are whole and drawn."""
        self.until(
            "[...new Set(Object.values(tcplabPlay.play.runs))]"
            ".every(run => !run || run.isWhole) && tcplabPlay.play.runs.A !== null"
        )
        self.page.settle()

    def middle(self, selector: str) -> tuple[float, float]:
        place = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)});"
            " box.scrollIntoView({ block: 'center' });"
            " const { x, y, width, height } = box.getBoundingClientRect();"
            " return [x + width / 2, y + height / 2]; })()"
        )
        return place[0], place[1]

    def click(self, selector: str) -> None:
        x, y = self.middle(selector)
        self.click_at(x, y)

    def click_at(self, x: float, y: float) -> None:
        self.page.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.page.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str, modifiers: int = 0) -> None:
        code = KEYS.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.page.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.page.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.page.settle()

    def write(self, selector: str, text: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.page.call("Input.insertText", text=text)
        self.press("Enter")

    def focused(self) -> str:
        return str(
            self.run(
                "(box => box.id || box.getAttribute('aria-label') || box.textContent.trim())"
                "(document.activeElement)"
            )
        )

    def settings(self, side: str = "A") -> dict[str, str]:
        settings: dict[str, str] = self.run(f"tcplabPlay.play.runs.{side}.settings")
        return settings

    def counts(self) -> dict[str, dict[str, int]]:
        """The marks of all that has come: the page draws it in the next frame of the screen."""
        self.page.settle()
        self.run("tcplabPlay.play.board.drawAll()")
        counts: dict[str, dict[str, int]] = self.run("tcplabPlay.play.board.counts()")
        return counts

    def range(self) -> tuple[float, float]:
        left, right = self.run("tcplabPlay.play.board.range()")
        return left, right


@contextmanager
def opened(
    page: Page,
    link: str = "",
    size: tuple[int, int] = WIDE,
    offer: PageOffer | None = None,
    seconds: float = 0.05,
) -> Iterator[LivePage]:
    """The page on a made player; it must not complain, nor ask any other server for anything."""
    player = MadePlayer(seconds)
    with served(player, offer or PageOffer()) as entry:
        address = entry.partition("?")[0]
        width, height = size
        size_of = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size_of)
        page.complaints.clear()
        page.call("Page.navigate", url="about:blank")
        page.call("Page.navigate", url=entry + link)
        page.run(
            "new Promise(done => document.readyState === 'complete' ? done() :"
            " addEventListener('load', done))"
        )
        page.run("tcplabPlay.ready")
        live = LivePage(page, player)
        if offer is None:  # a lesson asks before it runs
            live.until_shown()
        yield live
        complaints = [text for text in page.complaints if f'"url": "{address}' not in text]
        page.call("Page.navigate", url="about:blank")
        assert complaints == []
    assert player.running == 0


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_first_run_fills_every_graph(chromium: Page, size: tuple[int, int]) -> None:
    with opened(chromium, "#loss=0.5%25&flows=cubic%2Breno%402s", size) as live:
        counts = live.counts()
        assert {*counts} == {*GRAPHS}
        assert counts["window"]["cwnd"] > 100 and counts["window"]["events"] >= 2
        assert counts["rate"]["goodput"] > 100 and counts["trip"]["drops"] >= 2
        assert counts["sequence"]["data"] > 100 and counts["sequence"]["again"] >= 2
        assert live.settings()["flows"] == "cubic+reno@2s"
        assert "Mbit/s" in live.text("#summary") and " ms" in live.text("#latency")
        assert live.run("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_slider_is_dragged(chromium: Page, size: tuple[int, int]) -> None:
    with opened(chromium, size=size) as live:
        _, y = live.middle("#set-delay")
        start = live.run(
            "(() => { const box = document.getElementById('set-delay');"
            " const { x, width } = box.getBoundingClientRect();"
            " return x + 8 + (width - 16) * box.value / box.max; })()"
        )
        live.page.mouse("mousePressed", start, y, button="left", clickCount=1)
        for step in range(20):
            live.page.mouse("mouseMoved", start + 3 * step, y, button="left", buttons=1)
        live.page.mouse("mouseReleased", start + 57, y, button="left", clickCount=1)
        live.until_shown()
        shown = live.run("document.querySelector('.exact[data-field=delay]').value")
        assert live.settings()["delay"] == shown != "20ms"
        assert live.player.played[-1].as_data()["delay"] == shown
        assert live.player.most == 1  # how many of the moves are played depends on the machine
        assert live.run("document.getElementById('set-delay').ariaValueText") == shown


def test_a_fast_drag_shows_each_run_that_it_starts_and_skips_values(chromium: Page) -> None:
    with opened(chromium, seconds=0.1) as live:
        places = live.run(
            "(() => { const box = document.getElementById('set-delay');"
            " const places = Array.from({ length: 20 }, (_, at) => Number(box.value) + at + 1);"
            " for (const place of places) {"
            " box.value = place; box.dispatchEvent(new Event('input')); } return places; })()"
        )
        live.until("tcplabPlay.play.runs.A.settings.delay === tcplabPlay.play.sides.A.delay")
        live.until_shown()
        assert live.run("Number(document.getElementById('set-delay').value)") == places[-1]
        first, *others = [played.as_data()["delay"] for played in live.player.played]
        assert first == "20ms" and len(others) == 2  # the first value of the drag, and the last
        assert live.player.cut == 0


def test_what_is_shown_already_is_not_run_again(chromium: Page) -> None:
    with opened(chromium) as live:
        live.run("document.getElementById('set-delay').dispatchEvent(new Event('change'))")
        assert live.run("tcplabPlay.play.runs.A.isWhole") and len(live.player.played) == 1


def test_a_problem_is_shown_beside_its_field_and_goes_again(chromium: Page) -> None:
    with opened(chromium) as live:
        live.write(".exact[data-field=delay]", "soon")
        live.until("document.querySelectorAll('.problem:not(:empty)').length")
        row = "document.querySelector('.exact[data-field=delay]').closest('.quantity')"
        assert "soon" in live.run(f"{row}.querySelector('.problem').textContent")
        assert live.run("document.querySelector('.exact[data-field=delay]').ariaInvalid") == "true"
        live.write(".exact[data-field=delay]", "35ms")
        live.until_shown()
        assert live.settings()["delay"] == "35ms"
        assert not live.run("document.querySelectorAll('.problem:not(:empty)').length")


def test_the_queue_is_in_packets_and_in_products(chromium: Page) -> None:
    with opened(chromium, "#bw=10mbit&delay=20ms&queue=33") as live:
        assert live.run("document.getElementById('set-bdp').value") == "0.999"
        live.write("#set-bdp", "2")
        live.until_shown()
        assert live.settings()["queue"] == "66"
        assert live.run("document.querySelector('.exact[data-field=queue]').value") == "66"


ADD_FLOW = "[...document.querySelectorAll('button')].find(one => one.textContent === 'Add a flow')"


def test_flows_come_and_go(chromium: Page) -> None:
    with opened(chromium) as live:
        for count in (2, 3, 4):
            live.until(f"!{ADD_FLOW}.hidden")
            live.run(f"{ADD_FLOW}.click()")
            assert live.run("document.querySelectorAll('.flow').length") == count
        live.click(".flow:nth-child(2) .away")
        live.until_shown()
        assert live.settings()["flows"] == "cubic+cubic@2s+cubic@2s"
        live.click("#set-sack")
        live.until_shown()
        assert live.settings()["sack"] == "off"


def test_everything_can_be_done_by_keys(chromium: Page) -> None:
    with opened(chromium, "#loss=0.5%25") as live:
        reached = []
        for _ in range(60):
            live.press("Tab")
            reached.append(live.focused())
            if reached[-1].startswith("Congestion window"):
                break
            if reached[-1] == "set-bw":
                before = live.run("document.getElementById('set-bw').value")
                for _ in range(3):
                    live.press("ArrowRight")
                assert live.run("document.getElementById('set-bw').value") == str(int(before) + 3)
        assert {"To the graphs", "lesson", "set-bw", "set-queue", "set-bdp", "set-discipline"} <= {
            *reached
        }
        assert {"set-sack", "compare", "seeds", "save", "copy-link"} <= {*reached}
        live.until_shown()
        assert live.settings()["bw"] != "10mbit"
        for _ in range(12):
            live.press("+")
        left, right = live.range()
        assert right - left < 0.1
        live.press("Home")
        live.press("ArrowRight", SHIFT)
        assert "at " in live.text(".plot-tooltip")


def test_a_legend_keeps_what_is_hidden_and_the_focus_from_run_to_run(chromium: Page) -> None:
    with opened(chromium) as live:
        live.counts()
        entry = "document.querySelector('#rate .legend button:last-child')"
        words = live.run(f"({entry}.click(), {entry}.focus(), {entry}.textContent)")
        assert words.startswith("throughput")
        assert "goodput" not in live.counts()["rate"]
        live.run("tcplabPlay.play.controls.set('loss', '1%')")
        live.until_shown()
        assert "goodput" not in live.counts()["rate"] and live.focused().startswith("throughput")
        live.run(f"{entry}.click()")
        assert live.counts()["rate"]["goodput"] > 10
        for _ in range(2):
            live.click("#compare")
            live.counts()
            assert live.run(BLANK) == []


BLANK = (
    "(() => { const blank = document.createElement('canvas');"
    " Object.assign(blank, { width: 52, height: 28 });"
    " return [...document.querySelectorAll('.legend button')]"
    " .filter(button => button.firstChild.toDataURL() === blank.toDataURL())"
    " .map(button => button.textContent); })()"
)
"""The entries of legends whose sample shows nothing."""


def test_events_are_explained_at_a_click(chromium: Page) -> None:
    with opened(chromium, "#loss=0.5%25") as live:
        live.click("#event-list li:nth-child(2) button")
        assert "flow 1:" in live.text("#explained")
        left, right = live.range()
        assert right - left < 1
        live.run("tcplabPlay.play.board.span.reset()")
        live.run("document.getElementById('explained').textContent = ''")
        live.page.settle()
        live.middle("#window canvas")
        x, y = live.run(
            "(() => { const plot = tcplabPlay.play.board.plots[0]; plot.draw();"
            " const mark = plot.layers.find(layer => layer.name === 'events');"
            " const box = plot.canvas.getBoundingClientRect();"
            " return [box.x + plot.current.X(mark.x[1]), box.y + plot.current.y + 6]; })()"
        )
        live.click_at(x, y)
        assert "flow 1:" in live.text("#explained")


STROKES = """tcplabPlay.play.board.plots.find((plot) => plot.graph.key === "window").layers
  .filter(({ name }) => name === "cwnd" || name === "ssthresh")
  .map(({ name, dash }) => [name, dash || []])"""


def test_what_if_keeps_one_side_and_shades_the_difference(chromium: Page) -> None:
    with opened(chromium) as live:
        live.click("#compare")
        live.write(".exact[data-field=loss]", "1%")
        live.until_shown()
        assert (live.settings("A")["loss"], live.settings("B")["loss"]) == ("0%", "1%")
        counts = live.counts()
        assert counts["window"]["difference"] > 10 and counts["rate"]["difference"] > 10
        strokes = live.run(STROKES)
        assert sorted(name for name, _ in strokes) == ["cwnd", "cwnd", "ssthresh", "ssthresh"]
        assert len({tuple(dash) for _, dash in strokes}) == 4, "windows and thresholds of A and B"
        assert "A to B" in live.text("#summary")
        names = "[...document.querySelectorAll('.stage-name')].map(name => name.textContent)"
        assert live.run(names) == ["A: loss 0%", "B: loss 1%"]
        stages = "tcplabPlay.play.stage.stage.models"
        delays = f"String({stages}.map(run => run.shape.delay))"
        live.until(f"{delays} === '0.02,0.02'")
        kept, after = live.run(  # at once, as packets of the runs may still arrive
            f"(() => {{ const kept = {stages}[0];"
            " tcplabPlay.play.stage.preview({...tcplabPlay.play.sides.B, delay: '70ms'}, 'B');"
            f" return [{stages}[0] === kept, {delays}]; }})()"
        )
        assert kept and after == "0.02,0.07"
        link = live.run("location.hash")
        assert "b.loss=1%25" in link
        live.click("#side-A")
        assert live.run("document.querySelector('.exact[data-field=loss]').value") == "0%"
        live.write(".exact[data-field=delay]", "50ms")
        live.until_shown()
        assert live.settings("A")["delay"] == "50ms" and live.settings("B")["delay"] == "20ms"
    with opened(chromium, link) as again:
        assert (again.settings("A")["loss"], again.settings("B")["loss"]) == ("0%", "1%")


def test_many_seeds_and_an_ordinary_run(chromium: Page) -> None:
    with opened(chromium) as live:
        live.click("#seeds")
        live.until("document.getElementById('said').textContent.includes('band holds')")
        assert live.counts()["rate"]["band"] > 10
        live.click("#save")
        live.until("document.getElementById('said').textContent.startsWith('Saved')")
        assert str(live.player.folder) in live.text("#said")


def test_a_lesson_asks_before_it_runs(chromium: Page) -> None:
    lessons = tuple(lesson for lesson in all_lessons() if lesson.name == "loss")
    with opened(chromium, size=NARROW, offer=PageOffer(lessons, "loss")) as live:
        assert live.run("document.getElementById('controls').inert") and not live.player.played
        live.click("#tour input")
        live.page.call("Input.insertText", text="9")
        live.press("Enter")
        live.until("document.querySelector('.verdict')")
        assert "You predicted 9 Mbit/s" in live.text(".verdict")
        assert live.settings()["loss"] == "0%"
        live.click("#tour .ways .main")
        assert len(live.player.played) == 1
        assert live.run("document.querySelector('.exact[data-field=loss]').value") == "1%"
        live.click(".option:nth-of-type(3) input")
        live.click("#tour .question .main")
        live.until("document.querySelector('.verdict')")
        assert live.text(".verdict") == "As you predicted."
        assert (live.settings("A")["loss"], live.settings("B")["loss"]) == ("0%", "1%")
        assert "lesson=loss&step=2" in live.run("location.hash")


_WRITTEN = """(plot => {
  const pen = CanvasRenderingContext2D.prototype, plain = pen.fillText, texts = [];
  pen.fillText = (text) => texts.push(text);
  plot.draw();
  pen.fillText = plain;
  return texts;
})(tcplabPlay.play.board.plots.find(({ graph }) => graph.key === "rate"))"""


def test_a_prediction_is_drawn_into_axes_with_numbers(chromium: Page) -> None:
    lessons = tuple(each for each in all_lessons() if each.name == "slow-start")
    with opened(chromium, offer=PageOffer(lessons, "slow-start")) as live:
        live.page.settle()
        written = live.run(_WRITTEN)
        assert {"0", "5", "10", "2.0", "throughput (Mbit/s)"} <= {*written}
        live.click("#rate canvas")
        assert 3 < float(live.run("document.querySelector('#tour input').value")) < 9


def test_the_run_before_does_not_stand_with_the_next_question(chromium: Page) -> None:
    lessons = tuple(each for each in all_lessons() if each.name == "cubic-and-reno")
    with opened(chromium, offer=PageOffer(lessons, "cubic-and-reno")) as live:
        live.click(".option:nth-of-type(1) input")
        live.click("#tour .question .main")
        live.until("document.querySelector('.verdict')")
        live.until_shown()
        assert live.counts()["window"]
        live.click("#tour .ways .main")
        live.until("tcplabPlay.play.tour.isAsking")
        assert live.run("document.activeElement.tagName") == "H2"
        live.page.settle()
        assert live.counts()["window"] == {}


ROLES = ("slider", "textbox", "combobox", "checkbox", "button", "spinbutton", "radio", "img")


def test_a_screen_reader_has_a_name_for_everything(chromium: Page) -> None:
    with opened(chromium, "#flows=cubic%2Breno") as live:
        live.run("document.querySelectorAll('details').forEach(fold => (fold.open = true))")
        nodes = live.page.call("Accessibility.getFullAXTree")["nodes"]
        told = [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored") and node["role"]["value"] in ROLES
        ]
        assert len(told) > 30
        assert [role for role, name in told if not name.strip()] == []
        assert live.run("document.getElementById('summary').ariaLive") == "polite"
        levels = live.run("[...document.querySelectorAll('h1,h2,h3')].map(head => head.tagName)")
        assert levels[0] == "H1" and {*levels[1:]} == {"H2"}


HOLDER = """<!DOCTYPE html><title>notebook</title><script>
const settings = {settings};
window.sent = [];
const frame = document.createElement("iframe");
frame.tcplabChannel = {{ offer: {offer}, send: (text) => window.sent.push(JSON.parse(text)),
  hear: (take) => {{ window.take = take; }} }};
frame.srcdoc = {page};
window.done = new Promise((resolve) => frame.addEventListener("load", resolve));
document.addEventListener("DOMContentLoaded", () => document.body.append(frame));
</script><body>"""


def test_the_whole_page_needs_no_server(chromium: Page, tmp_path: Path) -> None:
    offer = PageOffer().as_data()
    texts = {
        "settings": json.dumps(offer["defaults"]),
        "offer": json.dumps(offer),
        "page": json.dumps(whole_page()).replace("</", "<\\/"),
    }
    (tmp_path / "notebook.html").write_text(HOLDER.format(**texts))
    chromium.complaints.clear()
    chromium.call("Page.navigate", url=(tmp_path / "notebook.html").as_uri())
    wait_until(lambda: bool(chromium.run("window.sent && window.sent.length")))
    sent = chromium.run("window.sent")
    assert sent[0]["ask"] == "play" and sent[0]["settings"] == offer["defaults"]
    chromium.run(
        "take(JSON.stringify({kind: 'problem', side: 'A', number: 1, field: 'bw', sentence: 'no'}))"
    )
    inner = "document.querySelector('iframe').contentDocument"
    assert "no" in chromium.run(f"{inner}.querySelector('.problem:not(:empty)').textContent")
    assert chromium.complaints == []
