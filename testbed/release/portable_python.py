"""A Python that runs on any Linux: the guest's own, out of the image, with its C library.

The dynamic loader beside it starts it, so nothing of the machine is used but its kernel and its
shell. It finds its modules from where it lies (PYTHONHOME is not needed), and neither the
environment nor the folder that it is started in changes what it imports (-I).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed.release.called import called

_PLACE = "usr/lib/x86_64-linux-gnu"
_PROGRAM, _MODULES = "usr/bin/python3.11", "usr/lib/python3.11"
_LIBRARIES = (
    "ld-linux-x86-64.so.2",
    "libbz2.so.1.0",
    "libc.so.6",
    "libcrypt.so.1",
    "libcrypto.so.3",
    "libdl.so.2",
    "libexpat.so.1",
    "libffi.so.8",
    "libgcc_s.so.1",
    "liblzma.so.5",
    "libm.so.6",
    "libncursesw.so.6",
    "libpanelw.so.6",
    "libpthread.so.0",
    "libreadline.so.8",
    "librt.so.1",
    "libsqlite3.so.0",
    "libssl.so.3",
    "libstdc++.so.6",
    "libtinfo.so.6",
    "libutil.so.1",
    "libuuid.so.1",
    "libz.so.1",
)
"""What Python's own modules and the wheels of PyPI ask for."""
PACKAGES = "lib/python3/dist-packages"
"""Where it looks for libraries."""
_START = """\
#!/bin/sh
# Python with the C library beside it, whatever this machine has. It is called by its whole path.
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
    for library in _LIBRARIES:
        shutil.copy(root / _PLACE / library, folder / "lib" / library)
    shutil.copy(root / _PROGRAM, folder / "bin")
    (folder / "bin/python3").write_text(_START)
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
