"""A page is written with its pictures: without a script, at once, and nothing moves later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from analysis.graphs.inline import inline, ticks
from analysis.graphs.layers import RATE, TIME, Axis, Graph, Layer, Shape
from analysis.pages.run import make_report
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.analysis.test_analysis_report import HEADLINE, _change

SHIFTS = """
new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) sum += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 100);
})
"""
MOST_SHIFT = 0.02  # of the page's score, where 0.1 is what people notice
SHAPES: tuple[Shape, ...] = ("line", "stairs", "rate", "dots", "bars", "band", "boxes", "level")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if not CHROMIUM:
        pytest.skip(NO_CHROMIUM)
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def claimed(run_directory: Path) -> Path:
    _change(run_directory / "spec.json", headline=HEADLINE)
    make_report(run_directory)
    return run_directory / "report.html"


def test_a_report_has_its_claim_and_a_moment_of_the_stage_as_written(claimed: Path) -> None:
    page = claimed.read_text()
    pictures = re.findall(r'<svg class="first[^"]*".*?</svg>', page)
    assert [picture.count("<text") > 1 for picture in pictures] == [True] * 4
    for picture in pictures:
        ElementTree.fromstring(picture)
    assert page.index('class="first"') < page.index('class="first stage-first"')
    assert len(page) < 300_000


@pytest.mark.browser
def test_scripts_replace_the_pictures_and_nothing_moves(chromium: Page, claimed: Path) -> None:
    chromium.open(claimed)
    chromium.run("tcplabGraphs.staged.then(() => null)")
    chromium.settle()
    assert chromium.run("document.querySelectorAll('.first').length") == 0
    assert chromium.run(SHIFTS) < MOST_SHIFT


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_lies_within_the_frame(shape: Shape) -> None:
    at = np.linspace(0, 1e9, 50)
    layer = Layer("cwnd", shape, at, at / 2, at if shape in ("band", "boxes", "bars") else None)
    graph = Graph("a", "A & B", "", TIME, Axis("bytes", "B", zero=True), (layer,))
    drawn = inline(graph, 400, (0.0, 1e9))
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == "A & B"
    paths = [each.get("d") or "" for each in root.iter("path") if not each.get("class")]
    numbers = [float(number) for path in paths for number in re.findall(r"[\d.]+", path)]
    assert paths and max(numbers) <= 400 and len(drawn) < 10_000


def test_numbers_of_an_axis_have_the_prefix_that_fits() -> None:
    marks, unit = ticks(RATE, 0, 20_000, 4)
    assert (unit, [label for _, label in marks]) == ("Mbit/s", ["0", "5", "10", "15", "20"])
    assert [value for value, _ in marks] == [0, 5_000, 10_000, 15_000, 20_000]
