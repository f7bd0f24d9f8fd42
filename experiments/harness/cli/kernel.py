"""`tcplab kernel`: the kernels that hosts can run, and what is to be known of them.
`tcplab kernel compare`, `bisect` and `test`: what a kernel does otherwise, and since when."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Column, Table

from experiments.harness.cli.completion import kernels
from experiments.harness.cli.options import out_option, workers_option
from experiments.harness.running.lab import lab_on, ready_lab
from experiments.harness.running.report import make_page
from experiments.spec import DEFAULT_KERNEL
from testbed.lab.kernel.built import BuiltKernel, build, built_kernels, remove
from testbed.lab.kernel.choice import chosen
from testbed.lab.kernel.version import DEFAULT, all_series, kernel_version
from testbed.recipes.building import shown
from topologies.foundation.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from experiments.harness.kernels.cases import KernelCase
    from experiments.harness.sweep.run import PointRunner


@click.group("kernel")
def kernel() -> None:
    """List, build and compare the kernels that hosts can run in virtual time."""


@kernel.command("list")
def list_command() -> None:
    """List the kernels of the lab and those that you have built, without building any."""
    built = built_kernels()
    console = Console(file=sys.stdout)
    console.print(_versions(built))
    if own := [made for made in built if made.name not in all_series()]:
        console.print(_own(own))
    click.echo(
        "A tarball, a tree or FOLDER@REVISION can be named as well, and patches after a plus:"
        f" --kernel {DEFAULT}+mine.patch"
    )


def _versions(built: list[BuiltKernel]) -> Table:
    table = Table("--kernel", "Linux", "Source", "Built", "What it lacks", title="Kernels")
    current = {made.name: made for made in built if made.is_current}
    for series in all_series():
        version = kernel_version(series)
        made = current.get(series)
        size = f"yes, {made.size / 1e6:.0f} MB" if made else "no"
        table.add_row(series, version.version, version.origin, size, ", ".join(version.lacks))
    return table


def _own(built: list[BuiltKernel]) -> Table:
    name = Column("Name", overflow="fold")  # whole, for it is what `kernel remove` takes
    table = Table(name, "Linux", "Size", "SHA-256", "State", title="Others that are built")
    for made in built:
        state = "usable" if made.is_current else "of another tcplab, or its source has changed"
        size = f"{made.size / 1e6:.0f} MB"
        table.add_row(made.name or "?", made.release, size, made.digest[:12], state)
    return table


@kernel.command("build")
@click.argument("names", metavar="KERNEL...", nargs=-1, required=True, shell_complete=kernels)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="A linux-VERSION.tar.xz to build a version of the lab from.",
)
@click.option("--rebuild", is_flag=True, help="Build it even if it is built.")
def build_command(names: tuple[str, ...], source: Path | None, rebuild: bool) -> None:
    """Build kernels in advance; runs build missing ones."""
    for name in names:
        with shown(sys.stderr) as report:
            made = build(chosen(name), report, source, rebuild)
        click.echo(f"{made.name}: Linux {made.release}, SHA-256 {made.digest}")


@kernel.command("remove")
@click.argument("name", metavar="KERNEL", shell_complete=kernels)
def remove_command(name: str) -> None:
    """Remove a kernel that is built from the cache."""
    with shown(sys.stderr) as report:
        removed = remove(name, report)
    for made in removed:
        click.echo(f"Removed Linux {made.release} ({made.digest[:12]}).")


DIFFERENT = 3
"""The exit status if a difference is shown, which is no failure of the comparison."""
_LONGEST = 1800.0  # wall seconds of one point


def _seeds_option(number: int, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make the option --seeds with its default."""
    return click.option(
        "--seeds",
        type=click.IntRange(1, 1000),
        default=number,
        show_default=True,
        metavar="NUMBER",
        help=text,
    )


def _way(kernels: Iterable[str], cases: Iterable[KernelCase], workers: int | None) -> PointRunner:
    from experiments.harness.sweep.run import way_to_workers

    way = way_to_workers(ready_lab(kernels), [case.spec for case in cases], workers)
    return replace(way, wall_seconds=_LONGEST)


@kernel.command("compare")
@click.argument("old", metavar="KERNEL", shell_complete=kernels)
@click.argument("new", metavar="KERNEL", shell_complete=kernels)
@_seeds_option(12, "Seeds; fewer than the default cannot show a difference among so many figures.")
@click.option(
    "--only", "names", multiple=True, metavar="CASE", help="Only this case; may be repeated."
)
@click.option(
    "--scripts/--no-scripts",
    default=True,
    help="Run the kernels' own packetdrill scripts, if packetdrill is available.",
)
@workers_option
@out_option
def compare_command(
    old: str,
    new: str,
    seeds: int,
    names: tuple[str, ...],
    scripts: bool,
    workers: int | None,
    out: Path,
) -> None:
    """Run a standing set of experiments on two kernels and print the differences.

    Exits with 0 without a difference, 3 with one, 1 or 2 after a failure.
    """
    from experiments.harness.kernels.cases import chosen_cases
    from experiments.harness.kernels.compare import KernelComparison, KernelPair, carry_out
    from experiments.harness.sweep.progress import watching

    program = _program() if scripts and not names else None
    cases = chosen_cases(names)
    kernels = KernelPair(str(chosen(old)), str(chosen(new)))
    way = _way(kernels, cases, workers)
    with watching("compare") as watch:
        asked = KernelComparison(kernels, cases, range(1, seeds + 1))
        folder = carry_out(asked, out, way, watch, program)
    status = make_page("kernels", folder)
    raise SystemExit(status or _status(folder))


