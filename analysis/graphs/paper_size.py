"""Widths and formats of figures for papers."""

from __future__ import annotations

from dataclasses import dataclass, replace

WIDTHS = {"ieee": (3.5, 7.16), "acm": (3.33, 7.0)}
"""Inches of one column and of the text's width: IEEE's transactions, ACM's acmart sigconf."""
FORMATS = ("pdf", "svg", "png", "pgf")
PANEL = 1.5
"""Inches of height of a panel."""
PAGE = 8.5
"""Inches of all rows of panels at most; a legend, labels and a caption fill the page."""


@dataclass(frozen=True)
class PaperSize:
    """The `paper` (ieee, acm), how many of its `columns` a figure takes, and panels in a row.

    With `across` each quantity begins a row.
    """

    paper: str = "ieee"
    columns: int = 1
    across: int | None = None

    @property
    def inches(self) -> float:
        return WIDTHS[self.paper][self.columns - 1]

    def in_rows(self, panels: int, quantities: int) -> PaperSize:
        """Return the size whose rows hold so many panels of each quantity."""
        return replace(self, across=self.fitting(panels, 2 * self.columns, quantities))

    def fitting(self, panels: int, least: int, quantities: int = 1) -> int:
        """Return the panels of a row: more than `least` if the rows do not fit a page."""
        most = 2 + self.columns
        rows = {across: -(-panels // across) for across in range(least, most + 1)}
        fit = (across for across, down in rows.items() if down * quantities * PANEL <= PAGE)
        return -(-panels // rows[next(fit, most)])
