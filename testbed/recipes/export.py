"""Cache entries in one file for another machine: an export, or a release.

A release is a wheel (zip) or a compressed tar; only members below `tcplab/brought/` are read. An
export is a plain tar.

An arriving file may hold the expected regular files only, each once and of limited size. All are
checked like cache entries before any is installed.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from testbed.recipes import cache
from testbed.recipes.building import BuildReport
from topologies.foundation.errors import TcplabError

BROKEN = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
"""What reading a file raises that is damaged, or is no such archive."""
_OF_LAB = "tcplab/brought/"


@dataclass(frozen=True)
class PackedMember:
    """A member by its name in the lab; `size` is in bytes."""

    name: str
    size: int
    is_file: bool
    is_program: bool
    opened: Callable[[], IO[bytes]]


@contextmanager
def packed_members(file: Path) -> Iterator[Iterator[PackedMember]]:
    """Provide the lab's members of a file, in its order, each to be read before the next.

    Raises BROKEN.
    """
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as wheel:
            yield _of_release(_of_wheel(wheel))
        return
    with file.open("rb") as stream:
        is_release = stream.read(2) == b"\x1f\x8b"
    with tarfile.open(file, "r|gz" if is_release else "r:") as archive:
        yield _of_release(_of_tar(archive)) if is_release else _of_tar(archive)


def _of_tar(archive: tarfile.TarFile) -> Iterator[PackedMember]:
    for member in archive:
        content = partial(_content, archive, member)
        is_program = bool(member.mode & stat.S_IXUSR)
        yield PackedMember(member.name, member.size, member.isreg(), is_program, content)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    return content


def _of_wheel(wheel: zipfile.ZipFile) -> Iterator[PackedMember]:
    for info in wheel.infolist():
        mode = info.external_attr >> 16
        is_file = not info.is_dir() and stat.S_IFMT(mode) in (0, stat.S_IFREG)
        content, is_program = partial(wheel.open, info), bool(mode & stat.S_IXUSR)
        yield PackedMember(info.filename, info.file_size, is_file, is_program, content)


def _of_release(members: Iterator[PackedMember]) -> Iterator[PackedMember]:
    for member in members:
        if name := member.name.partition(_OF_LAB)[2]:
            yield replace(member, name=name)


LARGEST = 512 << 20
"""Bytes of the largest file that is accepted; an image has about 80 MB."""
LARGEST_MANIFEST = 1 << 20


def export(recipes: Sequence[cache.Recipe], file: Path) -> None:
    """Write the entries of the recipes, which must be ready, into one file. Raises TcplabError."""
    try:
        with (
            _written_whole(file) as partial,
            tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for recipe in recipes:
                for name in _members(recipe):
                    file_name = f"{recipe.name}/{name}"
                    archive.add(recipe.place / name, file_name, recursive=False, filter=_plain)
    except OSError as error:
        problem = f"{file} cannot be written: {error.strerror}."
        raise TcplabError(problem, "Choose a folder with room.") from error


def _members(recipe: cache.Recipe) -> tuple[str, ...]:
    return (cache.MANIFEST, *recipe.outputs)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Drop owner and time: the same lab gives the same file."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


@contextmanager
def _written_whole(file: Path) -> Iterator[Path]:
    """Provide a temporary file that takes the name of `file` when the block ends well."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.absolute().parent)
    os.close(descriptor)
    try:
        yield Path(name)
        os.chmod(name, 0o644)
        os.replace(name, file)
    finally:
        Path(name).unlink(missing_ok=True)


def import_(
    recipes: Sequence[cache.Recipe],
    file: Path,
    report: BuildReport,
    optional: Sequence[cache.Recipe] = (),
) -> None:
    """Put the entries of `file` into the cache; it may have those of `optional`.

    Raises TcplabError when it is neither what `export` writes nor a release.
    """
    with ExitStack() as stack:
        places: dict[str, Path] = {}
        for name in (recipe.name for recipe in (*recipes, *optional)):
            stack.enter_context(cache.locked(name, report))
            places[name] = stack.enter_context(cache.temporary(name))
        _extract(file, _targets(recipes, places), _targets(optional, places))
        arrived = [*recipes, *(recipe for recipe in optional if any(places[recipe.name].iterdir()))]
        for recipe in arrived:
            try:
                cache.verify(recipe, places[recipe.name])
            except cache.DamagedEntry as error:
                raise _refused(file, f"{recipe.name}: {error}") from error
        for recipe in arrived:
            cache.install(places[recipe.name], recipe.place_if_given)


def _targets(recipes: Sequence[cache.Recipe], places: Mapping[str, Path]) -> dict[str, Path]:
    """Return the target of each member of the recipes, by name."""
    return {
        f"{recipe.name}/{name}": places[recipe.name] / name
        for recipe in recipes
        for name in _members(recipe)
    }


def _extract(file: Path, expected: dict[str, Path], optional: dict[str, Path]) -> None:
    """Copy each expected member to its path.

    Raises TcplabError for anything else in the archive.
    """
    remaining = {**expected, **optional}
    try:
        with packed_members(file) as members:
            for member in members:
                limit = LARGEST_MANIFEST if member.name.endswith(cache.MANIFEST) else LARGEST
                if not member.is_file or member.name not in remaining or member.size > limit:
                    raise _refused(file, f"{member.name!r} does not belong there")
                _copy(member, remaining.pop(member.name))
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TcplabError(
                f"{file} does not fit on the disk of {cache.folder()}, which is unchanged.",
                "Free some space, or set TCPLAB_CACHE to a folder on another disk.",
            ) from error
        raise _refused(file, str(error)) from error
    if missing := [name for name in remaining if name in expected]:
        raise _refused(file, f"{', '.join(missing)} missing")


def _copy(member: PackedMember, target: Path) -> None:
    with member.opened() as content, target.open("xb") as stream:
        shutil.copyfileobj(content, stream)
        os.fsync(stream.fileno())
    target.chmod(0o755 if member.is_program else 0o644)


def _refused(file: Path, reason: str) -> TcplabError:
    remedy = (
        "It must be a whole file of this version of the package: a release, or what `tcplab image"
        " export` wrote."
    )
    return TcplabError(f"{file} is not taken: {reason}.", remedy)
