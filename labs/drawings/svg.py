"""Pieces of SVG. A drawing is 360 wide, so that its letters are readable on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

WIDTH = 360
INK, PALE, BLUE, ORANGE, RED = "#222", "#9aa4ad", "#0072b2", "#e69f00", "#d55e00"
COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7")
"""Of lines, in their order: those of Okabe and Ito, which the colour-blind can tell apart."""
_STYLE = "font: 13px system-ui, sans-serif"


def document(height: float, title: str, parts: Iterable[str]) -> str:
    """A whole drawing with its title for those who hear it."""
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" style={quoteattr(_STYLE)}>'
    paper = f'<rect width="{WIDTH}" height="{height:g}" fill="white"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", paper, *parts, "</svg>", ""])


def line(
    start: tuple[float, float], end: tuple[float, float], colour: str = INK, dashed: bool = False
) -> str:
    """A straight line."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    ends = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}"'
    return f'<line {ends} stroke="{colour}" stroke-width="1.5"{dashes}/>'


def path(points: Sequence[tuple[float, float]], colour: str, dashed: bool = False) -> str:
    """A line through points."""
    dashes = ' stroke-dasharray="6 4"' if dashed else ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'


def text(place: tuple[float, float], words: str, anchor: str = "middle", colour: str = INK) -> str:
    """Words; `anchor` is start, middle or end."""
    where = f'x="{place[0]:g}" y="{place[1]:g}"'
    return f'<text {where} text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def arrow_head(tip: tuple[float, float], to_the_right: bool, colour: str = INK) -> str:
    """The end of an arrow."""
    back = -8 if to_the_right else 8
    x, y = tip
    corners = f"{x:g},{y:g} {x + back:g},{y - 5:g} {x + back:g},{y + 2:g}"
    return f'<polygon points="{corners}" fill="{colour}"/>'


def cross(place: tuple[float, float], colour: str = RED) -> str:
    """Where something is lost."""
    x, y = place
    return line((x - 5, y - 5), (x + 5, y + 5), colour) + line(
        (x - 5, y + 5), (x + 5, y - 5), colour
    )
