"""The drawings of a lab in a language, from its drawings.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from labs.drawings.line_graph import LineGraph
from labs.drawings.sequence_diagram import SequenceDiagram
from topologies.foundation.data import from_data

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
        """The SVG of each by its path beside the handout."""
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
