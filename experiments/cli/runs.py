"""`tcplab runs`, `compare`, `open`, `figure` and `bundle`."""

from __future__ import annotations

import webbrowser
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

import testbed
from experiments.cli.commands import ClearGroup
from experiments.cli.options import (
    folders_of_runs,
    json_option,
    options,
    out_option,
    print_results,
    run_or_sweep,
)
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_document, json_value

if TYPE_CHECKING:
    from experiments.sweep.store import Kept


@click.group(cls=ClearGroup)
def runs() -> None:
    """List, show and prune stored runs."""


@runs.command("list")
@json_option
@out_option
def list_command(as_json: bool, out: Path) -> None:
    """List runs and sweeps with their results, and the number of cached points."""
    from experiments.reporting.browsing import folders, runs_table

    if as_json:
        print_results(folders(out))
        return
    _require_folder(out)
    console, table = Console(), runs_table(out)
    if table.rows:
        console.print(table)
    else:
        click.echo(f"{out} has no run yet. A first one: ./tcplab run sack")
    if not (out / "points.sqlite").exists():
        return
    from experiments.sweep.store import results

    with results(out) as memory:
        kept = memory.listed()
    usable = _usable(kept)
    states = ("complete", "unproved", "failed")
    table = Table("points of sweeps", *states, "of this tcplab and lab")
    for experiment in sorted({point.experiment for point in kept}):
        mine = [point for point in kept if point.experiment == experiment]
        counts = Counter(point.status for point in mine)
        now = sum(point.key in usable for point in mine)
        table.add_row(experiment, *(f"{counts[state]:,}" for state in states), f"{now:,}")
    console.print(table)


def _require_folder(out: Path) -> None:
    if not out.is_dir():
        remedy = "Name the folder of runs with --out, or make a first run: ./tcplab run sack"
        raise UsageError(f"There is no folder {out}.", remedy)


def _usable(kept: list[Kept]) -> set[str]:
    """Return the keys of points that this code and lab would reproduce; all without a ready lab."""
    from experiments.spec import DEFAULT_KERNEL
    from experiments.study.grid import KERNEL
    from experiments.sweep.point import origin
    from testbed.lab.kernel.choice import chosen
    from testbed.lab.ready import lab_if_ready

    current = set()
    made = {(point.origin, point.combination.get(KERNEL, DEFAULT_KERNEL)) for point in kept}
    for source, kernel in made:
        try:
            ready = lab_if_ready(chosen(kernel))
            if ready is None or source == origin(ready, source.measures):
                current.add(source)
        except (ModuleNotFoundError, TcplabError):
            pass  # measured by a module, or on a kernel, that is gone
    return {point.key for point in kept if point.origin in current}


@runs.command("show")
@click.argument("which", metavar="FOLDER|KEY", shell_complete=folders_of_runs)
@out_option
def show_command(which: str, out: Path) -> None:
    """Print the manifest of a run without its files, or a point of a sweep by its key."""
    from experiments.sweep.store import FILE, not_found, results

    manifest = Path(which, "manifest.json")
    if manifest.exists():
        shown = json_value(manifest.read_text())
        shown.pop("files", None)
    elif not (out / FILE).exists():
        raise not_found(which)
    else:
        with results(out) as memory:
            kept, record = memory.single(which)
        shown = {"key": kept.key, "experiment": kept.experiment, "set": kept.combination}
        shown |= {"seed": kept.seed, "finished": kept.finished} | record
    click.echo(json_document(shown))


@runs.command("gc")
@options("runs gc")
def gc_command(yes: bool, out: Path) -> None:
    """Remove cached points that cannot be reused: failed, or of another tcplab or lab."""
    from experiments.sweep.store import results

    if not (out / "points.sqlite").exists():
        raise TcplabError(f"{out} keeps no points of sweeps.", "Name another folder with --out.")
    with results(out) as memory:
        kept = memory.listed()
        usable = _usable([point for point in kept if point.status != "failed"])
        useless = [point.key for point in kept if point.key not in usable]
        click.echo(f"Points known: {len(kept):,}. Not reusable: {len(useless):,}.")
        if useless and (yes or click.confirm("Forget these?")):
            memory.forget(useless)
            click.echo("Forgotten.")


_FORMAT = 1


@click.command()
@click.argument("which", metavar="RUN|POINT...", nargs=-1, shell_complete=folders_of_runs)
@json_option
@out_option
def compare(which: tuple[str, ...], as_json: bool, out: Path) -> None:
    """Compare runs, or points of sweeps: settings, results, curves.

    RUN is a folder, such as runs/sack/latest; POINT the beginning of a point's key (column `point`
    of a sweep's rows.csv), which stands for all seeds of its settings.
    """
    from experiments.reporting.browsing import compare_sides

    comparison, page = compare_sides(which, out, Console(stderr=as_json))
    if as_json:
        about = {"format": _FORMAT, "tcplab": testbed.VERSION, "page": str(page)}
        click.echo(json_document(about | comparison.data))


@click.command("open")
@options("open")
def open_index(no_browser: bool, out: Path) -> None:
    """Show all runs in a browser, to search and compare them."""
    from experiments.reporting.browsing import write_index

    _require_folder(out)
    page = write_index(out).resolve()
    click.echo(page)
    if not no_browser and not webbrowser.open(page.as_uri()):
        click.echo("No browser could be started: open that file in one.", err=True)


@click.command()
@run_or_sweep
@options("figure")
def figure(folder: Path, kind: str, out: Path, **chosen: Any) -> None:
    """Draw a figure of a run or sweep for a paper: PDF, SVG, PNG, PGF, or a table.

    Fonts are embedded, and the same data gives the same bytes. What is drawn is next to the figure
    as CSV.
    """
    from experiments.reporting import studies

    studies.require_ending(kind, out)
    for file in studies.figure(folder, kind, **chosen).save(out):
        click.echo(file)


@click.command()
@run_or_sweep
@options("bundle")
def bundle(folder: Path, out: Path | None) -> None:
    """Pack a run or sweep as an artefact that repeats and compares itself.

    The archive has specs, seeds, digests of kernel and image, data, figures, licences and a script,
    which repeats everything with a release or a checkout and compares it byte by byte.
    """
    from experiments.reporting.bundle import pack

    click.echo(pack(folder, out))
