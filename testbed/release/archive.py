"""The archive of a release: unpacked anywhere, it runs on any x86-64 Linux with /bin/sh.

It is a gzip, which tar unpacks everywhere: container images often lack xz and zstd. xz makes 46 MB
of the guest's image and gzip 61, in a sixth of the time.

Its Python is the guest's, from the image, with its C library. The dynamic loader next to it starts
it, so it uses this machine's kernel and shell only. It finds modules from its place (PYTHONHOME is
not needed); environment and current folder do not change what it imports (-I).

The container image of a release, made without a daemon: an OCI image layout in a tar.

Its lower layer is the guest's image, a Debian with Mininet, iperf, tcpdump and Python. The upper
one is the archive. `docker load`, `podman load` and `skopeo copy oci-archive:FILE` take it.
"""

import gzip
import hashlib
import io
import json
import shutil
import stat
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from testbed import VERSION
from testbed.host import CODE
from testbed.host.processes import output_of

STEADY = {"SOURCE_DATE_EPOCH": "315532800", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
"""The oldest time that a zip knows (1980), without what differs from machine to machine."""


def called(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """Run a program in `folder` and return its output. Raises CommandError."""
    return output_of(command, folder, STEADY | environment)


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


def make_archive(tree: Path, work: Path) -> Path:
    """Return the archive of that folder."""
    file = work / f"{NAME}.tar.gz"
    with file.open("wb") as target:
        pack(tree, target, NAME)
    return file


def install_libraries(python: Path, work: Path) -> None:
    """Install the locked libraries with the archive's own Python, by the checkout's pip."""
    packages = python / PACKAGES
    options = ["--only-binary", ":all:", "--require-hashes", "--no-compile", "--no-deps"]
    program = [str(python / "bin/python3"), "-B", str(PIP), "install"]
    called([*program, *options, "--target", str(packages), "--requirement", str(LOCK)], work)
    for pattern in _UNUSED:
        for unused in list(packages.glob(pattern)):
            shutil.rmtree(unused) if unused.is_dir() else unused.unlink()


def pack(tree: Path, target: IO[bytes], name: str = "") -> None:
    """Write a folder's content below a name as tar.gz: the same files give the same bytes."""
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as packed:
        write_tar(tree, packed, name)


def write_tar(tree: Path, target: IO[bytes] | gzip.GzipFile, name: str = "") -> None:
    """Write a folder's content below a name as tar: the same files give the same bytes."""
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(tree.rglob("*")):
            member = Path(name, path.relative_to(tree))
            archive.add(path, str(member), recursive=False, filter=_steady)


def _steady(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    if not member.mode & stat.S_ISVTX:  # /tmp; other modes depend on who makes the release
        shared = 0o755 if member.mode & stat.S_IXUSR else 0o644
        member.mode = member.mode & ~0o077 | shared
    return member


IMAGE_NAME = f"tcplab-{VERSION}-oci.tar"
PLACE = "opt/tcplab"
_TYPE = "application/vnd.oci.image"
_SETTINGS = {
    "Entrypoint": [f"/{PLACE}/tcplab"],
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LC_ALL=C.UTF-8"],
    "WorkingDir": "/work",
    "Labels": {
        "org.opencontainers.image.title": "tcplab",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "MIT AND GPL-2.0-only",
    },
}


def make_oci(tree: Path, image: Path, work: Path) -> Path:
    """Return the image of an archive's tree on the guest's root. Raises CommandError."""
    layout, root, top = work / "oci", work / "oci-root", work / "oci-top"
    (layout / "blobs/sha256").mkdir(parents=True)
    called(["unsquashfs", "-no-progress", "-no-xattrs", "-dest", root, image], work)
    (top / "work").mkdir(parents=True)
    (top / "work").chmod(0o1777)
    (top / "usr/local/bin").mkdir(parents=True)
    (top / "usr/local/bin/tcplab").symlink_to(f"/{PLACE}/tcplab")
    shutil.copytree(tree, top / PLACE, symlinks=True)
    layers, plain = [], []
    for folder in (root, top):
        packed = io.BytesIO()
        pack(folder, packed)
        plain.append(_digest(gzip.decompress(packed.getvalue())))
        layers.append(_blob(layout, "layer.v1.tar+gzip", packed.getvalue()))
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "config": _SETTINGS,
        "rootfs": {"type": "layers", "diff_ids": plain},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_TYPE}.manifest.v1+json",
        "config": _blob(layout, "config.v1+json", _json(settings)),
        "layers": layers,
    }
    listed = _blob(layout, "manifest.v1+json", _json(manifest))
    listed["annotations"] = {"org.opencontainers.image.ref.name": VERSION}
    (layout / "index.json").write_bytes(_json({"schemaVersion": 2, "manifests": [listed]}))
    (layout / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    with (work / IMAGE_NAME).open("wb") as target:
        write_tar(layout, target)
    return work / IMAGE_NAME


def _blob(layout: Path, kind: str, content: bytes) -> dict[str, Any]:
    """Add content to the layout and return its descriptor."""
    digest = _digest(content)
    (layout / "blobs" / digest.replace(":", "/")).write_bytes(content)
    return {"mediaType": f"{_TYPE}.{kind}", "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
