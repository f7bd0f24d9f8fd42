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
    elif _is_compressed(file):
        with tarfile.open(file, "r|gz") as archive:
            yield _of_release(_of_tar(archive))
    else:
        with tarfile.open(file, "r:") as archive:
            yield _of_tar(archive)


def _is_compressed(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


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
        is_program = bool(mode & stat.S_IXUSR)
        yield PackedMember(
            info.filename, info.file_size, is_file, is_program, partial(wheel.open, info)
        )


def _of_release(members: Iterator[PackedMember]) -> Iterator[PackedMember]:
    for member in members:
        if name := member.name.partition(_OF_LAB)[2]:
            yield replace(member, name=name)


LARGEST = 512 << 20
"""Bytes of the largest file that is accepted; an image has about 80 MB."""
LARGEST_MANIFEST = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


def export(recipes: Sequence[cache.Recipe], file: Path) -> None:
    """Write the entries of the recipes, which must be ready, into one file. Raises TcplabError."""
    try:
        with (
            _written_whole(file) as partial,
            tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for recipe in recipes:
                for name in _members(recipe):
                    archive.add(
                        recipe.place / name, f"{recipe.name}/{name}", recursive=False, filter=_plain
                    )
    except OSError as error:
        raise TcplabError(
            f"{file} cannot be written: {error.strerror}.", "Choose a folder with room."
        ) from error


def _members(recipe: cache.Recipe) -> tuple[str, ...]:
    return (cache.MANIFEST, *recipe.outputs)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """No owner, no time: the same lab gives the same file."""
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
        for recipe in (*recipes, *optional):
            stack.enter_context(cache.locked(recipe.name, report))
        places = {
            recipe.name: stack.enter_context(cache.temporary(recipe.name))
            for recipe in (*recipes, *optional)
        }
        _extract(file, _targets(recipes, places), _targets(optional, places))
        arrived = [*recipes, *(recipe for recipe in optional if any(places[recipe.name].iterdir()))]
        for recipe in arrived:
            _check(recipe, places[recipe.name], file)
        for recipe in arrived:
            cache.install(places[recipe.name], recipe.place_if_given)


def _targets(recipes: Sequence[cache.Recipe], places: Mapping[str, Path]) -> dict[str, Path]:
    """Return the names of the recipes' members, and where each is put."""
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
                if not (
                    member.is_file
                    and member.name in remaining
                    and member.size <= _limit(member.name)
                ):
                    raise _refused(file, f"{member.name!r} does not belong there")
                _copy(member, remaining.pop(member.name))
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _full(file) from error
        raise _refused(file, str(error)) from error
    if missing := [name for name in remaining if name in expected]:
        raise _refused(file, f"{', '.join(missing)} missing")


def _full(file: Path) -> TcplabError:
    return TcplabError(
        f"{file} does not fit on the disk of {cache.folder()}, which is unchanged.",
        "Free some space, or set TCPLAB_CACHE to a folder on another disk.",
    )


def _limit(name: str) -> int:
    return LARGEST_MANIFEST if name.endswith(cache.MANIFEST) else LARGEST


def _copy(member: PackedMember, target: Path) -> None:
    with member.opened() as content, target.open("xb") as stream:
        shutil.copyfileobj(content, stream)
        os.fsync(stream.fileno())
    target.chmod(0o755 if member.is_program else 0o644)


def _check(recipe: cache.Recipe, place: Path, file: Path) -> None:
    try:
        cache.verify(recipe, place)
    except cache.DamagedEntry as error:
        raise _refused(file, f"{recipe.name}: {error}") from error


def _refused(file: Path, reason: str) -> TcplabError:
    remedy = (
        "It must be a whole file of this version of the package: a release, or what `tcplab image"
        " export` wrote."
    )
    return TcplabError(f"{file} is not taken: {reason}.", remedy)
