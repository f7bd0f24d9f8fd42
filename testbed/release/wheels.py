"""The wheels of a release: `tcplab` with the engine, and `tcplab-lab` with all that guests need.

One wheel of the code serves every CPython from 3.11 on (abi3) and every Linux with the engine's C
library (manylinux, PEP 600), and asks for the lab of its version. The lab has the licences of its
programs, and says where their sources are.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from testbed import VERSION
from testbed.builds import Workshop
from testbed.builds.cache import BROUGHT_BY, MANIFEST, PREBUILT, Entry, Facts, Recipe
from testbed.builds.debian import SNAPSHOT, contents, extract, read_lock
from testbed.builds.engine import released_environment
from testbed.host import CODE, HOME
from testbed.lab import image as image_recipe
from testbed.lab import tools as tools_recipe
from testbed.lab.kernel import DEFAULT, kernel_version
from testbed.release.archive import PIP, called, python_module
from topologies.errors import TcplabError
from topologies.notation import toml_file

COPYRIGHT, GPL = "COPYRIGHT", "GPL-2"
DEBIAN = {
    image_recipe.LOCK: (image_recipe.SUITE, tuple(image_recipe.wanted())),
    tools_recipe.LOCK: (tools_recipe.SUITE, tools_recipe.WANTED),
}
"""Each lock of Debian's packages with its suite and what is wanted of it."""
_PAGES = "usr/share/doc"
_COMMON = "usr/share/common-licenses"


def notices_recipe() -> Recipe:
    """Return the recipe for the copyright files of all packages in one, and the kernel's."""
    return Recipe("notices", tuple(DEBIAN), (COPYRIGHT, GPL), build_notices)


def build_notices(workshop: Workshop) -> Facts:
    """Leave both files in the workshop. Raises TcplabError, CommandError."""
    root = workshop.folder / "root"
    for lock, (suite, _) in DEBIAN.items():
        for _, packed in contents(read_lock(lock), suite, workshop.report):
            extract(packed, root, lambda name: name.startswith((_PAGES, _COMMON)))
    # Now, since pages of one package may be a link to those of another.
    names = {package.name for lock in DEBIAN for package in read_lock(lock).packages}
    texts = {name: (root / _PAGES / name / "copyright").read_text() for name in names}
    written = (f"{'=' * 80}\n{name}\n{'=' * 80}\n{text}\n" for name, text in sorted(texts.items()))
    (workshop.folder / COPYRIGHT).write_text("".join(written))
    (workshop.folder / GPL).write_text((root / _COMMON / GPL).read_text())
    return {}


def sources() -> Iterator[str]:
    """Yield the lines of a page that says where the source of each program is."""
    kernel = kernel_version(DEFAULT)
    yield "# Sources\n"
    yield "tcplab-lab has programs of others, as they are or compiled. Their sources are here:\n"
    yield f"* Linux {kernel.version} (GPL-2.0-only): {kernel.url}, and as the package"
    yield f"  {kernel.package} of Debian, SHA-256 of its tarball {kernel.sha256}. Patches,"
    yield "  configuration and programs are in `testbed/lab/kernel` of the same version of tcplab."
    yield "* Debian's packages: `apt-get source PACKAGE=VERSION`, or from the archive of all that"
    yield f"  Debian published, {SNAPSHOT.partition('/archive')[0]}/binary/PACKAGE/VERSION/:\n"
    every = (package for lock in DEBIAN for package in read_lock(lock).packages)
    yield from sorted({f"    {package.name} {package.version}" for package in every})


LARGEST = 100_000_000
"""Bytes that package indexes take of a file."""
LAB = "tcplab-lab"
_NOT_SOURCE = (".*", "runs", "build", "dist", "target", "*.egg-info", "*.so", "__pycache__")
_C_LIBRARY = re.compile(r"GLIBC_2\.(\d+)")
_METADATA, _TAGS = toml_file(Path(__file__).with_name("lab-wheel.toml")).values()
"""Those of the lab's wheel."""


def make_wheels(
    work: Path, code: Iterable[Entry], lab: Iterable[Entry], texts: Entry
) -> list[Path]:
    """Return the wheels of code and lab, with the licences in `texts`. Raises TcplabError."""
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
    page = "\n".join(sources()) + "\n"
    (about / "licenses/SOURCES.md").write_text(page)
    for name in texts.files:
        shutil.copyfile(texts.folder / name, about / "licenses" / name)
    (about / "METADATA").write_text(_METADATA.replace("VERSION", VERSION) + page)
    (about / "WHEEL").write_text(_TAGS)
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
