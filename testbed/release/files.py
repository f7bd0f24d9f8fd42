"""What a release is made of: the wheels `tcplab` and `tcplab-lab`, and an archive of both.

One wheel of the code, with the engine, serves every CPython from 3.11 on (abi3) and every Linux
with the engine's C library (manylinux, PEP 600), and asks for the lab of its version. The lab has
all that guests need, the licences of its programs, and says where their sources are.

The archive runs on any x86-64 Linux with /bin/sh. It is a gzip, as container images often lack xz.
Its Python is the guest's, started by the dynamic loader next to it; environment and current folder
do not change what it imports (-I).
"""

import gzip
import os
import re
import shutil
import stat
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from testbed import VERSION
from testbed.builds import Workshop
from testbed.builds.cache import BROUGHT_BY, MANIFEST, PREBUILT, Entry, Facts, Recipe
from testbed.builds.debian import SNAPSHOT, contents, extract, read_lock
from testbed.builds.engine import released_environment
from testbed.guest.programs import run
from testbed.host import CODE, HOME
from testbed.lab import image as image_recipe
from testbed.lab import tools as tools_recipe
from testbed.lab.kernel import DEFAULT, kernel_version
from topologies.errors import TcplabError
from topologies.notation import toml_file

STEADY = {"SOURCE_DATE_EPOCH": "315532800", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
"""The oldest time that a zip knows (1980), without what differs from machine to machine."""


def called(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """Run a program in `folder` and return its output. Raises CommandError."""
    return run(command, "", folder, STEADY | environment)


PIP = Path(sys.prefix, "pip.whl/pip")
"""Of a checkout's environment (testbed.lab.environment): Python starts the folder in the wheel."""


def python_module(name: str, *arguments: str | Path) -> list[str | Path]:
    """Return the command that starts a module of an installed library."""
    return [sys.executable, "-P", "-m", name, *arguments]


_PLACE = "usr/lib/x86_64-linux-gnu"
_PROGRAM, _MODULES = "usr/bin/python3.11", "usr/lib/python3.11"
_LIBRARIES = """
ld-linux-x86-64.so.2 libbz2.so.1.0 libc.so.6 libcrypt.so.1 libcrypto.so.3 libdl.so.2 libexpat.so.1
libffi.so.8 libgcc_s.so.1 liblzma.so.5 libm.so.6 libncursesw.so.6 libpanelw.so.6 libpthread.so.0
libreadline.so.8 librt.so.1 libsqlite3.so.0 libssl.so.3 libstdc++.so.6 libtinfo.so.6 libutil.so.1
libuuid.so.1 libz.so.1
"""
"""What Python's own modules and the wheels of PyPI ask for."""
PACKAGES = "lib/python3/dist-packages"  # where it looks for libraries
_START = """\
#!/bin/sh
# Python with the C library next to it, whatever this machine has. It is called by its whole path.
here=${0%/*}
exec "$here/../lib/ld-linux-x86-64.so.2" --inhibit-cache --library-path "$here/../lib" \\
    --argv0 "$0" "$here/python3.11" -I "$@"
"""


def make_python(image: Path, work: Path, folder: Path) -> None:
    """Make the folder of a Python from the guest's image. Raises CommandError."""
    root = work / "root"
    wanted = [_PROGRAM, _MODULES, _PLACE]
    called(["unsquashfs", "-no-progress", "-no-xattrs", "-dest", root, image, *wanted], work)
    (folder / "bin").mkdir(parents=True)
    shutil.copytree(root / _MODULES, folder / "lib/python3.11", symlinks=True)
    for library in _LIBRARIES.split():
        shutil.copy(root / _PLACE / library, folder / "lib" / library)
    shutil.copy(root / _PROGRAM, folder / "bin")
    (folder / "bin/python3").write_text(_START)
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)


NAME = f"tcplab-{VERSION}-linux-x86_64"
LOCKS = [CODE / "locks/python.lock", CODE / "locks/figures.lock"]
"""What the archive brings: there is no pip in it to add libraries of figures."""
_LAUNCHER = """\
#!/bin/sh
# tcplab, wherever this folder lies; it is self-contained.
link=$(readlink -f "$0")
exec "${link%/*}/python/bin/python3" -m tcplab.experiments.cli.main "$@"
"""
_KEPT = ("LICENSE", "README.md", "docs/licences.md")
_UNUSED = ("bin", "share", "**/__pycache__", "*.dist-info/RECORD", "*.dist-info/direct_url.json")
"""Of installed libraries: programs with this machine's Python in them, pages, and what changes."""


def make_tree(wheels: Sequence[Path], image: Path, work: Path) -> Path:
    """Return the folder of a release's wheels, with Python and libraries. Raises CommandError."""
    tree = work / "tree"
    make_python(image, work, tree / "python")
    packages = tree / "python" / PACKAGES
    # The locked libraries, by the archive's own Python and the checkout's pip.
    options = ["--only-binary", ":all:", "--require-hashes", "--no-compile", "--no-deps"]
    program = [str(tree / "python/bin/python3"), "-B", str(PIP), "install"]
    locks = [f"--requirement={lock}" for lock in LOCKS]
    called([*program, *options, "--target", str(packages), *locks], work)
    for pattern in _UNUSED:
        for unused in list(packages.glob(pattern)):
            shutil.rmtree(unused) if unused.is_dir() else unused.unlink()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            for info in packed.infolist():
                Path(packed.extract(info, packages)).chmod(info.external_attr >> 16 & 0o777)
    (tree / "tcplab").write_text(_LAUNCHER)
    (tree / "tcplab").chmod(0o755)
    for name in _KEPT:
        shutil.copyfile(CODE / name, tree / Path(name).name)
    return tree


def pack(tree: Path, target: IO[bytes], name: str) -> None:
    """Write a folder's content below a name as tar.gz: the same files give the same bytes."""
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path in sorted(tree.rglob("*")):
            member = Path(name, path.relative_to(tree))
            archive.add(path, str(member), recursive=False, filter=_steady)


def _steady(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
    return member


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
    return Recipe("notices", tuple(DEBIAN), (COPYRIGHT, GPL), _build_notices)


def _build_notices(workshop: Workshop) -> Facts:
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


LARGEST = 100_000_000  # bytes that package indexes take of a file
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
    source = work / "source"
    shutil.copytree(CODE, source, ignore=shutil.ignore_patterns(*_NOT_SOURCE), symlinks=True)
    # No path of this machine is in it.
    environment = released_environment(source) | {"CARGO_TARGET_DIR": str(work / "target")}
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(work / "code")]
    called([sys.executable, "-P", PIP, "wheel", *options, source], work, **environment)
    (built,) = (work / "code").glob("*.whl")
    called(python_module("wheel", "unpack", "--dest", work / "wheel", built), work)
    (tree,) = (work / "wheel").iterdir()
    engine = next((tree / HOME).rglob("_core*.so"), None)
    if not engine:
        raise TcplabError("The wheel has no engine.", "Check that cargo compiles it.")
    shutil.rmtree(tree / HOME / PREBUILT.name)  # the other wheel has all that guests run on
    for entry in entries:
        add_entry(entry, tree / HOME / "brought")
    about, first = tree / f"{HOME}-{VERSION}.dist-info", "Requires-Dist: "
    asked = f"{first}{LAB}=={VERSION}\n{first}"
    changes = {"METADATA": (first, asked), "WHEEL": ("linux_x86_64", platform_tag(engine))}
    for name, (old, new) in changes.items():
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


def _packed(tree: Path, folder: Path) -> Path:
    """Return the wheel of a folder, with its list of files (RECORD)."""
    folder.mkdir()
    called(python_module("wheel", "pack", "--dest-dir", folder, tree), folder)
    (packed,) = folder.iterdir()
    return packed
