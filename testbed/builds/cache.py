"""The cache of builds, each entry named by the digest of its recipe.

An entry is a folder with its files and a manifest.json of their sizes and SHA-256. It is built in a
temporary folder and renamed in one step, under a lock that ends with its process. It is checked
when it is used, but a file is not read again within a day of the last check unless it changed since
(st_ctime, inode(7), which cannot be set back).

Some entries come with a checkout, compressed. They are used while their recipe's key is the
manifest's; `./tcplab kernel verify` builds them again and compares them byte for byte.
"""

import fcntl
import hashlib
import json
import lzma
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from testbed.builds import BuildReport, Workshop
from testbed.host import CODE, PREFIX, scratch
from topologies.errors import TcplabError
from topologies.notation import json_value
from topologies.untrusted import StrangeFile, digest_of

PREBUILT = CODE / "prebuilt"
MANIFEST = "manifest.json"
_COMPRESSED = ".xz"


def prebuilt_manifest(name: str, key: str) -> dict[str, Any] | None:
    """Return the manifest of the entry of this key that comes with the code; None without one."""
    file = PREBUILT / name / MANIFEST
    manifest: dict[str, Any] = json_value(file.read_bytes()) if file.is_file() else {"key": ""}
    return manifest if manifest["key"] == key else None


def unpack_prebuilt(name: str, outputs: Sequence[str], folder: Path) -> None:
    """Write the files of an entry and its manifest to a folder. The caller checks them."""
    shutil.copyfile(PREBUILT / name / MANIFEST, folder / MANIFEST)
    for output in outputs:
        packed = PREBUILT / name / (output + _COMPRESSED)
        with lzma.open(packed) as content, (folder / output).open("wb") as target:
            shutil.copyfileobj(content, target)
        shutil.copymode(packed, folder / output)


def pack_prebuilt(name: str, outputs: Sequence[str], entry: Path) -> None:
    """Replace the entry that comes with the code by one of the cache."""
    path = PREBUILT / name
    shutil.rmtree(path, ignore_errors=not path.exists())
    path.mkdir(parents=True)
    shutil.copyfile(entry / MANIFEST, path / MANIFEST)
    for output in outputs:
        packed = path / (output + _COMPRESSED)
        content = (entry / output).read_bytes()
        packed.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
        shutil.copymode(entry / output, packed)


_KEPT = 24 * 3600  # seconds
_SETTLED = 2.0
"""Seconds: a file that was changed later may be changed again within the tick of its times."""
_BRIEF = 1.0  # seconds; while files are read for longer than that, one may change unseen

FORMAT = 1
BROUGHT_BY = "tcplab_lab"  # the package that brings the lab to an installed copy
_PACKAGE = find_spec(BROUGHT_BY) if PREFIX else None
BROUGHT = [
    place / "brought"
    for place in (CODE, *map(Path, _PACKAGE.submodule_search_locations or () if _PACKAGE else ()))
]
"""The folders of entries that come with an installed copy; a checkout has none."""
_CHECKED = "checked"  # a folder of the cache: a file for each entry, written at each check

Facts = Mapping[str, Any]


class DamagedEntry(Exception):
    """An entry is not what its manifest says; the text says why."""


@dataclass(frozen=True)
class Recipe:
    """A recipe of an entry: `build` leaves `outputs` in the workshop and returns facts to be kept.

    The key is data: `sources` (files), `variant` (a choice of the user) and `steps` (commands,
    flags, versions), never the text of a module. Who changes what `build` does beyond its `steps`
    adds a word to them. `tools` names this machine's compiler; another machine's entry serves as
    well.
    """

    name: str
    sources: tuple[Path, ...]
    outputs: tuple[str, ...]
    build: Callable[[Workshop], Facts]
    variant: str = ""
    steps: tuple[object, ...] = ()
    tools: str = ""

    @cached_property
    def key(self) -> str:
        """SHA-256 of name, variant, steps and source files, as they are when a build begins."""
        digest = hashlib.sha256(f"{FORMAT} {self.name} {self.variant} {self.steps!r}\n".encode())
        for source in self.sources:
            digest.update(f"{source.name} {digest_of(source)}\n".encode())
        return digest.hexdigest()

    @property
    def entry(self) -> str:
        """Name and key: the beginning of its folders, and the name of its lock and log."""
        return f"{self.name}-{self.key[:16]}"

    @property
    def log(self) -> Path:
        return folder() / f"{self.entry}.log"

    @property
    def place(self) -> Path:
        """The folder of the entry in use, whether it exists or not: what was given comes first."""
        given = (*(place / self.name for place in BROUGHT), self.place_if_given)
        return next(filter(Path.exists, given), self.place_if_built)

    @property
    def place_if_given(self) -> Path:
        """For an entry that another machine built."""
        return folder() / f"{self.entry}-given"

    @property
    def place_if_built(self) -> Path:
        """For an entry that this machine builds with the tools that it has."""
        tools = f"-{hashlib.sha256(self.tools.encode()).hexdigest()[:8]}" if self.tools else ""
        return folder() / f"{self.entry}{tools}"


