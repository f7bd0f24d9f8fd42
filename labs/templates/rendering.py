"""Pages and texts from templates, and drawings of handouts from a lab's drawings.toml.

Jinja escapes what strangers wrote. Markdown is rendered without raw HTML. Graphs show expected
lines by the rules that TCP follows; their values are examples, so axes have no numbers. A drawing
is 360 wide, to be readable on a phone."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape

import jinja2
from markdown_it import MarkdownIt

import labs
from analysis import rendering
from analysis.rendering import with_code
from labs.definition.catalogue import folder_of, names, table
from topologies.data import from_data
from topologies.errors import UsageError

_FRAME = jinja2.PackageLoader(rendering.__name__)
TEMPLATES = Path(__file__).resolve().parent


@cache
def _environment(known: tuple[str, ...]) -> jinja2.Environment:
    loaders: dict[str, jinja2.BaseLoader] = {
        **{name: jinja2.FileSystemLoader(folder_of(name)) for name in known},
        "labs": jinja2.PackageLoader(labs.__name__),
    }
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PrefixLoader(loaders), _FRAME]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=lambda name: bool(name and name.endswith(".html")),
    )
    environment.filters |= {"number": _number, "xml": escape, "code": with_code}
    return environment


def render(name: str, context: Mapping[str, Any]) -> str:
    return _environment(tuple(names())).get_template(f"labs/{name}").render(context)


def page_with_script(name: str, script: str, context: dict[str, Any]) -> str:
    """A page that may run this one script: its digest is in the page's Content-Security-Policy."""
    source = render(script, {})
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return render(name, context | {"script": source, "script_digest": digest})


def markdown_page(title: str, text: str, language: str, pictures: Mapping[str, str]) -> str:
    """Return a page of our Markdown, which holds `pictures`, SVG by the paths in the text."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for path, svg in pictures.items():
        data = base64.b64encode(svg.encode()).decode()
        body = body.replace(f'src="{path}"', f'src="data:image/svg+xml;base64,{data}"')
    return render("text.html", {"title": title, "body": body, "language": language})


def _number(value: float | None) -> str:
    if value is None:
        return "\N{EN DASH}"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.3g}"


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
            remedy = "Give it points or a rule."
            raise UsageError(f"The line '{self.label}' cannot be drawn.", remedy)

    def places(self) -> tuple[tuple[float, float], ...]:
        if self.rule == "points":
            return self.points
        times = [step / _STEPS for step in range(_STEPS + 1)]
        return tuple((time, self._value(time % self.period / self.period)) for time in times)

    def _value(self, phase: float) -> float:
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


FOLDER = "drawings"


@dataclass(frozen=True)
class LabDrawings:
    sequence: tuple[SequenceDiagram, ...] = ()
    graph: tuple[LineGraph, ...] = ()

    @property
    def by_name(self) -> dict[str, SequenceDiagram | LineGraph]:
        drawings: tuple[SequenceDiagram | LineGraph, ...] = (*self.sequence, *self.graph)
        return {drawing.name: drawing for drawing in drawings}

    def files(self) -> dict[str, str]:
        """Return the SVG of each by its path from the handout."""
        return {
            f"{FOLDER}/{name}.svg": render("drawing.svg.j2", {"drawing": each}) + "\n"
            for name, each in self.by_name.items()
        }

    def markdown(self, name: str) -> str:
        """The drawing as a handout shows it. Raises KeyError if there is none of that name."""
        return f"![{self.by_name[name].alt}]({FOLDER}/{name}.svg)"


def read_drawings(file: Path) -> LabDrawings:
    """The drawings of a file; none if it is missing. Raises UsageError with what is wrong in it."""
    if not file.is_file():
        return LabDrawings()
    drawings: LabDrawings = from_data(LabDrawings, table(file), f"{file.parent.name}/{file.name}")
    return drawings