def _program() -> Path | None:
    """Return packetdrill, or print why it is missing and return None."""
    from testbed.lab.packetdrill.recipe import packetdrill

    try:
        with shown(sys.stderr) as report:
            return packetdrill(report)
    except TcplabError as error:
        click.echo(f"Without the kernels' own scripts: {error}", err=True)
        return None


def _status(folder: Path) -> int:
    from experiments.harness.kernels.compare import FILE

    content = json.loads((folder / FILE).read_text())
    if content["failures"]:
        raise TcplabError(
            f"{len(content['failures'])} runs failed or are not proved: {content['failures'][0]}",
            "The page names all.",
        )
    verdicts = {figure["verdict"] for case in content["cases"] for figure in case["figures"]}
    changed = [content["scripts"].get(name) for name in ("only_old", "only_new")]
    return DIFFERENT if verdicts & {"larger", "smaller"} or any(changed) else 0


@kernel.command("table")
@_seeds_option(6, "Seeds; below the default there is no interval, and no table.")
@workers_option
@out_option
def table_command(seeds: int, workers: int | None, out: Path) -> None:
    """Print a Markdown table of the built kernels: missing features, costs and measures.

    Missing results are run. docs/notes/2026-11-23-kernel-table.md has such a table.
    """
    from experiments.harness.kernels.table import carry_out_table, kernels_to_show
    from experiments.harness.sweep.progress import watching

    table = kernels_to_show(range(1, seeds + 1))
    way = _way([kernel.name for kernel in table.kernels], table.cases, workers)
    with watching("table") as watch:
        carry_out_table(table, out, way, watch)
    click.echo(table.markdown())
    if failures := table.failures():
        raise TcplabError(
            f"{len(failures)} runs failed or are not proved: {failures[0]}",
            "The same command runs failed points again.",
        )


@kernel.command("bisect")
@click.argument("clone", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("good")
@click.argument("bad")
@click.option("--experiment", "name", required=True, metavar="NAME", help="Experiment to run.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set as for `tcplab run`."
)
@click.option("--metric", default="goodput_kbit_s", show_default=True, help="Metric to compare.")
@click.option("--condition", default="", metavar="NAME", help="Under which condition.  [all]")
@click.option("--above", type=float, metavar="VALUE", help="Bad is a median above that.")
@click.option("--below", type=float, metavar="VALUE", help="Bad is a median below that.")
@click.option("--seeds", type=click.IntRange(1, 1000), default=6, show_default=True)
@out_option
def bisect_command(
    clone: Path,
    good: str,
    bad: str,
    name: str,
    settings: tuple[str, ...],
    metric: str,
    condition: str,
    above: float | None,
    below: float | None,
    seeds: int,
    out: Path,
) -> None:
    """Find the commit in the git clone CLONE, between GOOD and BAD, that made a measure bad.

    A kernel is built for each commit that is tried: minutes for the first, and then what differs.
    The clone is not changed.
    """
    from experiments.harness.definition.catalogue import find
    from experiments.harness.kernels.bisect import CommitSearch, MeasuredFigure
    from experiments.harness.sweep.progress import watching

    if (above is None) == (below is None):
        raise UsageError("Missing limit for a bad measure.", "Give --above VALUE or --below VALUE.")
    figure = MeasuredFigure(find(name), settings, metric, condition, range(1, seeds + 1))
    limit, sign = (above, 1) if above is not None else (below, -1)
    with watching("bisect") as watch:
        search = CommitSearch(
            clone,
            lambda commit: figure.measured(f"{clone}@{commit}", out, ready_lab, watch),
            lambda value: sign * value > sign * (limit or 0.0),
            watch.note,
        )
        suspects = search.first_bad(good, bad)
    if len(suspects) == 1:
        click.echo(f"The first bad commit is {search.subject(suspects[0])}")
    else:
        click.echo("The first bad commit is one of these; the others could not be built:")
        for commit in suspects:
            click.echo(f"  {search.subject(commit)}")


@kernel.command("test")
@click.argument("name", metavar="[KERNEL]", default=DEFAULT_KERNEL, shell_complete=kernels)
@click.option(
    "--only", "names", multiple=True, metavar="TEXT", help="Only scripts whose name holds TEXT."
)
@workers_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def test_command(name: str, names: tuple[str, ...], workers: int | None, as_json: bool) -> None:
    """Run the packetdrill scripts that come with a kernel's source on it, as its selftests do.

    The exit status is 0 if all have passed, 1 if not.
    """
    from experiments.harness.cli.packetdrill import follow
    from testbed.lab.packetdrill.recipe import packetdrill
    from testbed.packetdrill.runs import cases_of, run_kernel_scripts

    lab = lab_on(name)
    cases = cases_of(lab, names)
    with shown(sys.stderr) as report:
        program = packetdrill(report)
    coming = run_kernel_scripts(lab, program, cases, workers)
    sys.exit(follow(coming, len(cases), lab.kernel_release, as_json))
