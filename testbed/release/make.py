"""Releases of a checkout's lab (`./tcplab release`): wheel, archive, and their digests.

The wheel holds the package with its compiled engine, and the lab. One wheel serves every CPython
from 3.11 on (abi3) and every Linux with the C library that the engine needs (manylinux, PEP 600).
pip unpacks the lab with the modes that it needs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import VERSION
from testbed.host.naming import CODE, HOME
from testbed.lab.bubblewrap.recipe import bubblewrap_recipe
from testbed.lab.kernel.built import modules_part
from testbed.lab.parts import NOT_A_RELEASE, parts, release_of, state_release
from testbed.lab.ready import Lab, lab
from testbed.recipes import cache
from testbed.recipes.building import BuildReport
from testbed.recipes.cache import MANIFEST, Entry
from testbed.recipes.engine import released_environment
from testbed.release.archive import called, make_archive, python_module
from testbed.virtual.run import compiled_entry
from topologies.foundation.errors import TcplabError
from topologies.foundation.untrusted import digest_of

SUMS = "SHA256SUMS"
LARGEST = 100_000_000
"""Bytes that package indexes take of a file."""
_NOT_SOURCE = (".*", "runs", "build", "dist", "target", "*.egg-info", "*.so", "__pycache__")
_C_LIBRARY = re.compile(r"GLIBC_2\.(\d+)")


def make_wheel(work: Path, entries: Sequence[Entry]) -> Path:
    """Return the wheel, in a new folder of `work`. Raises TcplabError, CommandError."""
    called(python_module("wheel", "unpack", "--dest", work / "wheel", _of_code(work)), work)
    (tree,) = (work / "wheel").iterdir()
    engine = next((tree / HOME).rglob("_core*.so"), None)
    if not engine:
        raise TcplabError("The wheel has no engine.", "Check that cargo compiles it.")
    for entry in entries:
        add_entry(entry, tree / HOME / "brought")
    wheel = _packed(tree, work / "dist", platform_tag(engine))
    if wheel.stat().st_size > LARGEST:
        raise TcplabError(
            f"The wheel has {wheel.stat().st_size} bytes, and an index takes {LARGEST}.",
            "See which part of the lab has grown.",
        )
    return wheel


def add_entry(entry: Entry, folder: Path) -> None:
    """Copy an entry of the cache to where a release has it, by its name alone."""
    name = entry.folder.name.partition("-")[0]
    (folder / name).mkdir(parents=True)
    for file in (*entry.files, MANIFEST):
        shutil.copyfile(entry.folder / file, folder / name / file)
        is_program = os.access(entry.folder / file, os.X_OK)
        (folder / name / file).chmod(0o755 if is_program else 0o644)


def platform_tag(engine: Path) -> str:
    """Return the manylinux tag of the oldest C library that has all functions of the engine."""
    printed = called(["readelf", "--version-info", "--wide", engine], engine.parent)
    return f"manylinux_2_{max(map(int, _C_LIBRARY.findall(printed)))}_x86_64"


def _of_code(work: Path) -> Path:
    """Return a wheel of this checkout's code, compiled so that no path of this machine is in it."""
    source = work / "source"
    shutil.copytree(CODE, source, ignore=shutil.ignore_patterns(*_NOT_SOURCE), symlinks=True)
    environment = released_environment(source) | {"CARGO_TARGET_DIR": str(work / "target")}
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(work / "code")]
    called(python_module("pip", "wheel", *options, source), work, **environment)
    return next((work / "code").glob("*.whl"))


def _packed(tree: Path, folder: Path, platform: str) -> Path:
    """Return the wheel of a folder, with its list of files (RECORD) and this platform."""
    folder.mkdir()
    called(python_module("wheel", "pack", "--dest-dir", folder, tree), folder)
    (packed,) = folder.iterdir()
    called(python_module("wheel", "tags", "--remove", "--platform-tag", platform, packed), folder)
    (tagged,) = folder.iterdir()
    return tagged


@dataclass(frozen=True)
class MadeRelease:
    """The files of a release, and their SHA-256 by name."""

    folder: Path
    digests: dict[str, str]


def make_release(out: Path, report: BuildReport, new: bool = False) -> MadeRelease:
    """Make wheel, archive and their list of digests in `out`.

    The lab must be the one that release.toml states; if it is to be a `new` one, that is written.
    Raises TcplabError, CommandError.
    """
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Make releases in a checkout.")
    ready = lab(report)
    _state(ready, new)
    entries = [
        cache.ready(recipe, report) for recipe in (*parts(), modules_part(), bubblewrap_recipe())
    ]
    entries.append(compiled_entry(ready))
    with cache.locked("release", report), cache.temporary("release") as work:
        report.step("Making the wheel")
        wheel = make_wheel(work, entries)
        report.step("Making the archive")
        archive = make_archive(wheel, ready.image, work)
        out.mkdir(parents=True, exist_ok=True)
        for file in (wheel, archive):
            shutil.move(file, out / file.name)
        digests = {file.name: digest_of(out / file.name) for file in (wheel, archive)}
        lines = (f"{digest}  {name}\n" for name, digest in digests.items())
        (out / SUMS).write_text("".join(lines))
        return MadeRelease(out, digests)


def _state(ready: Lab, new: bool) -> None:
    if release_of(ready.digests) == f"tcplab {VERSION}":
        return
    if not new:
        known = "another version" if release_of(ready.digests) != NOT_A_RELEASE else NOT_A_RELEASE
        raise TcplabError(
            f"The lab of this checkout is {known}: testbed/lab/release.toml states others.",
            "For a new release: ./tcplab release --new, and commit that file.",
        )
    state_release(VERSION, ready.digests)
