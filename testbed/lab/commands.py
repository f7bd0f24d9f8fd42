"""What users do with a lab by hand: built kernels, one file for another machine, `tcplab image`.

An export is a plain tar; of a release, a compressed one, members below `tcplab_lab/brought/` are
read. Only the expected regular files may be there; all are checked before any is installed.
"""

import os
import shutil
import stat
import sys
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from testbed.builds import BuildReport, cache, shown
from testbed.lab import ready
from testbed.lab.kernel.choice import KernelChoice, chosen
from testbed.lab.kernel.recipe import kept_objects
from testbed.lab.ready import Lab
from testbed.lab.tools import tools_recipe
from topologies import untrusted
from topologies.errors import FREE_SPACE, TcplabError, UsageError, is_disk_full
from topologies.notation import json_value

_BROKEN = (OSError, EOFError, tarfile.TarError, zlib.error)
"""What reading a file raises that is damaged, or is no such archive."""
_GZIP = b"\x1f\x8b"
_OF_LAB = f"{cache.BROUGHT_BY}/brought/"
LARGEST = 512 << 20  # bytes of the largest file that is accepted; an image has about 80 MB
LARGEST_MANIFEST = 1 << 20


def export(recipes: Sequence[cache.Recipe], file: Path) -> None:
    """Write the entries of the recipes, which must be ready, into one file. Raises TcplabError."""
    partial = file.with_name(f".{file.name}-{os.getpid()}")
    places = {recipe.name: recipe.place for recipe in recipes}
    try:
        with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive:
            for name, source in _members(recipes, places).items():
                archive.add(source, name, recursive=False, filter=_plain)
        os.replace(partial, file)
    except OSError as error:
        remedy = "Choose a folder that you may write to."
        remedy = "Free space there." if is_disk_full(error) else remedy
        raise TcplabError(f"{file} cannot be written: {error.strerror}.", remedy) from error
    finally:
        partial.unlink(missing_ok=True)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Drop owner and time: the same lab gives the same file."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def import_(
    recipes: Sequence[cache.Recipe],
    file: Path,
    report: BuildReport,
    optional: Sequence[cache.Recipe] = (),
) -> None:
    """Put the entries of `file` into the cache; it may have those of `optional`."""
    every = [*recipes, *optional]
    with ExitStack() as stack:
        places: dict[str, Path] = {}
        for recipe in every:
            stack.enter_context(cache.locked(recipe.entry, report))
            places[recipe.name] = stack.enter_context(cache.temporary(recipe.entry))
        missing = _extract(file, _members(every, places))
        if absent := [name for name in _members(recipes, places) if name in missing]:
            raise _refused(file, f"{', '.join(absent)} missing")
        arrived = [*recipes, *(recipe for recipe in optional if any(places[recipe.name].iterdir()))]
        for recipe in arrived:
            try:
                cache.verify(recipe, places[recipe.name])
            except cache.DamagedEntry as error:
                raise _refused(file, f"{recipe.name}: {error}") from error
        for recipe in arrived:
            cache.install(places[recipe.name], recipe.place_if_given)


def _members(recipes: Sequence[cache.Recipe], places: Mapping[str, Path]) -> dict[str, Path]:
    """Return the file of each member of the recipes, by name; `places` are their folders."""
    return {
        f"{recipe.name}/{name}": places[recipe.name] / name
        for recipe in recipes
        for name in (cache.MANIFEST, *recipe.outputs)
    }


def _extract(file: Path, targets: dict[str, Path]) -> dict[str, Path]:
    """Copy each member to its target; return the targets of which there is none."""
    remaining = dict(targets)
    try:
        with untrusted.named(file) as stream, ExitStack() as opened:
            is_release = stream.peek(2)[:2] == _GZIP
            kind: Literal["r|gz", "r:"] = "r|gz" if is_release else "r:"
            archive = opened.enter_context(tarfile.open(fileobj=stream, mode=kind))
            for member in archive:
                name = member.name.partition(_OF_LAB)[2] if is_release else member.name
                if is_release and (member.isdir() or not name):
                    continue
                limit = LARGEST_MANIFEST if name.endswith(cache.MANIFEST) else LARGEST
                content = archive.extractfile(member) if member.isreg() else None
                if not content or name not in remaining or member.size > limit:
                    raise _refused(file, f"{name!r} does not belong there")
                target = remaining.pop(name)
                with content, target.open("xb") as written:
                    shutil.copyfileobj(content, written)
                    os.fsync(written.fileno())
                target.chmod(0o755 if member.mode & stat.S_IXUSR else 0o644)
    except untrusted.StrangeFile as error:
        raise _refused(file, error.reason) from None
    except _BROKEN as error:
        if isinstance(error, OSError) and is_disk_full(error):
            problem = f"{file} does not fit on the disk of {cache.folder()}, which is unchanged."
            raise TcplabError(problem, FREE_SPACE) from error
        raise _refused(file, str(error)) from error
    return remaining


