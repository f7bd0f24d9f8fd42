"""The generated reference of columns and measures, with units, and cells of Markdown's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from analysis.flows.columns import KINDS, OURS, PACKETS, TCPTRACE, Column
from analysis.measures.metrics import columns, measures

_CONNECTIONS = (
    "`tcplab analyze --write csv,parquet` writes a row for each connection; `tcplab.read` gives a"
    " frame. Columns of a direction exist twice: `_a2b` for data of a, and `_b2a`."
)
_COMPATIBLE = (
    " The last column compares the value with that of tcptrace 6.6.7; `--tcptrace-compatible`"
    " gives tcptrace's value."
)
_PACKETS = "`tcplab analyze --write packets` and `tcplab.read(file, packets=True)` give these."
_ROWS = (
    "`rows.csv` of a sweep has a row for each flow, condition, seed and combination. The first"
    " columns are `point` (the key), the factors (quantities also as a number of their base unit),"
    " `condition`, `flow`, `seed` and `network` (the verdict). These columns follow:"
)
_MEASURES = (
    "A headline's `metric` is one of these, `metric.NAME` with a column of a sweep, or `nstat.NAME`"
    " with a counter of the kernel. `tcplab.report(folder).results` has the values by trial."
)


def cell(text: str) -> str:
    """Return the text on one line, without meaning for Markdown except that of `code`."""
    plain = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(" ".join(text.split()), quote=False))
    return re.sub(r"[|*\[\]_]", lambda sign: f"&#{ord(sign[0])};", plain)


def column_pages() -> dict[str, str]:
    """Return a page for each kind of table."""
    pages = {
        "sweep": ("Columns of a sweep", _ROWS, _metrics()),
        "measures": ("Measures of a run", _MEASURES, _measures()),
        "connections": ("Columns of a connection", _CONNECTIONS, _columns(OURS)),
        "tcptrace": ("Columns shared with tcptrace", _CONNECTIONS + _COMPATIBLE, _compared()),
        "packets": ("Columns of a packet", _PACKETS, [*_columns(PACKETS), "", *_kinds()]),
    }
    return {
        f"reference/columns/{name}.md": "\n".join([f"# {title}", "", introduction, "", *lines, ""])
        for name, (title, introduction, lines) in pages.items()
    }


def _metrics() -> Iterator[str]:
    yield from ("| column | unit | of | meaning |", "| --- | --- | --- | --- |")
    for metric in columns().values():
        of = "the run" if metric.of_run else "a flow"
        yield f"| `{metric.name}` | {metric.unit} | {of} | {metric.title} |"


def _measures() -> Iterator[str]:
    yield from ("| measure | unit | source |", "| --- | --- | --- |")
    for key in measures():
        yield f"| `{key.name}` | {key.unit} | {key.source} |"


def _columns(columns: Iterable[Column]) -> Iterator[str]:
    yield from ("| column | type | unit | meaning |", "| --- | --- | --- | --- |")
    for column in columns:
        name = f"{column.name}_a2b, _b2a" if column.directed else column.name
        yield f"| `{name}` | {column.type} | {column.unit} | {cell(column.definition)} |"


def _compared() -> Iterator[str]:
    head, line, *rows = _columns(TCPTRACE)
    yield from (f"{head} tcptrace 6.6.7 |", f"{line} --- |")
    for column, row in zip(TCPTRACE, rows, strict=True):
        yield f"{row} {cell(column.beside_tcptrace)} |"


def _kinds() -> Iterator[str]:
    yield from ("## Kinds of packets", "", "| number | kind | meaning |", "| --- | --- | --- |")
    for number, (kind, meaning) in enumerate(KINDS):
        yield f"| {number} | `{kind}` | {meaning} |"
