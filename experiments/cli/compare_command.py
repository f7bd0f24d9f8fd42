"""`tcplab compare` and `tcplab open`: runs beside each other, and the page of all runs."""

from __future__ import annotations

import json
import string
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

import testbed
from experiments.cli.completion import folders_of_runs
from experiments.cli.messages import one_clear_message
from experiments.cli.options_of_run import out_option
from experiments.cli.result_document import AS_JSON
from topologies.errors import UsageError

if TYPE_CHECKING:
    from analysis.pages.comparison.compared_sides import ComparedSide
    from experiments.sweep.point_store import Kept, PointStore

_FORMAT = 1
_MOST = len(string.ascii_uppercase)
_FOLDER = "comparisons"


@click.command()
@click.argument("which", metavar="RUN|POINT...", nargs=-1, shell_complete=folders_of_runs)
@click.option("--json", "as_json", is_flag=True, help=AS_JSON)
@out_option
def compare(which: tuple[str, ...], as_json: bool, out: Path) -> None:
    """Put runs, or points of sweeps, beside each other: settings, results, curves.

    RUN is a folder, such as runs/sack/latest; POINT the beginning of a point's key (column `point`
    of a sweep's rows.csv), which stands for all seeds of its settings.
    """
    with one_clear_message():
        from analysis.pages.comparison.comparison import compared
        from analysis.pages.comparison.comparison_page import print_comparison, write_page

        comparison = compared(_sides(which, out))
        page = write_page(comparison, out / _FOLDER, _page_name(comparison.sides))
        console = Console(stderr=as_json)
        print_comparison(comparison, console)
        console.print(f"Page: {page}", highlight=False, soft_wrap=True)
        if as_json:
            about = {"format": _FORMAT, "tcplab": testbed.VERSION, "page": str(page)}
            click.echo(json.dumps(about | comparison.data, indent=1))


def _page_name(sides: Sequence[ComparedSide]) -> str:
    """Of what is compared, so that the same comparison has the same page."""
    names = (side.name.replace("/", "-").replace(" ", "-") for side in sides)
    return "_".join(names)[:200] + ".html"


def _sides(which: Sequence[str], out: Path) -> list[ComparedSide]:
    if not 2 <= len(which) <= _MOST:
        raise UsageError(
            f"{len(which)} to compare: it takes two to {_MOST}.",
            "Name runs or points: ./tcplab compare runs/sack/A runs/sack/B.",
        )
    return [_side(letter, one, out) for letter, one in zip(string.ascii_uppercase, which)]  # noqa: B905


def _side(letter: str, named: str, out: Path) -> ComparedSide:
    from analysis.pages.comparison.compared_sides import side_of_run

    for folder in (Path(named), out / named):
        if (folder / "sweep.json").exists():
            raise UsageError(
                f"'{named}' is a sweep.",
                "Name points of it by their keys, which are in the column `point` of rows.csv.",
            )
        if (folder / "manifest.json").exists():
            return side_of_run(letter, folder)
    return _side_of_points(letter, named, out)


def _side_of_points(letter: str, beginning: str, out: Path) -> ComparedSide:
    from analysis.pages.comparison.compared_sides import side_of_points
    from experiments.sweep.point_store import FILE, results

    if not (out / FILE).exists():
        raise _nothing(beginning)
    with results(out) as memory:
        matches = [kept for kept, _ in memory.found(beginning)]
        if len(matches) != 1:
            raise _nothing(beginning, len(matches))
        kept = matches[0]
        rows = [(each.seed, _rows(memory, each)) for each in _alike(memory, kept)]
    settings = {"experiment": kept.experiment, **kept.combination}
    return side_of_points(letter, kept.key[:12], settings, rows)


def _alike(memory: PointStore, kept: Kept) -> list[Kept]:
    """The points that differ from `kept` in nothing but the seed, and are complete."""
    asked = (kept.experiment, kept.combination, kept.origin)
    return [
        each
        for each in memory.listed()
        if (each.experiment, each.combination, each.origin) == asked and each.status == "complete"
    ]


def _rows(memory: PointStore, kept: Kept) -> list[dict[str, object]]:
    ((_, record),) = memory.found(kept.key)
    rows: list[dict[str, object]] = record["rows"]
    return rows


def _nothing(named: str, count: int = 0) -> UsageError:
    problem = f"{count} points begin with" if count else "There is no run and no point"
    return UsageError(
        f"{problem} '{named[:60]}'.",
        "./tcplab runs list shows all runs; keys of points are in the column `point` of rows.csv.",
    )


@click.command("open")
@click.option("--no-browser", is_flag=True, help="Make the page and print where it is.")
@out_option
def open_index(no_browser: bool, out: Path) -> None:
    """Show all runs in a browser: search them, and tick those to compare."""
    with one_clear_message():
        from analysis.pages.index.index_page import write_index

        page = write_index(out).resolve()
        click.echo(page)
        if not no_browser and not webbrowser.open(page.as_uri()):
            click.echo("No browser could be started: open that file in one.", err=True)
