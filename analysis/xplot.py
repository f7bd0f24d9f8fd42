"""Reads .xpl files, the graphs that tcptrace writes for xplot (http://www.xplot.org), with what the shapes mean.

Every line is a command with its coordinates, a colour for the commands that follow, or the text of the command
before. In tcptrace's time-sequence graph the colour and the shape tell what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_COLOURS = frozenset({"white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink"})
_TEXTS = frozenset({"atext", "btext", "ltext", "rtext", "ctext"})
_LINES = frozenset({"line", "dline"})
_POINTS = frozenset(
    "dot box diamond plus x uarrow darrow larrow rarrow dtick utick htick vtick ltick rtick".split()  # noqa: SIM905
)
_HEADINGS = frozenset({"title", "xlabel", "ylabel", "xunits", "yunits"})
_TURN = 2**32


@dataclass(frozen=True)
class Shape:
    """One command: `kind` as in the file, its coordinates (a point has `x2 == x`, `y2 == y`), colour and text."""

    kind: str
    x: float
    y: float
    x2: float
    y2: float
    colour: str
    text: str = ""


@dataclass(frozen=True)
class Plot:
    """One .xpl file."""

    title: str
    shapes: tuple[Shape, ...]


Line = tuple[float, float, float, float]
"""x, y, x2, y2: seconds and bytes since the connection's start."""


@dataclass(frozen=True)
class TimeSequence:
    """What a time-sequence graph shows, in seconds and bytes since the first packet.

    `data` are segments sent for the first time and `resent` those that tcptrace calls retransmitted; `acks` and
    `window` are the staircases of the cumulative ACK and of the highest byte that the receiver allows; `sacks`
    are reported blocks.
    """

    start: float
    data: tuple[Line, ...]
    resent: tuple[Line, ...]
    acks: tuple[Line, ...]
    window: tuple[Line, ...]
    sacks: tuple[Line, ...]


def read_xplot(content: str) -> Plot:
    """The plot in `content`. Raises ValueError for a command that is not known or not complete."""
    lines = iter(content.splitlines())
    next(lines, "")  # the kinds of the two axes
    title, colour, shapes = "", "white", []
    for line in lines:
        word, *numbers = line.split()
        if word in _HEADINGS:
            text = next(lines, "")
            title = text if word == "title" else title
        elif word in _COLOURS:
            colour = word
        elif word != "go":
            shapes.append(_shape(word, numbers, colour, lines))
    return Plot(title, tuple(shapes))


def _shape(word: str, numbers: list[str], colour: str, following: Iterator[str]) -> Shape:
    count = 4 if word in _LINES else 2
    if word not in _LINES | _POINTS | _TEXTS or len(numbers) < count:
        raise ValueError(f"'{word}' is no complete xplot command")
    text = next(following, "") if word in _TEXTS else ""
    coordinates = [float(number) for number in islice(numbers, count)]
    x, y, x2, y2 = coordinates if count == 4 else coordinates * 2
    return Shape(word, x, y, x2, y2, numbers[count] if len(numbers) > count else colour, text)


def time_sequence(plot: Plot) -> TimeSequence:
    """The meaning of a time-sequence graph's lines. Raises ValueError where there is nothing in it."""
    lines = [shape for shape in plot.shapes if shape.kind in _LINES]
    if not lines:
        raise ValueError("the graph has no lines")
    x, y = min(line.x for line in lines), lines[0].y

    def of(*colours: str) -> tuple[Line, ...]:
        chosen = (line for line in lines if line.colour in colours)
        return tuple((line.x - x, _since(line.y, y), line.x2 - x, _since(line.y2, y)) for line in chosen)

    return TimeSequence(x, of("white"), of("red"), of("green"), of("yellow"), of("purple"))


def _since(sequence: float, first: float) -> float:
    """Bytes since `first`, across the sequence number's turn at 2^32 and with room for one window before it."""
    return (sequence - first + _TURN / 64) % _TURN - _TURN / 64


def dots(plot: Plot) -> list[tuple[float, float]]:
    """The points of a graph that is drawn in dots: tcptrace's RTT samples are (seconds since 1970, milliseconds)."""
    return [(shape.x, shape.y) for shape in plot.shapes if shape.kind in _POINTS]
