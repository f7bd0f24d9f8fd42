"""A table in the columns and the order of a published one."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

Cells = tuple[str, ...]


@dataclass(frozen=True)
class PublishedOrder:
    """`head` and `rows` are the original's; the published cells of each row, under
    `published_head`, stand beside.
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
