"""`analyze --columns`: what every column of connections and packets means."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.flows.columns import KINDS, OURS, PACKETS, TCPTRACE


def print_columns(console: Console) -> None:
    """Prints every column of connections and packets with its type, unit and definition."""
    for title, columns in (
        ("Connections, as tcptrace names them", TCPTRACE),
        ("Connections, ours", OURS),
        ("Packets", PACKETS),
    ):
        rows = [
            (
                column.name + ("_a2b, _b2a" if column.directed else ""),
                column.unit,
                column.definition,
            )
            for column in columns
        ]
        _definitions(title, rows, console)
    _definitions(
        "Kinds of packets",
        [(f"{at} {name}", "", text) for at, (name, text) in enumerate(KINDS)],
        console,
    )


def _definitions(title: str, rows: Sequence[tuple[str, str, str]], console: Console) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Name", overflow="fold", max_width=36)
    table.add_column("Unit")
    table.add_column("Meaning", ratio=1)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
