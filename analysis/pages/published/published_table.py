"""Published numbers beside a run's or a sweep's own, as its page and the terminal show them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rich.table import Table
from rich.text import Text

from analysis.pages.published.reproduction_rows import TableLine, line, numbered, parts, reasons
from analysis.statistics.judgement import JudgedRows


@dataclass(frozen=True)
class PublishedNumbers(JudgedRows):
    """The numbers with a verdict each; `note` is what holds for all of them."""

    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def lines(self) -> list[TableLine]:
        return [line(row, self.reasons) for row in self.rows]

    @cached_property
    def reasons(self) -> list[str]:
        """Why rows differ, each once."""
        return reasons(self.rows)

    @property
    def sentence(self) -> str:
        """How many of them agree."""
        those = numbered(len(self.rows), "number was", "numbers were")
        return f"With these settings {those} published: {', '.join(parts(self.counts))}."

    def table(self, most: int) -> Table:
        """For the terminal: the first `most` numbers, ours in both settings, the verdicts."""
        table = Table(title=Text("Published, and ours"))
        ways = [
            name for name, has in (("its time", self.has_period), ("today", self.has_today)) if has
        ]
        for at, name in enumerate(("Where", "Published", *(f"Ours, {way}" for way in ways))):
            table.add_column(name, justify="right" if at == 1 else "left")
        for shown in self.lines[:most]:
            cells = [
                cell
                for cell, has in ((shown.period, self.has_period), (shown.today, self.has_today))
                if has
            ]
            verdicts = (Text(f"{cell.median} ({cell.verdict})") for cell in cells)
            table.add_row(
                Text(f"{shown.where}, {shown.quantity}"), Text(shown.published), *verdicts
            )
        if len(self.lines) > most:
            table.add_row(Text(f"... and {len(self.lines) - most} more on the page"))
        return table
