"""The lab: kernel, first process and image, built if missing and checked at every use.

`python -m testbed.lab.ready build`, `show`, `export FILE` and `import FILE` do by hand what a
run does by itself.
"""

from __future__ import annotations

import functools
import hashlib
import signal
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from testbed.builds import BuildReport, cache, shown
from testbed.builds import export as lab_export
from testbed.lab.image import IMAGE
from testbed.lab.kernel import OPEN_VSWITCH, ORDERS_PATCH, kernel_version
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, chosen
from testbed.lab.kernel.recipe import MODULE_TREE, SELFTESTS, TUNNEL, require_processor
from testbed.lab.parts import digests_of_parts, kernel_part, modules_part, parts, release_of
from testbed.lab.tools import tools_recipe
from topologies.errors import TcplabError


@dataclass(frozen=True)
class Lab:
    """The files of a ready lab, and what is known of them.

    `confine` starts the kernel; `selftests` are the kernel's own packetdrill scripts and
    `tunnel` the driver that packetdrill needs (testbed.lab.kernel.recipe). With `seccomp` the
    kernel rules its processes by that, else by ptrace; without `time_travel` its time is virtual
    whatever it is told; without `open_vswitch` its switches are bridges; only with `takes_orders`
    it has /dev/orders (testbed.guest.devices). `digests` are SHA-256 of kernel, init, image and
    confine, and `whole`, which stands for all of them. `choice` is how the kernel was asked for.
    """

    kernel: Path
    confine: Path
    init: Path
    image: Path
    kernel_release: str
    seccomp: bool
    digests: Mapping[str, str]
    packages: Mapping[str, str]
    selftests: Path = Path()
    tunnel: Path = Path()
    time_travel: bool = True
    open_vswitch: bool = True
    takes_orders: bool = True
    choice: KernelChoice = LAB_KERNEL


def lab(
    report: BuildReport | None = None,
    *,
    kernel: KernelChoice = LAB_KERNEL,
    source: Path | None = None,
    rebuild: bool = False,
) -> Lab:
    """Return the lab of this source tree. Builds what is missing or damaged, and reports progress.

    `source` is a tarball to build the kernel from. Raises TcplabError, CommandError.
    """
    require_processor()
    if not rebuild and (ready := lab_if_ready(kernel)):
        return ready
    report, recipes = report or BuildReport(), parts(kernel, source)
    return _lab(kernel, [cache.ready(recipe, report, rebuild=rebuild) for recipe in recipes])


def lab_if_ready(kernel: KernelChoice = LAB_KERNEL) -> Lab | None:
    """Return the lab of this source tree if it is ready and whole, without building."""
    with ThreadPoolExecutor() as pool:  # a file's digest holds no other thread up
        entries = list(pool.map(lambda recipe: cache.usable(recipe, BuildReport()), parts(kernel)))
    return _lab(kernel, [entry for entry in entries if entry]) if all(entries) else None


def lab_for(kernels: Iterable[str], report: BuildReport | None = None) -> Lab:
    """Return the lab with these kernels built: on its own one if that is there, or the first."""
    choices = sorted(map(chosen, dict.fromkeys(kernels)), key=lambda choice: not choice.is_default)
    labs = [lab(report, kernel=choice) for choice in choices]
    return labs[0]


def with_kernel(ready: Lab, kernel: str) -> Lab:
    """Return the lab on the kernel that a spec names. Raises TcplabError if it is not built."""
    return ready if str(ready.choice) == kernel else built_lab(kernel)


@functools.cache
def built_lab(kernel: str) -> Lab:
    """Return the lab on a kernel that must be built; looked up once in a process."""
    choice = chosen(kernel)
    if ready := lab_if_ready(choice):
        return ready
    raise TcplabError(
        f"The kernel {choice.name} is not built on this machine.",
        f"Run `./tcplab kernel build {choice.name}` there.",
    )


