"""The wheels of a release: `tcplab` with the engine, and `tcplab-lab` with all that guests need.

One wheel of the code serves every CPython from 3.11 on (abi3) and every Linux with the C library
that the engine needs (manylinux, PEP 600). It asks for the lab of its version. pip unpacks the lab
with the modes that it needs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from testbed import VERSION
from testbed.builds.cache import BROUGHT_BY, MANIFEST, Entry
from testbed.builds.engine import released_environment
from testbed.builds.prebuilt import PREBUILT
from testbed.host.naming import CODE, HOME
from testbed.release import contents
from testbed.release.archive import PIP, called, python_module
from topologies.errors import TcplabError

LARGEST = 100_000_000
"""Bytes that package indexes take of a file."""
LAB = "tcplab-lab"
_NOT_SOURCE = (".*", "runs", "build", "dist", "target", "*.egg-info", "*.so", "__pycache__")
_C_LIBRARY = re.compile(r"GLIBC_2\.(\d+)")
_LAB_METADATA = f"""\
Metadata-Version: 2.4
Name: {LAB}
Version: {VERSION}
Summary: The lab kernel of tcplab, and the image, programs and sandbox of its guests
License-Expression: GPL-2.0-only AND LicenseRef-Debian-packages
License-File: {contents.GPL}
License-File: {contents.COPYRIGHT}
License-File: SOURCES.md
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.11
Description-Content-Type: text/markdown

"""
# The oldest platform of indexes: all programs of the lab are static, or bring their libraries.
_LAB_TAGS = """\
Wheel-Version: 1.0
Generator: tcplab
Root-Is-Purelib: false
Tag: py3-none-manylinux_2_17_x86_64
"""


def make_wheels(
    work: Path, code: Iterable[Entry], lab: Iterable[Entry], texts: Entry
) -> list[Path]:
    """Return the wheels of code and lab, in folders of `work`, with the licences in `texts`.

    Raises TcplabError, CommandError.
    """
    wheels = [_code_wheel(work, code), _lab_wheel(work, lab, texts)]
    for wheel in wheels:
        if (size := wheel.stat().st_size) > LARGEST:
            problem = f"{wheel.name} has {size} bytes, and an index takes {LARGEST}."
            raise TcplabError(problem, "See which part of the lab has grown.")
    return wheels


def _code_wheel(work: Path, entries: Iterable[Entry]) -> Path:
    called(python_module("wheel", "unpack", "--dest", work / "wheel", _of_code(work)), work)
    (tree,) = (work / "wheel").iterdir()
    engine = next((tree / HOME).rglob("_core*.so"), None)
    if not engine:
        raise TcplabError("The wheel has no engine.", "Check that cargo compiles it.")
    shutil.rmtree(tree / HOME / PREBUILT.name)  # the other wheel has all that guests run on
    for entry in entries:
        add_entry(entry, tree / HOME / "brought")
    about, first = tree / f"{HOME}-{VERSION}.dist-info", "Requires-Dist: "
    asked = f"{first}{LAB}=={VERSION}\n{first}"
    for name, old, new in (
        ("METADATA", first, asked),
        ("WHEEL", "linux_x86_64", platform_tag(engine)),
    ):
        (about / name).write_text((about / name).read_text().replace(old, new, 1))
    return _packed(tree, work / "code-wheel")


def _lab_wheel(work: Path, entries: Iterable[Entry], texts: Entry) -> Path:
    tree = work / "lab"
    package, about = tree / BROUGHT_BY, tree / f"{BROUGHT_BY}-{VERSION}.dist-info"
    (about / "licenses").mkdir(parents=True)
    for entry in entries:
        add_entry(entry, package / "brought")
    (package / "__init__.py").write_text('"""The lab of tcplab."""\n')
    page = "\n".join(contents.sources()) + "\n"
    (about / "licenses/SOURCES.md").write_text(page)
    for name in texts.files:
        shutil.copyfile(texts.folder / name, about / "licenses" / name)
    (about / "METADATA").write_text(_LAB_METADATA + page)
    (about / "WHEEL").write_text(_LAB_TAGS)
    return _packed(tree, work / "lab-wheel")


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
    called([sys.executable, "-P", PIP, "wheel", *options, source], work, **environment)
    return next((work / "code").glob("*.whl"))


def _packed(tree: Path, folder: Path) -> Path:
    """Return the wheel of a folder, with its list of files (RECORD)."""
    folder.mkdir()
    called(python_module("wheel", "pack", "--dest-dir", folder, tree), folder)
    (packed,) = folder.iterdir()
    return packed
