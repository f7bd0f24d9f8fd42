"""The archive of a release: unpacked anywhere, it runs on any x86-64 Linux with /bin/sh.

gzip, because tar unpacks it everywhere: images of containers often have neither xz nor zstd. Of the
guest's image xz makes 46 MB and gzip 61, in a sixth of the time.
"""

from __future__ import annotations

import gzip
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pip as pip_of_this_python

from testbed import VERSION
from testbed.host.code import CODE
from testbed.release import portable_python
from testbed.release.called import called

NAME = f"tcplab-{VERSION}-linux-x86_64"
LOCK = CODE / "locks/cluster.lock"
"""What the archive brings: there is no pip in it to add a cluster's libraries with."""
_START = """\
#!/bin/sh
# tcplab, wherever this folder lies; it needs nothing else of this machine.
link=$(readlink -f "$0")
exec "${link%/*}/python/bin/python3" -m tcplab.experiments.cli.main "$@"
"""
_KEPT = ("LICENSE", "README.md", "docs/licences.md")
_UNUSED = ("bin", "share", "**/__pycache__", "*.dist-info/RECORD", "*.dist-info/direct_url.json")
"""Of installed libraries: programs with this machine's Python in them, pages, and what changes."""


def make_archive(wheel: Path, image: Path, work: Path) -> Path:
    """The archive of a release's wheel, with Python and libraries. Raises CommandError."""
    tree = work / "tree"
    portable_python.make_python(image, work, tree / "python")
    install_libraries(tree / "python", work)
    packages = tree / "python" / portable_python.PACKAGES
    with zipfile.ZipFile(wheel) as packed:
        for info in packed.infolist():
            Path(packed.extract(info, packages)).chmod(info.external_attr >> 16 & 0o777)
    (tree / "tcplab").write_text(_START)
    (tree / "tcplab").chmod(0o755)
    for name in _KEPT:
        shutil.copyfile(CODE / name, tree / Path(name).name)
    archive = work / f"{NAME}.tar.gz"
    pack(tree, NAME, archive)
    return archive


def install_libraries(python: Path, work: Path) -> None:
    """Install the locked libraries with the archive's own Python, for which they are then meant.

    It has no pip: it runs this one's.
    """
    packages = python / portable_python.PACKAGES
    options = ["--only-binary", ":all:", "--require-hashes", "--no-compile", "--no-deps"]
    pip = str(Path(pip_of_this_python.__file__).parent)
    program = [str(python / "bin/python3"), "-B", pip, "install"]
    called([*program, *options, "--target", str(packages), "--requirement", str(LOCK)], work)
    for pattern in _UNUSED:
        for unused in list(packages.glob(pattern)):
            shutil.rmtree(unused) if unused.is_dir() else unused.unlink()


def pack(tree: Path, name: str, archive: Path) -> None:
    """Pack a folder under a name: the same files give the same bytes, whoever made them when."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as packed,
    ):
        for path in sorted(tree.rglob("*")):
            if path.is_symlink() or path.is_file():
                member = packed.gettarinfo(path, f"{name}/{path.relative_to(tree)}")
                _add(packed, _plain(member), path)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """No owner, no time, and of its modes whether it is a program; no hard link to another."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    if member.islnk():
        member.type, member.linkname = tarfile.REGTYPE, ""
    member.mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
    return member


def _add(packed: tarfile.TarFile, member: tarfile.TarInfo, file: Path) -> None:
    if member.issym():
        packed.addfile(member)
        return
    member.size = file.stat().st_size
    with file.open("rb") as content:
        packed.addfile(member, content)
