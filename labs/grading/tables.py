"""CSV tables: new ones, and those of course systems.

In a course system's table only the cells that change are new bytes. New cells that a
spreadsheet would take for a formula get an apostrophe in front (OWASP, CSV injection). Where
numbers have a decimal comma, spreadsheets separate cells by semicolons, and there quotation marks
within a line mean little: what follows a semicolon is treated as another cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs.definition.answers import byte_order_mark
from topologies.errors import UsageError

_FORMULA = r"[=+\-@|%\uff1d\uff0b\uff0d\uff20]"
"""Characters that begin a formula; the last four are full-width ones of East Asian keyboards."""
_BEGINS_FORMULA = re.compile(rf"^(?={_FORMULA})|(?<=;)(?=[\s\"]*{_FORMULA})")
"""The places for an apostrophe."""
_QUOTED = re.compile(r"[,;\"]")


def cell(value: Any) -> str:
    """Return a cell that no spreadsheet takes for a formula. Numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}"
    return _BEGINS_FORMULA.sub("'", " ".join(str(value).split()))


def table(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table, separated by commas."""
    return "".join(f"{','.join(map(_written, row))}\n" for row in (heading, *rows))


def _written(value: Any) -> str:
    """Return a cell, in quotation marks if a comma, a semicolon or such a mark is in it."""
    text = cell(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


@dataclass(frozen=True)
class FilledTable:
    """A table for a course system, and sentences for the instructor who imports it."""

    content: bytes
    notices: tuple[str, ...] = ()


@dataclass
class ForeignTable:
    """A table of a course system. `rows` hold cells as written, quotation marks included."""

    rows: list[list[str]]
    ends: list[str]
    """What ends each row: the characters of its line end."""
    delimiter: str
    mark: bytes
    encoding: str

    @property
    def heading(self) -> list[str]:
        """The texts of the first row."""
        return self.values(0) if self.rows else []

    def value(self, row: int, column: int) -> str:
        """Return the text of a cell; empty if the row ends before it."""
        return _unquoted(self.rows[row][column]) if column < len(self.rows[row]) else ""

    def values(self, row: int) -> list[str]:
        """Return the texts of a row."""
        return [_unquoted(raw) for raw in self.rows[row]]

    def put(self, row: int, column: int, text: str) -> None:
        """Another text for a cell that is there, in quotation marks if it needs them."""
        plain = re.fullmatch(r"[\w.]*", text)
        self.rows[row][column] = text if plain else '"' + text.replace('"', '""') + '"'

    def content(self) -> bytes:
        """The file. What the encoding does not have is written as in HTML, such as &#8217;."""
        lines = zip(self.rows, self.ends, strict=True)
        text = "".join(self.delimiter.join(row) + end for row, end in lines)
        return self.mark + text.encode(self.encoding, "xmlcharrefreplace")


def read_foreign_table(file: Path, remedy: str) -> ForeignTable:
    """Return the table in a file. Raises UsageError if it cannot be read."""
    try:
        return foreign_table(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", remedy) from None


def foreign_table(content: bytes) -> ForeignTable:
    """Return a table, separated by what its first line has most of: commas, semicolons or tabs."""
    text, mark, encoding = _decoded(content)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    sheet = ForeignTable([], [], delimiter, mark, encoding)
    row: list[str] = []
    for match in _pattern(delimiter).finditer(text):
        raw, end = match.groups()
        row.append(raw)
        if end == delimiter:
            continue
        sheet.rows.append(row)
        sheet.ends.append(end)
        row = []
        if match.end() == len(text):
            break
    return sheet


def _pattern(delimiter: str) -> re.Pattern[str]:
    """Return a cell, quoted (RFC 4180) or not, and what ends it."""
    apart = re.escape(delimiter)
    return re.compile(rf'((?:"(?:[^"]|"")*")?[^{apart}\r\n]*)({apart}|\r\n|\n|\r|\Z)')


def _decoded(content: bytes) -> tuple[str, bytes, str]:
    """Text, byte order mark and encoding; latin-1 takes every byte and gives it back."""
    mark, encoding = byte_order_mark(content)
    try:
        return content.removeprefix(mark).decode(encoding), mark, encoding
    except UnicodeDecodeError:
        return content.decode("latin-1"), b"", "latin-1"


def _unquoted(raw: str) -> str:
    text = raw.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"').strip()
    return text
