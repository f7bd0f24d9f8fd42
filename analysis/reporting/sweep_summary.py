"""What the page of a published study's own sweep has: a table in the order published, and more."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from analysis.graphs.layers import GraphGroup
from analysis.reporting.answers import Answer

Cells = tuple[str, ...]


@dataclass(frozen=True)
class PublishedOrder:
    """A table in the columns and the order of a published one.

    `head` and `rows` are the original's; the published cells of each row, under `published_head`,
    stand beside.
    """

    title: str
    head: Cells
    rows: tuple[Cells, ...]
    published_head: Cells
    published: tuple[Cells, ...]
    notes: tuple[str, ...]

    @property
    def csv(self) -> str:
        """Ours alone."""
        with io.StringIO() as file:
            csv.writer(file, lineterminator="\n").writerows([self.head, *self.rows])
            return file.getvalue()


@dataclass(frozen=True)
class SweepStudy:
    """The study's table, its graph and its answers, of a sweep that varies what the study did."""

    summary: PublishedOrder
    graphs: GraphGroup
    answers: tuple[Answer, ...]
