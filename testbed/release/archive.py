"""The archive of a release: unpacked anywhere, it runs on any x86-64 Linux with /bin/sh.

It is a gzip, as container images often lack xz. Its Python is the guest's, started by the dynamic
loader next to it; environment and current folder do not change what it imports (-I).
"""

import gzip
import shutil
import stat
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from testbed import VERSION
from testbed.guest.programs import run
from testbed.host import CODE

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
PACKAGES = "lib/python3/dist-packages"
"""Where it looks for libraries."""
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
LOCK = CODE / "locks/cluster.lock"
"""What the archive brings: there is no pip in it to add libraries of a cluster or of figures."""
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
    install_libraries(tree / "python", work)
    packages = tree / "python" / PACKAGES
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            for info in packed.infolist():
                Path(packed.extract(info, packages)).chmod(info.external_attr >> 16 & 0o777)
    (tree / "tcplab").write_text(_LAUNCHER)
    (tree / "tcplab").chmod(0o755)
    for name in _KEPT:
        shutil.copyfile(CODE / name, tree / Path(name).name)
    return tree


def install_libraries(python: Path, work: Path) -> None:
    """Install the locked libraries with the archive's own Python, by the checkout's pip."""
    packages = python / PACKAGES
    options = ["--only-binary", ":all:", "--require-hashes", "--no-compile", "--no-deps"]
    program = [str(python / "bin/python3"), "-B", str(PIP), "install"]
    called([*program, *options, "--target", str(packages), "--requirement", str(LOCK)], work)
    for pattern in _UNUSED:
        for unused in list(packages.glob(pattern)):
            shutil.rmtree(unused) if unused.is_dir() else unused.unlink()


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
