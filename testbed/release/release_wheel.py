"""The wheel of a release: the package with its compiled engine, and the lab beside the code.

One wheel for every CPython from 3.11 on (abi3) and every Linux with the C library that the engine
asks for (manylinux, PEP 600). pip unpacks it, so the lab lies ready, with the modes that it needs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from testbed.host.code import CODE
from testbed.host.naming import HOME
from testbed.recipes.cache import MANIFEST, Entry
from testbed.release.called import called, python_module
from topologies.foundation.errors import TcplabError

LARGEST = 100_000_000
"""Bytes that package indexes take of a file."""
_NOT_SOURCE = (".*", "runs", "build", "dist", "target", "*.egg-info", "*.so", "__pycache__")
_C_LIBRARY = re.compile(r"GLIBC_2\.(\d+)")


def make_wheel(work: Path, entries: Sequence[Entry]) -> Path:
    """The wheel, in a new folder of `work`. Raises TcplabError, CommandError."""
    tree = _unpacked(_of_code(work), work / "wheel")
    engine = next((tree / HOME).rglob("_core*.so"), None)
    if not engine:
        raise TcplabError("The engine was not compiled.", "Install cargo, which compiles it.")
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
    """The oldest C library that has every function the engine asks for, as manylinux names it."""
    printed = called(["readelf", "--version-info", "--wide", engine], engine.parent)
    return f"manylinux_2_{max(map(int, _C_LIBRARY.findall(printed)))}_x86_64"


def _of_code(work: Path) -> Path:
    """A wheel of this checkout's code, compiled so that no path of this machine is in it."""
    source = work / "source"
    shutil.copytree(CODE, source, ignore=shutil.ignore_patterns(*_NOT_SOURCE), symlinks=True)
    crates = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    moved = {str(source): "/tcplab", crates: "/cargo"}
    flags = [f"--remap-path-prefix={old}={new}" for old, new in moved.items()]
    environment = {
        "RUSTFLAGS": " ".join([*flags, "-C strip=symbols"]),
        "CFLAGS": " ".join(f"-ffile-prefix-map={old}={new}" for old, new in moved.items()),
        "CARGO_TARGET_DIR": str(work / "target"),
    }
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(work / "code")]
    called(python_module("pip", "wheel", *options, source), work, **environment)
    return next((work / "code").glob("*.whl"))


def _unpacked(wheel: Path, folder: Path) -> Path:
    called(python_module("wheel", "unpack", "--dest", folder, wheel), wheel.parent)
    (tree,) = folder.iterdir()
    return tree


def _packed(tree: Path, folder: Path, platform: str) -> Path:
    """The wheel of a folder, with its list of files (RECORD) and this platform."""
    folder.mkdir()
    called(python_module("wheel", "pack", "--dest-dir", folder, tree), folder)
    (packed,) = folder.iterdir()
    called(python_module("wheel", "tags", "--remove", "--platform-tag", platform, packed), folder)
    (tagged,) = folder.iterdir()
    return tagged
