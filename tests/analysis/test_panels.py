"""Panels of figures for papers: they fit a page, and no words run into each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from analysis.graphs.layers import GraphGroup, PaperSize
from analysis.graphs.paper import paper_figure
from analysis.reporting.over_seeds import QUANTITIES, SeriesPanel, banded

PAGE = 9.1  # inches of a page's text: ACM's acmart sigconf has 9.15, IEEE's transactions 9.6


def series(panels: int, title: str, names: tuple[str, ...]) -> GraphGroup:
    random = np.random.default_rng(1)
    drawn = [
        SeriesPanel(str(at), title.format(at), {n: 1e3 * random.random((3, 80)) for n in names})
        for at in range(panels)
    ]
    graphs = [each for name in QUANTITIES for each in banded(name, drawn, np.linspace(0, 8, 81))]
    return GraphGroup("series", "T", "Lines: median of 3 seeds.", tuple(graphs))


def words(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return all texts that are drawn, with their places."""
    figure.draw_without_rendering()
    hidden = {id(text) for axes in figure.axes for text in _hidden(axes)}
    texts = [each for each in figure.findobj(Text) if isinstance(each, Text) and each.get_text()]
    drawn = [each for each in texts if id(each) not in hidden and each.get_visible()]
    return [(each.get_text(), each.get_window_extent()) for each in drawn]


def _hidden(axes: Axes) -> Iterator[Artist]:
    """Yield texts that are not drawn: of axes that are off, and of ticks outside the panel."""
    if not axes.axison:
        yield from axes.findobj(Text)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield tick.label1


def crossings(placed: list[tuple[str, Bbox]]) -> list[tuple[str, str]]:
    """Return the texts that share more than half a point in both directions."""
    edge = -0.5 * 100 / 72
    return [
        (first, second)
        for (first, a), (second, b) in combinations(placed, 2)
        if a.padded(edge).overlaps(b.padded(edge))
    ]


@pytest.mark.parametrize(
    ("panels", "paper", "columns", "names"),
    [
        (1, "acm", 2, ("SACK off", "SACK on")),
        (4, "acm", 1, ("SACK off", "SACK on")),
        (5, "ieee", 2, ("a long name of a flow", "another long name")),
        (9, "acm", 1, ("SACK off", "SACK on")),
    ],
)
def test_series_of_many_panels_fit_a_page_without_words_over_each_other(
    panels: int, paper: str, columns: int, names: tuple[str, ...]
) -> None:
    size = PaperSize(paper, columns).in_rows(panels, len(QUANTITIES))
    title = "delay {}0ms, loss 0.5%" if panels > 1 else ""
    figure = paper_figure(series(panels, title, names), size)
    placed = words(figure)
    assert crossings(placed) == []
    assert figure.get_figheight() <= PAGE
    assert all(box.x0 >= -1 and box.x1 <= figure.bbox.width + 1 for _, box in placed)
    written = [text.replace("\n", " ") for text, _ in placed]
    assert written.count("queueing delay (ms)") == -(-panels // (size.across or 1))
