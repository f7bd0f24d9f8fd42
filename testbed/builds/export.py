"""Cache entries in one file for another machine: an export, or the archive of a release.

An export is a plain tar. A release is a compressed one, of which only members below
`tcplab_lab/brought/` are read. There may be the expected regular files only, each once and of
limited size. All are checked like cache entries before any is installed.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed.builds import BuildReport, cache
from topologies.errors import TcplabError, is_disk_full

_BROKEN = (OSError, EOFError, tarfile.TarError, zlib.error)
"""What reading a file raises that is damaged, or is no such archive."""
_GZIP = b"\x1f\x8b"
_OF_LAB = f"{cache.BROUGHT_BY}/brought/"
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
            places = {recipe.name: recipe.place for recipe in recipes}
            for name, source in _members(recipes, places).items():
                archive.add(source, name, recursive=False, filter=_plain)
    except OSError as error:
        problem = f"{file} cannot be written: {error.strerror}."
        remedy = (
            "Free space there." if is_disk_full(error) else "Choose a folder that you may write to."
        )
        raise TcplabError(problem, remedy) from error


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Drop owner and time: the same lab gives the same file."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
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
        with file.open("rb") as stream:
            is_release = stream.read(2) == _GZIP
        with tarfile.open(file, "r|gz" if is_release else "r:") as archive:
            for member in archive:
                name = member.name.partition(_OF_LAB)[2] if is_release else member.name
                if is_release and (member.isdir() or not name):
                    continue
                limit = LARGEST_MANIFEST if name.endswith(cache.MANIFEST) else LARGEST
                if not member.isreg() or name not in remaining or member.size > limit:
                    raise _refused(file, f"{name!r} does not belong there")
                _copy(archive, member, remaining.pop(name))
    except _BROKEN as error:
        if isinstance(error, OSError) and is_disk_full(error):
            raise TcplabError(
                f"{file} does not fit on the disk of {cache.folder()}, which is unchanged.",
                "Free some space, or set TCPLAB_CACHE to a folder on another disk.",
            ) from error
        raise _refused(file, str(error)) from error
    return remaining


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    content = archive.extractfile(member)
    assert content, "it is a regular file"
    with content, target.open("xb") as stream:
        shutil.copyfileobj(content, stream)
        os.fsync(stream.fileno())
    target.chmod(0o755 if member.mode & stat.S_IXUSR else 0o644)


def _refused(file: Path, reason: str) -> TcplabError:
    remedy = (
        "It must be a whole file of this version of the package: a release, or what `tcplab image"
        " export` wrote."
    )
    return TcplabError(f"{file} is not taken: {reason}.", remedy)
