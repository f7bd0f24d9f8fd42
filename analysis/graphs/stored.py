"""Graphs as compact data in a page."""

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.ladder import merged
from analysis.graphs.layers import LOOKS, SERIES, Axis, Graph, GraphGroup, Layer
from analysis.table import Whole

DIGITS = 6
"""Decimal digits that are kept of the greatest of numbers that are not whole."""
_FEW, _MOST_DIGITS = 1000, 15
"""Of so few numbers the digits are of the least, as on logarithmic axes; a script has 15."""


class PageColumns:
    """The columns of a page. Equal columns are stored once, since many graphs share their times."""

    def __init__(self) -> None:
        self.stored: list[dict[str, Any]] = []
        self._places: dict[tuple[float, bytes], int] = {}

    def put(self, numbers: Numbers, step: int = 1) -> int:
        """Return the place of `numbers`, rounded to multiples of `step`.

        Numbers that are not whole are rounded to six digits.
        """
        integers, kept = _rounded(numbers, step)
        key = (kept, integers.tobytes())
        if key not in self._places:
            self._places[key] = len(self.stored)
            self.stored.append({"length": len(integers), "step": kept, **_packed(integers)})
        return self._places[key]


def _rounded(numbers: Numbers, step: int) -> tuple[Whole, float]:
    if numbers.dtype.kind == "f":
        fine = _fine(np.abs(numbers[numbers != 0]))
        return np.rint(numbers / fine).astype(np.int64), fine
    integers = numbers.astype(np.int64, copy=False)
    return (integers if step == 1 else (integers + step // 2) // step), step


def _fine(sizes: Numbers) -> float:
    """Return the power of ten to which numbers of these sizes, above 0, are rounded."""
    if not len(sizes):
        return 10.0**-DIGITS
    least, greatest = (int(np.ceil(np.log10(size))) for size in (sizes.min(), sizes.max()))
    if len(sizes) > _FEW:
        least = greatest
    return float(10.0 ** max(least - DIGITS, greatest - _MOST_DIGITS))


def _packed(integers: Whole) -> dict[str, Any]:
    differences = np.diff(integers, prepend=0)
    unsigned = ((differences << 1) ^ (differences >> 63)).astype(
        "<u8"
    )  # the sign goes to the lowest bit
    width = max(1, -(-int(unsigned.max(initial=0)).bit_length() // 8))
    planes = unsigned.view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()
    return {"width": width, "data": base64.b64encode(zlib.compress(planes, 4)).decode("ascii")}


_WHOLE = ("line", "stairs", "rate", "band", "level", "moments", "boxes", "cells")
"""Shapes that are stored whole."""


def as_script(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def latest(graphs: Iterable[Graph]) -> float:
    """Return the latest time of graphs over time, in ns."""
    drawn = (layer for graph in graphs if graph.over_time for layer in graph.layers)
    layers = (layer for layer in drawn if len(layer))
    return max(
        (float(np.max(layer.x if layer.end is None else layer.end)) for layer in layers),
        default=0.0,
    )


MOST_MARKS = 60_000
"""Marks of a report or a sweep, beyond which neighbours are stored as one."""


def board_data(groups: Sequence[GraphGroup]) -> str:
    """Return the groups' graphs with one time axis, as the script that templates/board.html has."""
    graphs = [graph for group in groups for graph in group.graphs]
    marks = sum(len(layer) for graph in graphs for layer in graph.layers)
    stored = StoredGraphs(run=max(1, -(-marks // MOST_MARKS)))
    for graph in graphs:
        stored.put(graph)
    return as_script({**stored.data, "span": [0, latest(graphs)]})


class StoredGraphs:
    """The graphs of a page; the times of captures, in ns, are rounded to `step`.

    `run` is how many neighbouring marks of a graph over time become one.
    """

    def __init__(self, step: int = 1, run: int = 1) -> None:
        self._columns, self._graphs = PageColumns(), list[dict[str, Any]]()
        self._step, self._run = step, run
        self._places: dict[int, int] = {}
        self._kept: list[Graph] = []  # alive, so that no other graph gets the same id

    @property
    def data(self) -> dict[str, Any]:
        """Looks, columns and graphs: all that the scripts of a page draw from."""
        return {
            "looks": {name: asdict(look) for name, look in LOOKS.items()},
            "series": SERIES,
            "graphs": self._graphs,
            "columns": self._columns.stored,
        }

    def put(self, graph: Graph) -> int:
        """Return the graph's place in `graphs`."""
        if id(graph) not in self._places:
            self._places[id(graph)] = len(self._graphs)
            self._kept.append(graph)
            self._graphs.append(
                {
                    "key": graph.key,
                    "title": graph.title,
                    "caption": graph.caption,
                    "x": asdict(graph.x),
                    "y": asdict(graph.y),
                    "overTime": graph.over_time,
                    "height": graph.height,
                    "layers": [self._layer(layer, graph) for layer in graph.layers],
                }
            )
        return self._places[id(graph)]

    def _layer(self, layer: Layer, graph: Graph) -> dict[str, Any]:
        is_thinned = graph.over_time and layer.shape not in _WHOLE
        short = merged(layer, self._run) if is_thinned else layer
        put, across, up = self._columns.put, self._rounding(graph.x), self._rounding(graph.y)
        columns = {"x": put(short.x, across), "y": put(short.y, up)}
        if short.top is not None:
            columns["top"] = put(short.top, up)
        if short.end is not None:
            columns["end"] = put(short.end, across)
        if short.tint is not None:
            columns["tint"] = put(short.tint)
        fields = [[name, put(column)] for name, column in short.fields.items()]
        return {
            "look": short.look if isinstance(short.look, str) else asdict(short.look),
            "shape": layer.shape,
            "words": layer.words,
            "series": layer.series,
            "notes": layer.notes or None,
            "run": short.run,
            "marks": len(short),
            "columns": columns,
            "fields": fields,
        }

    def _rounding(self, axis: Axis) -> int:
        """Times in whole ns are rounded to the page's step; bytes are not."""
        return self._step if axis.unit in ("s", "ms") else 1
