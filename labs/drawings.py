"""Drawings of handouts, made from a lab's drawings.toml: sequence diagrams and graphs.

Graphs show expected lines over time, computed from the rules that TCP follows. Their values are
examples, so axes have no numbers. A drawing is 360 wide, to be readable on a phone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from topologies.foundation.data import from_data
from topologies.foundation.errors import UsageError

WIDTH = 360
INK, PALE, BLUE, ORANGE, RED = "#222", "#9aa4ad", "#0072b2", "#e69f00", "#d55e00"
COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7")
"""Of lines, in their order: those of Okabe and Ito, which the colour-blind can tell apart."""
_STYLE = "font: 13px system-ui, sans-serif"


def document(height: float, title: str, parts: Iterable[str]) -> str:
    """Return a whole drawing with its title for those who hear it."""
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" style={quoteattr(_STYLE)}>'
    paper = f'<rect width="{WIDTH}" height="{height:g}" fill="white"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", paper, *parts, "</svg>", ""])


def line(
    start: tuple[float, float], end: tuple[float, float], colour: str = INK, dashed: bool = False
) -> str:
    """Return a straight line."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    ends = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}"'
    return f'<line {ends} stroke="{colour}" stroke-width="1.5"{dashes}/>'


def path(points: Sequence[tuple[float, float]], colour: str, dashed: bool = False) -> str:
    """Return a line through points."""
    dashes = ' stroke-dasharray="6 4"' if dashed else ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'


def text(place: tuple[float, float], words: str, anchor: str = "middle", colour: str = INK) -> str:
    """Words; `anchor` is start, middle or end."""
    where = f'x="{place[0]:g}" y="{place[1]:g}"'
    return f'<text {where} text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def arrow_head(tip: tuple[float, float], to_the_right: bool, colour: str = INK) -> str:
    """Return the end of an arrow."""
    back = -8 if to_the_right else 8
    x, y = tip
    corners = f"{x:g},{y:g} {x + back:g},{y - 5:g} {x + back:g},{y + 2:g}"
    return f'<polygon points="{corners}" fill="{colour}"/>'


def cross(place: tuple[float, float], colour: str = RED) -> str:
    """Return a cross at the place of a loss."""
    x, y = place
    falling = line((x - 5, y - 5), (x + 5, y + 5), colour)
    return falling + line((x - 5, y + 5), (x + 5, y - 5), colour)


_LEFT, _RIGHT = 40, WIDTH - 40
_TOP, _ROW, _SLOPE = 48, 36, 12


@dataclass(frozen=True)
class Message:
    """A packet from a side, `lost` on its way or not; without a side, a note about waiting."""

    text: str
    side: Literal["left", "right", ""] = ""
    lost: bool = False


@dataclass(frozen=True)
class SequenceDiagram:
    """`alt` says in words what it shows. Messages stand below each other in their order."""

    name: str
    alt: str
    left: str
    right: str
    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        if not self.messages:
            raise UsageError(f"The drawing {self.name} is empty.", "Give it messages.")

    def drawn(self) -> str:
        """Return the drawing as SVG."""
        height = _TOP + _ROW * len(self.messages) + _SLOPE + 10
        rows = (
            part
            for number, message in enumerate(self.messages)
            for part in _message(message, _TOP + _ROW * number)
        )
        lives = (line((x, 30), (x, height - 6), PALE) for x in (_LEFT, _RIGHT))
        names = (text((6, 20), self.left, "start"), text((WIDTH - 6, 20), self.right, "end"))
        return document(height, self.alt, [*lives, *names, *rows])


def _message(message: Message, y: float) -> Iterator[str]:
    """One row: an arrow with its words above it, or words alone."""
    middle = WIDTH / 2
    if not message.side:
        yield text((middle, y + 14), message.text, colour=RED)
        return
    rightward = message.side == "left"
    start, end = (_LEFT, _RIGHT) if rightward else (_RIGHT, _LEFT)
    colour = BLUE if rightward else INK
    place = (middle, y + _SLOPE / 2)
    if message.lost:
        yield line((start, y), place, colour)
        yield cross(place)
    else:
        yield line((start, y), (end, y + _SLOPE), colour)
        yield arrow_head((end, y + _SLOPE), rightward, colour)
    beginning, anchor = (start + 12, "start") if rightward else (start - 12, "end")
    yield text((beginning, y - 5), message.text, anchor)


_GRAPH_LEFT, _GRAPH_RIGHT, _GRAPH_TOP, _GRAPH_BOTTOM = 34.0, 350.0, 16.0, 190.0
_STEPS = 240
CUBIC_KEPT, RENO_KEPT = 0.7, 0.5
"""What is kept of the window after a loss (RFC 9438, section 4.6; RFC 5681, section 3.2)."""


