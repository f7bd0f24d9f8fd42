"""Reads .xpl files, the graphs that tcptrace writes for xplot (http://www.xplot.org).

Every line is a command with its coordinates, a colour for the commands that follow, or the text
of the command before. In tcptrace's time-sequence graph the colour and the shape tell what is
drawn.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tests.analysis.tcptrace_lines import Lines, TimeSequence

_COLOURS = frozenset(
    {"white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink"}
)
_TEXTS = frozenset({"atext", "btext", "ltext", "rtext", "ctext"})
_LINES = frozenset({"line", "dline"})
_POINTS = frozenset(
    "dot box diamond plus x uarrow darrow larrow rarrow dtick utick htick vtick ltick rtick".split()  # noqa: SIM905
)
_HEADINGS = frozenset({"title", "xlabel", "ylabel", "xunits", "yunits"})
_KNOWN = _LINES | _POINTS | _TEXTS
_MEANT = ("white", "red", "green", "yellow", "purple")
"""The colours in tcptrace's time-sequence graph, in the order of the fields of `TimeSequence`."""
_LINE = re.compile(r"([^\n]*)\n?")
_TURN = 2**32


class XplotShape(NamedTuple):
    """One command: `kind` as in the file, its coordinates, colour and text.

    A point has `x2 == x` and `y2 == y`.
    """

    kind: str
    x: float
    y: float
    x2: float
    y2: float
    colour: str
    text: str


def read_xplot(content: str) -> Iterator[XplotShape]:
    """The shapes in `content`, one by one, for a long connection has millions.

    Raises ValueError at a command that is not known or not complete.
    """
    lines = (
        match[1] for match in _LINE.finditer(content)
    )  # not splitlines: the list would hold millions
    next(lines, "")  # the kinds of the two axes
    colour = "white"
    for line in lines:
        word, *numbers = line.split() or [""]
        if word in _HEADINGS:
            next(lines, "")
        elif word in _COLOURS:
            colour = word
        elif word not in ("go", ""):
            yield _shape(word, numbers, colour, lines)


def _shape(word: str, numbers: list[str], colour: str, following: Iterator[str]) -> XplotShape:
    count = 4 if word in _LINES else 2
    if word not in _KNOWN or len(numbers) < count:
        raise ValueError(f"'{word}' is no complete xplot command")
    text = next(following, "") if word in _TEXTS else ""
    x, y = float(numbers[0]), float(numbers[1])
    x2, y2 = (float(numbers[2]), float(numbers[3])) if count == 4 else (x, y)
    return XplotShape(word, x, y, x2, y2, numbers[count] if len(numbers) > count else colour, text)


def time_sequence(shapes: Iterable[XplotShape]) -> TimeSequence:
    """The meaning of a time-sequence graph's lines. Raises ValueError for an empty graph."""
    numbers: dict[str, array[float]] = {colour: array("d") for colour in (*_MEANT, "orange")}
    first: XplotShape | None = None
    for shape in shapes:
        if shape.kind in _LINES and shape.colour in numbers:
            first = first or shape
            numbers[shape.colour].extend(shape[1:5])
    if first is None:
        raise ValueError("the graph has no lines")
    return TimeSequence(first.x, *(_since(numbers[colour], first) for colour in _MEANT))


def _since(numbers: array[float], first: XplotShape) -> Lines:
    """Rows of four counted from `first`, across the sequence number's turn at 2^32.

    One window may come before it.
    """
    lines = np.array(numbers, dtype=np.float64).reshape(-1, 4)
    lines[:, 0::2] -= first.x
    lines[:, 1::2] = (lines[:, 1::2] - first.y + _TURN / 64) % _TURN - _TURN / 64
    return lines


def dots(shapes: Iterable[XplotShape]) -> list[tuple[float, float]]:
    """The points of a graph that is drawn in dots.

    tcptrace's RTT samples are (seconds since 1970, milliseconds).
    """
    return [(shape.x, shape.y) for shape in shapes if shape.kind in _POINTS]
