"""Runs by their folders and points of sweeps by their keys, compared and listed."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.pages.comparison import (
    ComparedSide,
    SideComparison,
    compared,
    print_comparison,
    side_of_points,
    side_of_run,
    write_page,
)
from analysis.pages.index import write_index as write_index
from analysis.records.run_index import index
from experiments.harness.sweep.store import FILE, not_found, results
from topologies.foundation.errors import UsageError

_MOST = len(string.ascii_uppercase)
_FOLDER = "comparisons"


def compare_sides(which: Sequence[str], out: Path, console: Console) -> tuple[SideComparison, Path]:
    """Print the comparison and write its page. Raises UsageError for an unknown run or point."""
    comparison = compared(_sides(which, out))
    # A page named by its sides, so that a comparison keeps its page.
    names = (side.name.replace("/", "-").replace(" ", "-") for side in comparison.sides)
    page = write_page(comparison, out / _FOLDER, "_".join(names)[:200] + ".html")
    print_comparison(comparison, console)
    console.print(f"Page: {page}", highlight=False, soft_wrap=True)
    return comparison, page


def _sides(named: Sequence[str], out: Path) -> list[ComparedSide]:
    which = _once(named, out)
    if not 2 <= len(which) <= _MOST:
        raise UsageError(
            f"compare needs 2 to {_MOST} different runs; got {len(which)}.",
            "Name runs or points: ./tcplab compare runs/sack/A runs/sack/B.",
        )
    return [_side(letter, one, out) for letter, one in zip(string.ascii_uppercase, which)]  # noqa: B905


def _once(named: Sequence[str], out: Path) -> list[str]:
    """Drop repeated folders: runs/sack/* names the newest also as `latest`."""
    firsts: dict[Path, str] = {}
    for one in named:
        places = [folder.resolve() for folder in _folders(one, out) if folder.is_dir()]
        firsts.setdefault(places[0] if places else Path(one), one)
    return list(firsts.values())


def _folders(named: str, out: Path) -> tuple[Path, Path]:
    return Path(named), out / named


def _side(letter: str, named: str, out: Path) -> ComparedSide:
    for folder in _folders(named, out):
        if (folder / "sweep.json").exists():
            raise UsageError(
                f"'{named}' is a sweep.",
                "Name points of it by their keys, which are in the column `point` of rows.csv.",
            )
        if (folder / "manifest.json").exists():
            return side_of_run(letter, folder)
    return _side_of_points(letter, named, out)


def _side_of_points(letter: str, beginning: str, out: Path) -> ComparedSide:
    if not (out / FILE).exists():
        raise not_found(beginning)
    with results(out) as memory:
        kept, _ = memory.single(beginning)
        asked = (kept.experiment, kept.combination, kept.origin)
        alike = [
            each
            for each in memory.listed()
            if (each.experiment, each.combination, each.origin) == asked
            and each.status == "complete"
        ]
        records = memory.records(each.key for each in alike)
        rows = [(each.seed, records[each.key]["rows"]) for each in alike]
    settings = {"experiment": kept.experiment, **kept.combination}
    return side_of_points(letter, kept.key[:12], settings, rows)


def folders(out: Path) -> list[Path]:
    """Return the folder of every run, the newest first."""
    return [out / line.name for line in index(out)]


def runs_table(out: Path) -> Table:
    """Make the table of runs; the first column is as wide as the longest name."""
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
