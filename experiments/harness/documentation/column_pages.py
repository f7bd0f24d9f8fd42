"""The reference of columns: what a run, a sweep and the analysis of a capture give, with units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.agreement.policy import policy
from analysis.flows.columns import KINDS, OURS, PACKETS, TCPTRACE, Column
from analysis.measures.metrics import columns, measures
from experiments.harness.documentation.table_cells import cell

_CONNECTIONS = (
    "`tcplab analyze --write csv,parquet` writes a row for each connection, `tcplab.read` gives the"
    " same as a frame. Columns of a direction come twice, ending in `_a2b` (what a sent) and"
    " `_b2a`."
)

_BESIDE = (
    "The last column says of each whether tcptrace 6.6.7 has the same value, and if not, which is"
    " right and why; `--tcptrace-compatible` gives tcptrace's."
)


def column_pages() -> dict[str, str]:
    """A page for each kind of table."""
    return {
        "reference/columns/sweep.md": _page("Columns of a sweep", _ROWS, _metrics()),
        "reference/columns/measures.md": _page("Measures of a run", _MEASURES, _measures()),
        "reference/columns/connections.md": _page(
            "Columns of a connection", _CONNECTIONS, _columns(OURS)
        ),
        "reference/columns/tcptrace.md": _page(
            "Columns of a connection that tcptrace has too",
            f"{_CONNECTIONS} {_BESIDE}",
            _beside_tcptrace(TCPTRACE),
        ),
        "reference/columns/packets.md": _page(
            "Columns of a packet", _PACKETS, [*_columns(PACKETS), "", *_kinds()]
        ),
    }


_ROWS = (
    "`rows.csv` of a sweep has a row for each flow, condition, seed and"
    " combination: `point` (the key), each varied name (and, if it is a quantity, the number of its"
    " base unit), `condition`, `flow`, `seed`, `network` (the verdict), and these."
)
_MEASURES = (
    "A headline's `metric` is one of these, `metric.NAME` with a column of a sweep, or `nstat.NAME`"
    " with a counter of the kernel."
    " `tcplab.report(folder).results` gives what was measured, trial by trial."
)
_PACKETS = "`tcplab analyze --write packets` and `tcplab.read(file, packets=True)` give these."


def _page(title: str, introduction: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", introduction, "", *lines]) + "\n"


def _metrics() -> Iterator[str]:
    yield from ("| column | unit | of | meaning |", "| --- | --- | --- | --- |")
    for metric in columns().values():
        of = "the run" if metric.of_run else "a flow"
        yield f"| `{metric.name}` | {metric.unit} | {of} | {metric.title} |"


def _measures() -> Iterator[str]:
    yield from ("| measure | unit | read from |", "| --- | --- | --- |")
    for key in measures():
        yield f"| `{key.name}` | {key.unit} | {key.source} |"


def _columns(columns: Iterable[Column]) -> Iterator[str]:
    yield from ("| column | type | unit | meaning |", "| --- | --- | --- | --- |")
    for column in columns:
        name = f"{column.name}_a2b, _b2a" if column.directed else column.name
        yield f"| `{name}` | {column.type} | {column.unit} | {cell(column.definition)} |"


def _beside_tcptrace(columns: Sequence[Column]) -> Iterator[str]:
    head, line, *rows = _columns(columns)
    yield from (f"{head} tcptrace 6.6.7 |", f"{line} --- |")
    for column, row in zip(columns, rows, strict=True):
        yield f"{row} {cell(policy(column.name).sentence)} |"


def _kinds() -> Iterator[str]:
    yield from ("## Kinds of packets", "", "| number | kind | meaning |", "| --- | --- | --- |")
    for number, (kind, meaning) in enumerate(KINDS):
        yield f"| {number} | `{kind}` | {meaning} |"
