"""Tables of runs and sweeps for papers: LaTeX in blocks as wide as the paper's columns, and CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from analysis.graphs.paper_size import PaperSize
from analysis.rendering import page_files
from analysis.reporting.tables import Listing
from analysis.tabular.table import csv_lines


@dataclass(frozen=True)
class PaperTable:
    """A table: `save` writes it as LaTeX and as CSV; `keys` columns say what a row is."""

    listing: Listing
    size: PaperSize = field(default_factory=PaperSize)
    keys: int = 1

    @property
    def data(self) -> str:
        """The rows as CSV."""
        return csv_lines([self.listing.head, *self.listing.rows])

    @property
    def latex(self) -> str:
        """The table as LaTeX, with the rules of booktabs; the caption stays the author's.

        Columns that are wider than the paper's go on in a block below.
        """
        about = " ".join(map(_escaped, (f"{self.listing.title}.", *self.listing.notes)))
        blocks = map(_latex_block, self._blocks())
        return _LATEX.format(about=about, blocks="\n\\par\\medskip\n".join(blocks))

    def _blocks(self) -> Iterator[list[Column]]:
        """Yield columns that fit side by side, behind the columns that say what a row is."""
        columns = list(zip(self.listing.head, *self.listing.rows, strict=True))
        keys, others = columns[: self.keys], columns[self.keys :]
        block, room = list(keys), self.size.inches * 72.27
        for column in others:
            if len(block) > len(keys) and sum(map(_points, [*block, column])) > room:
                yield block
                block = list(keys)
            block.append(column)
        yield block

    def files(self, stem: str) -> list[tuple[str, bytes]]:
        """Return both forms as names and contents."""
        return [(f"{stem}.tex", self.latex.encode()), (f"{stem}.csv", self.data.encode())]

    def save(self, file: Path | str) -> list[Path]:
        """Write a .tex and a .csv next to it."""
        place = Path(file)
        return written(place, self.files(place.stem))

    def _repr_html_(self) -> str:
        head, *rows = (
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
            for tag, cells in (("th", self.listing.head), *(("td", r) for r in self.listing.rows))
        )
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
}


def _escaped(text: str) -> str:
    """Return text with all that LaTeX interprets escaped."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


Column = tuple[str, ...]
"""The texts of a column, its heading first."""
_LATEX = """\
% A table by tcplab. In the preamble: \\usepackage{{booktabs}}
% {about}
\\begingroup\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}\\parindent0pt
{blocks}
\\endgroup
"""
_LETTER, _GAP = 4.5, 6.0
"""Points of a letter of LaTeX's footnotesize, and between two columns."""
_LONGEST_LINES = 14, 28
"""Letters of a line in a heading and in a cell."""


def _lines(column: Column) -> list[list[str]]:
    """Return each cell's lines."""
    heading, cell = _LONGEST_LINES
    return [
        textwrap.wrap(text, cell if at else heading, break_long_words=False) or [""]
        for at, text in enumerate(column)
    ]


def _points(column: Column) -> float:
    return max(len(line) for cell in _lines(column) for line in cell) * _LETTER + _GAP


def _latex_block(columns: list[Column]) -> str:
    """Return a tabular of these columns."""
    places = "l" + "r" * (len(columns) - 1)
    head, *rows = zip(*map(_lines, columns), strict=True)
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{places}}}",
            "\\toprule",
            _latex_row(head, "b", places),
            "\\midrule",
            *(_latex_row(row, "t", places) for row in rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


def _latex_row(cells: Sequence[list[str]], at: str, places: str) -> str:
    return " & ".join(_stacked(*cell, at) for cell in zip(cells, places, strict=True)) + r" \\"


def _stacked(lines: list[str], place: str, at: str) -> str:
    """Return lines one below the other, the last or the first at the height of the row."""
    text = r"\\".join(map(_escaped, lines))
    stack = f"\\begin{{tabular}}[{at}]{{@{{}}{place}@{{}}}}{text}\\end{{tabular}}"
    return stack if len(lines) > 1 else text


def written(place: Path, files: Sequence[tuple[str, bytes]]) -> list[Path]:
    """Write the files next to `place` and return their paths."""
    page_files.write(place.parent, files, "figure")
    return [place.parent / name for name, _ in files]
