"""`tcplab kernel`: list, build, remove, compare and test the kernels that hosts can run."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table

from experiments.harness.cli.commands import NearGroup
from experiments.harness.cli.options import PATH, kernels, out_option, workers_option
from experiments.harness.running.lab import lab_on, ready_lab
from experiments.harness.running.report import make_page
from experiments.harness.running.store import require_writable
from experiments.spec import DEFAULT_KERNEL
from testbed.lab.kernel.built import BuiltKernel, build, built_kernels, remove
from testbed.lab.kernel.choice import chosen
from testbed.lab.kernel.version import DEFAULT, all_series, kernel_version
from testbed.recipes.building import shown
from topologies.foundation.errors import TcplabError


@click.group("kernel", cls=NearGroup)
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
    type=PATH,
    help="A linux-VERSION.tar.xz to build a version of the lab from.",
)
@click.option("--rebuild", is_flag=True, help="Build it even if it is built.")
def build_command(names: tuple[str, ...], source: Path | None, rebuild: bool) -> None:
    """Build kernels in advance; runs build missing ones."""
    for name in names:
        with shown(sys.stderr) as report:
            made = build(chosen(name), report, source, rebuild)
        click.echo(f"{made.name}: Linux {made.release}, SHA-256 {made.digest}")


@kernel.command("verify")
def verify_command() -> None:
    """Build what comes with the code (kernel, init, engine) again, and compare the bytes."""
    from testbed.release.prebuilt import differing

    with shown(sys.stderr) as report:
        files = differing(report)
    for name, others in files.items():
        click.echo(f"{name}: {', '.join(others) or 'no file'} differs.")
    if any(files.values()):
        raise TcplabError(
            "What comes with the code is not what this machine builds.",
            "The manifests in prebuilt/ name the compiler; another gives other bytes.",
        )


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


@kernel.command("compare")
@click.argument("old", metavar="KERNEL", shell_complete=kernels)
@click.argument("new", metavar="KERNEL", shell_complete=kernels)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=12,
    show_default=True,
    metavar="NUMBER",
    help="Seeds; fewer than the default cannot show a difference among so many figures.",
)
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
    from experiments.harness.sweep.workers import way_to_workers

    cases = chosen_cases(names)
    kernels = KernelPair(str(chosen(old)), str(chosen(new)))
    require_writable(out)
    program = _program() if scripts and not names else None
    way = way_to_workers(ready_lab(kernels), [case.spec for case in cases], workers)
    way = replace(way, wall_seconds=_LONGEST)
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
