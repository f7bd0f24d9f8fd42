"""`tcplab kernel`: the kernels that hosts can run, and what is to be known of them."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table

from experiments.harness.cli.completion import kernels
from experiments.harness.cli.kernel_studies import (
    bisect_command,
    compare_command,
    table_command,
    test_command,
)
from experiments.harness.cli.messages import one_clear_message
from testbed.lab.kernel.built_kernels import BuiltKernel, build, built_kernels, remove
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.kernel.kernel_version import DEFAULT, all_series, kernel_version
from testbed.recipes.building import shown


@click.group("kernel")
def kernel() -> None:
    """The kernels that hosts can run in virtual time: versions, or a source of your own."""


kernel.add_command(compare_command)
kernel.add_command(bisect_command)
kernel.add_command(table_command)
kernel.add_command(test_command)


@kernel.command("list")
def list_command() -> None:
    """Name the kernels of the lab and those that you have built; builds nothing."""
    with one_clear_message():
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
    """Build kernels, which runs do by themselves."""
    with one_clear_message():
        for name in names:
            with shown(sys.stderr) as report:
                made = build(chosen(name), report, source, rebuild)
            click.echo(f"{made.name}: Linux {made.release}, SHA-256 {made.digest}")


@kernel.command("remove")
@click.argument("name", metavar="KERNEL", shell_complete=kernels)
def remove_command(name: str) -> None:
    """Remove a kernel that is built from the cache."""
    with one_clear_message():
        with shown(sys.stderr) as report:
            removed = remove(name, report)
        for made in removed:
            click.echo(f"Removed Linux {made.release} ({made.digest[:12]}).")