def module_tree(ready: Lab, report: BuildReport | None = None) -> tuple[Path, str]:
    """Return what modules of the lab's kernel are built with, and its SHA-256."""
    part = modules_part() if ready.choice.is_default else kernel_part(ready.choice)
    entry = cache.ready(part, report or BuildReport())
    return entry.folder / MODULE_TREE, entry.files[MODULE_TREE]


def export(file: Path, report: BuildReport | None = None) -> Lab:
    """Write the ready lab into one file for another machine."""
    ready = lab(report)
    sandbox = tools_recipe()
    lab_export.export([*parts(), *([sandbox] if sandbox.place.exists() else [])], file)
    return ready


def import_(file: Path, report: BuildReport | None = None) -> Lab:
    """Take the lab from an export or a release. Raises TcplabError if it is not whole."""
    report = report or BuildReport()
    lab_export.import_(parts(), file, report, [tools_recipe(), modules_part()])
    return lab(report)


def _lab(choice: KernelChoice, entries: list[cache.Entry]) -> Lab:
    kernel, init, image = entries
    seccomp = bool(kernel.facts["seccomp"])
    files = digests_of_parts({**kernel.files, **init.files, **image.files})
    whole = hashlib.sha256(repr((sorted(files.items()), seccomp)).encode()).hexdigest()
    version = kernel_version(choice.series)
    return Lab(
        kernel=kernel.folder / "linux",
        confine=init.folder / "confine",
        init=init.folder / "init",
        image=image.folder / IMAGE,
        selftests=kernel.folder / SELFTESTS,
        tunnel=kernel.folder / TUNNEL,
        kernel_release=kernel.facts["release"],
        seccomp=seccomp,
        digests={**files, "whole": whole},
        packages=image.facts["packages"],
        time_travel=bool(kernel.facts["time_travel"]),
        open_vswitch=OPEN_VSWITCH not in version.lacks,
        takes_orders=ORDERS_PATCH in version.patches,
        choice=choice,
    )


class _LabCommands(click.Group):
    """Commands whose errors become one message and an exit status, in any program."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except TcplabError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(error.exit_code)


@click.group("image", cls=_LabCommands)
def commands() -> None:
    """The lab kernel and the guest's image."""


@commands.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="A linux-VERSION.tar.xz to build the kernel from.",
)
@click.option("--rebuild", is_flag=True, help="Build what is ready as well.")
def build_command(source: Path | None, rebuild: bool) -> None:
    """Build what is missing."""
    if source and not rebuild and kernel_part().place.exists():
        raise TcplabError("A kernel is ready, so --source would not be used.", "Add --rebuild.")
    with shown(sys.stderr) as report:
        ready = lab(report, source=source, rebuild=rebuild)
    _show(ready)


@commands.command("export")
@click.argument("file", type=click.Path(path_type=Path))
def export_command(file: Path) -> None:
    """Write kernel and image into one FILE for another machine."""
    with shown(sys.stderr) as report:
        _show(export(file, report))


@commands.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def import_command(file: Path) -> None:
    """Take kernel and image from a FILE: a release, or what `export` wrote."""
    with shown(sys.stderr) as report:
        _show(import_(file, report))


@commands.command("show")
def show_command() -> None:
    """Show the files of the lab and their digests, without building."""
    ready = lab_if_ready()
    if ready is None:
        raise TcplabError(
            "The lab is not built, or a file of it is damaged.", "Run `./tcplab image build`."
        )
    _show(ready)


def _show(ready: Lab) -> None:
    seccomp = "on" if ready.seccomp else "not known to this kernel"
    rows = {
        "kernel": f"Linux {ready.kernel_release}, seccomp {seccomp}: {ready.kernel}",
        "confine": ready.confine,
        "init": ready.init,
        "image": f"{len(ready.packages)} packages: {ready.image}",
        "whole": release_of(ready.digests),
    }
    for name, text in rows.items():
        click.echo(f"{name:<7} {ready.digests[name]}  {text}")


def _stop(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    commands(prog_name="tcplab image")
