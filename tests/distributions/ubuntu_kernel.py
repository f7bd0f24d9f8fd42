"""The kernel of Ubuntu 24.04 for an emulated computer, and what loads its rule for namespaces.

An ordinary user of Ubuntu 24.04 may make a user namespace, but no program in it gets a capability:
the profile `unprivileged_userns` of its package `apparmor` says so.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed.builds import BuildReport, Workshop
from testbed.builds.cache import Entry, Facts, Recipe, ready
from testbed.builds.debian import contents, read_lock
from testbed.lab.tools import sealed
from tests.native.stock_kernel import START, pack_disk

HERE = Path(__file__).parent
LOCK = HERE / "ubuntu.lock"
RULE = """\
mount -t securityfs securityfs /sys/kernel/security
apparmor_parser --replace /etc/apparmor.d/unprivileged_userns
echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns
"""
"""What Ubuntu does at its start, in the computer's shell."""
_MODULES = ("fs/9p", "fs/netfs", "fs/overlayfs", "net/9p")


def ubuntu_kernel(address: str) -> Entry:
    """From the mirror of Ubuntu at `address`, the first time. Raises TcplabError, CommandError."""
    recipe = Recipe("ubuntu", (Path(__file__), LOCK, START), ("vmlinuz", "initrd"), _build)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCPLAB_MIRROR", address)
        return ready(recipe, BuildReport())


def _build(workshop: Workshop) -> Facts:
    workshop = sealed(workshop, "dpkg-deb", "zstd")
    for package, deb in contents(read_lock(LOCK), "noble", workshop.report, bytes):
        (workshop.folder / package.file).write_bytes(deb)
        command = ["dpkg-deb", "--extract", package.file, "unpacked"]
        workshop.run(f"Unpacking {package.file}", command)
    unpacked = workshop.folder / "unpacked"
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    shutil.copy(image, workshop.folder / "vmlinuz")
    modules = unpacked / "lib/modules" / image.name.removeprefix("vmlinuz-")
    folders = [f"unpacked/lib/modules/{modules.name}/kernel/{name}" for name in _MODULES]
    workshop.run("Unpacking the modules", ["zstd", "--decompress", "--quiet", "-r", *folders])
    _add_apparmor(workshop.folder / "disk", unpacked)
    pack_disk(workshop, modules, _MODULES, unpacked / "usr/bin/busybox")
    return {"release": modules.name}


def _add_apparmor(disk: Path, unpacked: Path) -> None:
    """Its program that loads profiles, with its C library, and the profiles."""
    shutil.copytree(unpacked / "etc", disk / "etc")
    for name in ("ld-linux-x86-64.so.2", "libc.so.6"):
        for folder in ("lib64", "usr/lib/x86_64-linux-gnu"):
            place = disk / folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(unpacked / "usr/lib/x86_64-linux-gnu" / name, place)
    (disk / "bin").mkdir()
    shutil.copy(unpacked / "sbin/apparmor_parser", disk / "bin")
