"""All runs of a store: the page of them, and the table of the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from analysis.pages.index.index_page import write_index
from analysis.records.run_index import index

__all__ = ["folders", "runs_table", "write_index"]


def folders(out: Path) -> list[Path]:
    """The folder of every run, the newest first."""
    return [out / line.name for line in index(out)]


def runs_table(out: Path) -> Table:
    """An identifier is never broken: what follows it gives way."""
    lines = index(out)
    table = Table(title=f"Runs in {out}", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    longest = max((len(line.name) for line in lines), default=0)
    table.add_column("run, and what was asked", min_width=longest)
    table.add_column("figure", max_width=12)
    for name in ("claim", "network"):
        table.add_column(name, min_width=9, max_width=12)
    for line in lines:
        seeds = f"{line.seeds:,} seeds" if line.seeds > 1 else ""
        asked = ", ".join(filter(None, (line.parameters, seeds)))
        state = line.network if line.status == "complete" else line.status
        told = (line.figure, line.verdict, state)
        table.add_row(f"{escape(line.name)}\n[dim]{escape(asked)}[/dim]", *map(escape, told))
    return table