@dataclass(frozen=True)
class Entry:
    """A checked entry: its folder, the SHA-256 of each file, and the facts of its manifest."""

    folder: Path
    files: Mapping[str, str]
    facts: Facts = field(default_factory=dict)


def folder() -> Path:
    """Return $TCPLAB_CACHE, or tcplab in $XDG_CACHE_HOME, ~/.cache or the code without a home."""
    if chosen := os.environ.get("TCPLAB_CACHE"):
        return Path(chosen).absolute()
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen).absolute() / "tcplab"
    home = Path(os.path.expanduser("~"))  # stays ~ for a user whom the system does not know
    own = home / ".cache" / "tcplab"
    if own.is_absolute() and (os.path.isdir(own) or os.access(home, os.W_OK)):
        return own
    return CODE.absolute() / ".cache" / "tcplab"


def ready(recipe: Recipe, report: BuildReport, *, rebuild: bool = False) -> Entry:
    """Return the recipe's entry; build it if it is missing or damaged, or with `rebuild`."""
    if not rebuild and (entry := usable(recipe, BuildReport())):
        return entry
    if recipe.place.parent in BROUGHT:
        problem = f"The {recipe.name} in {recipe.place} came with this release, and "
        problem += "is not built here." if rebuild else "is damaged."
        raise TcplabError(problem, "Install the release again, or build in a checkout.")
    with locked(recipe.entry, report):
        if not rebuild and (entry := usable(recipe, report) or _unpacked(recipe)):
            return entry
        return build(recipe, report)


def _unpacked(recipe: Recipe) -> Entry | None:
    """Return the entry that comes with the code, unpacked; None if there is none of this recipe."""
    if not prebuilt_manifest(recipe.name, recipe.key):
        return None
    with temporary(recipe.entry) as finished:
        try:
            unpack_prebuilt(recipe.name, recipe.outputs, finished)
            verify(recipe, finished)
        except (DamagedEntry, lzma.LZMAError, OSError, EOFError) as error:
            problem = f"The {recipe.name} that comes with the code is damaged ({error})."
            raise TcplabError(problem, "Get it again: git checkout prebuilt") from error
        install(finished, recipe.place_if_given)
    return verify(recipe, recipe.place_if_given)


def differences(recipe: Recipe, report: BuildReport) -> list[str]:
    """Build the recipe; return the files that differ from the code's. Raises TcplabError."""
    if not (manifest := prebuilt_manifest(recipe.name, recipe.key)):
        problem = f"No {recipe.name} of this recipe comes with the code."
        raise TcplabError(problem, "./tcplab release --prebuilt builds and writes it.")
    with locked(recipe.entry, report), temporary(recipe.entry) as work:
        recipe.build(Workshop(work, recipe.log, report))
        stated = {name: manifest["files"][name]["sha256"] for name in recipe.outputs}
        return [name for name, digest in stated.items() if digest_of(work / name) != digest]


def manifest_of(recipe: Recipe) -> dict[str, Any] | None:
    """Return the manifest of the entry in the cache or with the code; None if it must be built."""
    file = recipe.place / MANIFEST
    if not file.is_file():
        return prebuilt_manifest(recipe.name, recipe.key)
    manifest: dict[str, Any] = json_value(file.read_bytes())
    return manifest


def usable(recipe: Recipe, report: BuildReport) -> Entry | None:
    """Return the entry if it exists and is whole; a damaged one is noted in the report."""
    if not recipe.place.exists():
        return None
    try:
        return verify(recipe, recipe.place, again=False)
    except DamagedEntry as error:
        report.note(f"The {recipe.name} in {recipe.place} is damaged ({error}); it is built again.")
        return None


