"""Maps over two swept factors: the medians, or how one level compares with another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullLocator,
)
from matplotlib.transforms import Affine2D

from analysis.figures.panels import (
    DECADES,
    WIDTH,
    PanelBoard,
    PanelMargins,
    board,
    figure_text,
    spans_decades,
)
from analysis.rendering.figure_style import png, settings
from analysis.statistics.paired_tests import Numbers

MOST_WRITTEN = 150
"""Cells of a figure into which their value is written."""
_CELL = 0.66
"""Inches that a written figure needs."""
_UNSHOWN = "#e4e4e4"
_FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
"""Ratios that the colour scale may be labelled with."""


@dataclass(frozen=True)
class MapPanel:
    """One map: rows by columns, NaN for no value.

    `unshown` are the cells in which no difference is shown.
    """

    title: str
    values: Numbers
    unshown: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None = None


@dataclass(frozen=True)
class MapAxes:
    """The names of the two factors and of their values, the rows' from the top."""

    columns: Sequence[str]
    rows: Sequence[str]
    below: str
    left: str


def draw_medians(shown: Sequence[MapPanel], names: MapAxes, value: str) -> bytes:
    """A PNG of medians, one colour scale for all panels."""
    values = np.concatenate([panel.values.ravel() for panel in shown])
    values = values[~np.isnan(values)]
    low, high = float(values.min()), float(values.max())
    norm = (
        LogNorm(low, high)
        if spans_decades(values.tolist())
        else Normalize(min(0.0, low), high or 1.0)
    )
    return _draw(shown, names, value, norm, matplotlib.colormaps["cividis"])


def draw_ratios(shown: Sequence[MapPanel], names: MapAxes, value: str) -> bytes:
    """A PNG of ratios: blue below 1, red above, grey hatching if no difference is shown."""
    different = np.concatenate(
        [panel.values[~panel.unshown] for panel in shown if panel.unshown is not None]
    )
    different = different[~np.isnan(different)]
    widest = max([1.25, *different, *(1 / different)])
    return _draw(shown, names, value, LogNorm(1 / widest, widest), matplotlib.colormaps["RdBu_r"])


def _draw(
    shown: Sequence[MapPanel], names: MapAxes, value: str, norm: Normalize, colors: Colormap
) -> bytes:
    is_written = sum(panel.values.size for panel in shown) <= MOST_WRITTEN
    room = _room(len(shown), shown[0].values.shape, names, is_written)
    hatched = [
        Patch(facecolor=_UNSHOWN, edgecolor="white", hatch="////", label="not shown to differ")
    ]
    with settings():
        panels = board(len(shown), room, hatched if shown[0].unshown is not None else ())
        panels.name([panel.title for panel in shown])
        for axes, panel in zip(panels.axes, shown, strict=True):
            _map(axes, panel, norm, colors)
            if is_written:
                _write(axes, panel, norm, colors)
        _sides(panels.axes, names, crowded=not is_written and len(names.columns) > 6)
        panels.label(names.left, names.below)
        _bar(panels, norm, colors, value)
        return png(panels.figure)


def _room(count: int, shape: tuple[int, ...], names: MapAxes, is_written: bool) -> PanelMargins:
    """Panels as wide as their cells need, and as high as looks like a map."""
    rows, columns = shape
    left, right, beside = 0.75 + 0.09 * max(map(len, names.rows)), 1.6, 0.25
    needed = max(2.4, columns * _CELL if is_written else 0.0)
    across = max(1, min(4, count, int((WIDTH - left - right + beside) / (needed + beside))))
    height = min(4.6, max(1.3, rows * (0.42 if is_written else 0.3)))
    return PanelMargins(height, across, left, right, below=0.8, between=0.85, beside=beside)


def _map(axes: Axes, panel: MapPanel, norm: Normalize, colors: Colormap) -> None:
    axes.imshow(
        np.ma.masked_invalid(panel.values),
        norm=norm,
        cmap=colors,
        aspect="auto",
        interpolation="nearest",
    )
    axes.grid(False)
    if panel.unshown is not None and panel.unshown.any():
        corners = np.argwhere(panel.unshown)[:, ::-1] - 0.5
        boxes = [
            Path.unit_rectangle().transformed(Affine2D().translate(*corner)) for corner in corners
        ]
        hatched = PathPatch(
            Path.make_compound_path(*boxes), facecolor=_UNSHOWN, edgecolor="white", hatch="////"
        )
        axes.add_patch(hatched)


def _sides(all_axes: Sequence[Axes], names: MapAxes, crowded: bool) -> None:
    """The labels of rows and columns, which all panels share."""
    size = 9 if crowded else 11
    all_axes[0].set_xticks(range(len(names.columns)), names.columns)
    all_axes[0].set_yticks(range(len(names.rows)), names.rows)
    for axes in all_axes:
        axes.tick_params(length=0, labelsize=size)
        axes.tick_params(axis="x", labelrotation=90 if crowded else 0)


def _write(axes: Axes, panel: MapPanel, norm: Normalize, colors: Colormap) -> None:
    for (row, column), value in np.ndenumerate(panel.values):
        unshown = panel.unshown is not None and bool(panel.unshown[row, column])
        red, green, blue, _ = (
            colors(norm(value)) if not unshown and np.isfinite(value) else (1.0, 1.0, 1.0, 1.0)
        )
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        box = {"facecolor": _UNSHOWN, "linewidth": 0, "pad": 1.5} if unshown else None
        axes.text(
            column,
            row,
            figure_text(float(value)),
            ha="center",
            va="center",
            fontsize=10,
            color="white" if dark else "#555555" if unshown else "black",
            bbox=box,
        )


def _bar(panels: PanelBoard, norm: Normalize, colors: Colormap, value: str) -> None:
    """The colour scale at the right of the uppermost panels."""
    boxes = [axes.get_position() for axes in panels.axes]
    top, inches = max(box.y1 for box in boxes), float(panels.figure.get_size_inches()[1])
    height = min(top - min(box.y0 for box in boxes), 4.0 / inches)
    place = panels.figure.add_axes((1 - 1.35 / WIDTH, top - height, 0.2 / WIDTH, height))
    bar = panels.figure.colorbar(ScalarMappable(norm, colors), cax=place)
    bar.outline.set_visible(False)
    place.set_ylabel(textwrap.fill(value, max(20, int(height * inches / 0.085))), fontsize=10)
    place.yaxis.set_major_locator(_steps(norm))
    place.yaxis.set_minor_locator(NullLocator())
    place.yaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:,.3g}"))


def _steps(norm: Normalize) -> Locator:
    """Round values; over decades the powers of ten; for ratios round ones up and down from 1."""
    if not isinstance(norm, LogNorm) or not (norm.vmin and norm.vmax):
        return MaxNLocator(5)
    if norm.vmin * norm.vmax != 1 and norm.vmax / norm.vmin >= DECADES:
        return LogLocator()
    factors = [factor for factor in _FACTORS if factor <= norm.vmax][-2:]
    return FixedLocator([*(1 / factor for factor in factors), 1.0, *factors])
