"""What all pictures share: size and letters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

SETTINGS: dict[Any, Any] = {
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "axes.axisbelow": True,
    "path.simplify": True,
    "text.parse_math": False,
}


@contextmanager
def settings() -> Iterator[None]:
    """Yield the style, for as long as figures are made and saved."""
    with matplotlib.rc_context(SETTINGS):
        yield


def grid(
    rows: int, columns: int, height: float, share: bool, below: float = 0.6
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of `rows` x `columns` axes, `height` inches per row.

    With `share`, each row has one y scale. `below` inches stay free under the lowest axes. The
    margins are fixed, because matplotlib's automatic layout draws everything twice.
    """
    width, inches = max(9.0, 6.5 * columns), height * rows + below
    figure = Figure(figsize=(width, inches), dpi=100)
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        left=0.8 / width,
        right=1 - 0.2 / width,
        bottom=below / inches,
        top=1 - 0.35 / inches,
        wspace=0.16,
        hspace=0.3 if height > 4 else 0.36,
    )
    axes = figure.subplots(rows, columns, squeeze=False, sharey="row" if share else False)
    return figure, [list(row) for row in axes]


def png(figure: Figure) -> bytes:
    """Return the figure as a PNG file."""
    with BytesIO() as buffer:
        figure.savefig(buffer, format="png", pil_kwargs={"compress_level": 3})
        return buffer.getvalue()