def _refused(file: Path, reason: str) -> TcplabError:
    remedy = "It must be a whole release of this version, or what `tcplab image export` wrote."
    return TcplabError(f"{file} is not taken: {reason}.", remedy)


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel's entry in the cache; without a name if an older tcplab built it."""

    folder: Path
    name: str
    release: str
    digest: str
    compiler: str
    build_seconds: float = 0.0

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    @property
    def is_current(self) -> bool:
        """Check that this tcplab would use the kernel."""
        try:
            return bool(self.name) and ready.kernel_part(chosen(self.name)).place == self.folder
        except TcplabError:
            return False  # its source is gone, or is another by now


def built_kernels() -> list[BuiltKernel]:
    kernels = map(_built_kernel, cache.folder().glob(f"kernel-*/{cache.MANIFEST}"))
    return sorted(kernels, key=lambda kernel: kernel.name)


def _built_kernel(manifest: Path) -> BuiltKernel:
    content = json_value(manifest.read_bytes())
    facts, seconds = content["facts"], content.get("build_seconds", 0.0)
    known = facts.get("name", ""), facts["release"], content["files"]["linux"]["sha256"]
    return BuiltKernel(manifest.parent, *known, facts.get("compiler", ""), seconds)


def build_kernel(
    kernel: KernelChoice, report: BuildReport, source: Path | None, rebuild: bool
) -> BuiltKernel:
    """Build the kernel unless it is built; `source` is a tarball for a version of the lab."""
    recipe = ready.kernel_part(kernel, source)
    if source and kernel.digest:
        raise UsageError(f"{kernel.name} has its own source.", "Leave --source out.")
    if source and not rebuild and recipe.place.exists():
        raise UsageError(f"{kernel.name} is built: --source would not be used.", "Add --rebuild.")
    return _built_kernel(cache.ready(recipe, report, rebuild=rebuild).folder / cache.MANIFEST)


def remove_kernel(name: str, report: BuildReport) -> list[BuiltKernel]:
    """Remove the kernels of that name, and kept objects. Raises TcplabError without any."""
    named = [kernel for kernel in built_kernels() if kernel.name == name]
    if not named:
        raise TcplabError(f"No kernel {name[:100]} is built.", "See `./tcplab kernel list`.")
    for kernel in named:
        with cache.locked(cache.entry_of(kernel.folder), report):
            shutil.rmtree(kernel.folder, ignore_errors=not kernel.folder.exists())
    shutil.rmtree(kept_objects(), ignore_errors=True)
    return named


_PATH = click.Path(path_type=Path)


@click.group("image")
def commands() -> None:
    """The lab kernel and the guest's image."""


@commands.command("build")
@click.option("--source", type=_PATH, help="A linux-VERSION.tar.xz to build the kernel from.")
@click.option("--rebuild", is_flag=True, help="Build what is ready as well.")
def build_command(source: Path | None, rebuild: bool) -> None:
    """Build what is missing."""
    if source and not rebuild and ready.kernel_part().place.exists():
        raise TcplabError("A kernel is ready, so --source would not be used.", "Add --rebuild.")
    with shown(sys.stderr) as report:
        _show(ready.lab(report, source=source, rebuild=rebuild))


@commands.command("export")
@click.argument("file", type=_PATH)
def export_command(file: Path) -> None:
    """Write kernel and image into one FILE for another machine."""
    with shown(sys.stderr) as report:
        made, sandbox = ready.lab(report), tools_recipe()
        export([*ready.parts(), *([sandbox] if sandbox.place.exists() else [])], file)
    _show(made)


@commands.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def import_command(file: Path) -> None:
    """Take kernel and image from a FILE: a release, or what `export` wrote."""
    with shown(sys.stderr) as report:
        import_(ready.parts(), file, report, [tools_recipe(), ready.modules_part()])
        _show(ready.lab(report))


@commands.command("show")
def show_command() -> None:
    """Show the files of the lab and their digests, without building."""
    if not (made := ready.lab_if_ready()):
        problem = "The lab is not built, or a file of it is damaged."
        raise TcplabError(problem, "Run `./tcplab image build`.")
    _show(made)


def _show(lab: Lab) -> None:
    seccomp = "on" if lab.seccomp else "not known to this kernel"
    rows = {
        "kernel": f"Linux {lab.kernel_release}, seccomp {seccomp}: {lab.kernel}",
        "confine": lab.confine,
        "init": lab.init,
        "image": f"{len(lab.packages)} packages: {lab.image}",
        "whole": ready.release_of(lab.digests),
    }
    for name, text in rows.items():
        click.echo(f"{name:<7} {lab.digests[name]}  {text}")