@dataclass(frozen=True)
class Curve:
    """A line: through `points`, or computed by a rule from `period` on; all from 0 to 1.

    `reno` grows evenly from half of `high`, `cubic` with the third power of time from seven tenths
    of it; `level` stays at `high`. `period` is the time between two losses.
    """

    label: str
    rule: Literal["reno", "cubic", "level", "points"] = "points"
    period: float = 0.25
    high: float = 0.9
    points: tuple[tuple[float, float], ...] = ()
    dashed: bool = False

    def __post_init__(self) -> None:
        if (self.rule == "points") != bool(self.points) or not 0 < self.period <= 1:
            raise UsageError(
                f"The line '{self.label}' cannot be drawn.", "Give it points or a rule."
            )

    def places(self) -> tuple[tuple[float, float], ...]:
        """Return points of the line, from 0 to 1 both."""
        if self.rule == "points":
            return self.points
        times = [step / _STEPS for step in range(_STEPS + 1)]
        return tuple((time, self._value(time % self.period / self.period)) for time in times)

    def _value(self, phase: float) -> float:
        """Return the window at a share of the time between two losses."""
        if self.rule == "level":
            return self.high
        if self.rule == "reno":
            return self.high * (RENO_KEPT + (1 - RENO_KEPT) * phase)
        # RFC 9438, figure 1: W = C (t - K)^3 + W_max; here it passes W_max at eight tenths.
        flat = 0.8
        return self.high * (1 - (1 - CUBIC_KEPT) * (1 - phase / flat) ** 3)


@dataclass(frozen=True)
class LineGraph:
    """`x` and `y` name the axes; `marks` are words at places of the graph."""

    name: str
    alt: str
    x: str
    y: str
    lines: tuple[Curve, ...]
    marks: tuple[tuple[float, float, str], ...] = ()

    def drawn(self) -> str:
        """Return the drawing as SVG."""
        height = _GRAPH_BOTTOM + 24 + 18 * len(self.lines)
        return document(height, self.alt, [*self._axes(), *self._curves(), *self._marks()])

    def _axes(self) -> Iterator[str]:
        yield line((_GRAPH_LEFT, _GRAPH_TOP), (_GRAPH_LEFT, _GRAPH_BOTTOM))
        yield line((_GRAPH_LEFT, _GRAPH_BOTTOM), (_GRAPH_RIGHT, _GRAPH_BOTTOM))
        yield text((_GRAPH_LEFT - 28, _GRAPH_TOP - 2), self.y, "start")
        yield text((_GRAPH_RIGHT, _GRAPH_BOTTOM + 15), self.x, "end")

    def _curves(self) -> Iterator[str]:
        for number, curve in enumerate(self.lines):
            colour = COLOURS[number % len(COLOURS)]
            y = _GRAPH_BOTTOM + 30 + 18 * number
            yield path([_place(x, value) for x, value in curve.places()], colour, curve.dashed)
            yield path([(_GRAPH_LEFT, y - 4), (_GRAPH_LEFT + 24, y - 4)], colour, curve.dashed)
            yield text((_GRAPH_LEFT + 30, y), curve.label, "start")

    def _marks(self) -> Iterator[str]:
        for x, y, words in self.marks:
            yield text(_place(x, y), words)


def _place(x: float, y: float) -> tuple[float, float]:
    return _GRAPH_LEFT + x * (_GRAPH_RIGHT - _GRAPH_LEFT), _GRAPH_BOTTOM - y * (
        _GRAPH_BOTTOM - _GRAPH_TOP - 10
    )


FOLDER = "drawings"


@dataclass(frozen=True)
class LabDrawings:
    """Every drawing by its kind, as drawings.toml lists them."""

    sequence: tuple[SequenceDiagram, ...] = ()
    graph: tuple[LineGraph, ...] = ()

    @property
    def by_name(self) -> dict[str, SequenceDiagram | LineGraph]:
        drawings: tuple[SequenceDiagram | LineGraph, ...] = (*self.sequence, *self.graph)
        return {drawing.name: drawing for drawing in drawings}

    def files(self) -> dict[str, str]:
        """Return the SVG of each by its path from the handout."""
        return {f"{FOLDER}/{name}.svg": each.drawn() for name, each in self.by_name.items()}

    def markdown(self, name: str) -> str:
        """The drawing as a handout shows it. Raises KeyError if there is none of that name."""
        return f"![{self.by_name[name].alt}]({FOLDER}/{name}.svg)"


def read_drawings(file: Path) -> LabDrawings:
    """The drawings of a file; none if it is missing. Raises UsageError with what is wrong in it."""
    if not file.is_file():
        return LabDrawings()
    drawings: LabDrawings = from_data(
        LabDrawings, tomllib.loads(file.read_text("utf-8")), f"{file.parent.name}/{file.name}"
    )
    return drawings