def verify(recipe: Recipe, path: Path, *, again: bool = True) -> Entry:
    """Check an entry by its manifest, `again` also if it is known. Raises DamagedEntry."""
    try:
        manifest = json_value((path / MANIFEST).read_bytes())
        stated = {
            name: (manifest["files"][name]["size"], manifest["files"][name]["sha256"])
            for name in recipe.outputs
        }
        facts, key = dict(manifest["facts"]), manifest["key"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedEntry(f"{MANIFEST}: {error!r}") from error
    if key != recipe.key:
        raise DamagedEntry("another recipe made it")
    if again or not _is_known(path, [MANIFEST, *stated]):
        begun = time.monotonic()
        for name, expected in stated.items():
            check_file(path / name, expected)
        if time.monotonic() - begun < _BRIEF:
            stamp = folder() / _CHECKED / path.name
            with suppress(OSError):  # a cache that cannot be written to is checked each time
                stamp.parent.mkdir(exist_ok=True)
                stamp.touch()
    return Entry(path, {name: digest for name, (_, digest) in stated.items()}, facts)


def _is_known(path: Path, names: Iterable[str]) -> bool:
    """Check that the files were checked within a day and have not changed since."""
    try:
        checked = (folder() / _CHECKED / path.name).stat().st_mtime
        changed = max((path / name).stat().st_ctime for name in names)
    except OSError:
        return False
    return 0 <= time.time() - checked < _KEPT and changed + _SETTLED < checked


def check_file(file: Path, expected: tuple[int, str]) -> None:
    """Raises DamagedEntry unless the file has this size, which is looked at first, and SHA-256."""
    try:
        whole = file.stat().st_size == expected[0] and digest_of(file) == expected[1]
    except OSError as error:
        raise DamagedEntry(f"{file.name}: {error.strerror}") from error
    except StrangeFile as error:
        raise DamagedEntry(f"{file.name}: {error.reason}") from error
    if not whole:
        raise DamagedEntry(f"{file.name} differs from its SHA-256")


def build(recipe: Recipe, report: BuildReport) -> Entry:
    """Build the entry and put it in its place. The recipe's lock must be held."""
    recipe.log.write_bytes(b"")
    with temporary(recipe.entry) as work, temporary(recipe.entry) as finished:
        begun = time.monotonic()
        facts = recipe.build(Workshop(work, recipe.log, report))
        seconds = round(time.monotonic() - begun, 1)
        files = {}
        for name in recipe.outputs:
            os.replace(work / name, finished / name)
            size = (finished / name).stat().st_size
            files[name] = {"size": size, "sha256": digest_of(finished / name)}
        manifest = {"format": FORMAT, "name": recipe.name, "key": recipe.key}
        manifest |= {"files": files, "facts": facts, "build_seconds": seconds}
        (finished / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        for name in (*recipe.outputs, MANIFEST):  # all of it is on the disk
            with (finished / name).open("rb") as stream:
                os.fsync(stream.fileno())
        install(finished, recipe.place_if_built)
    shutil.rmtree(recipe.place_if_given, ignore_errors=not recipe.place_if_given.exists())
    return verify(recipe, recipe.place_if_built)


def install(finished: Path, path: Path) -> None:
    """Rename a finished folder to its place; what it replaces goes with a temporary folder."""
    with temporary(entry_of(path)) as aside:
        if path.exists():
            os.replace(path, aside / "old")
        os.replace(finished, path)
    path.chmod(0o755)


def entry_of(path: Path) -> str:
    """Return `Recipe.entry` for a folder of the cache."""
    return "-".join(path.name.split("-")[:2])


@contextmanager
def temporary(entry: str) -> Iterator[Path]:
    """Provide a temporary folder in the cache; `locked` removes it after a kill."""
    path = Path(tempfile.mkdtemp(prefix=f".{entry}-", dir=folder()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=not path.exists())


@contextmanager
def locked(entry: str, report: BuildReport) -> Iterator[None]:
    """Hold the lock for builds of this entry, and remove what killed ones of its name left."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        file = _lock_file(entry)
    except OSError as error:
        remedy = "Make it writable, or name another folder in TCPLAB_CACHE."
        problem = f"The cache folder {folder()} cannot be written to: {error.strerror}."
        raise TcplabError(problem, remedy) from error
    with file:
        if not scratch.lock_if_free(file):
            name = entry.partition("-")[0]
            report.note(f"Another build of the {name} is running; waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        for leftover in folder().glob(f".{entry.partition('-')[0]}-*"):  # of dead builds
            other = leftover.name[1:].rpartition("-")[0]
            with _lock_file(other) as its_lock:
                if other == entry or scratch.lock_if_free(its_lock):
                    shutil.rmtree(leftover, ignore_errors=not leftover.exists())
        yield


def _lock_file(entry: str) -> IO[str]:
    return (folder() / f"{entry}.lock").open("a")
