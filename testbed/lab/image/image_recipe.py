"""The guest's root file system: the distribution's packages, unpacked and squashed into one
read-only file.

The packages are those of packages.lock, whatever a mirror has by now, and the same packages give
the same bytes: no script of a package runs, configure.sh runs the guest's
own programs in a sealed folder, all times are 0 and all owners root. Only the release itself is
used, not its updates and security suites: nothing reaches the guest from outside, and an image
should not differ from week to week. It needs no privilege and no user ids but the caller's own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed.recipes.apt import Apt
from testbed.recipes.building import Workshop, need_space, need_tools
from testbed.recipes.cache import Facts, Recipe
from testbed.recipes.package_lock import read_lock

HERE = Path(__file__).parent
SUITE = "bookworm"
IMAGE = "image.squashfs"
PACKAGES = "packages.tsv"
LOCK = HERE / "packages.lock"
IMAGE_TOOLS = ("bwrap", "gcc", "mksquashfs", "dpkg-deb", "tar")
BUILD_SPACE = 700_000_000
"""Bytes: packages 70 MB, unpacked 300 MB, image 70 MB."""

# What only people read, in /usr/share.
LEFT_OUT = ("man", "doc", "locale", "info", "lintian")
MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of / that are links into /usr, as Debian's own installer makes them before it unpacks a
package.
"""


def image_recipe() -> Recipe:
    """The recipe for the image and the list of the packages in it."""
    files = tuple(
        HERE / name for name in ("packages.lock", "configure.sh", "patient.c", "image_recipe.py")
    )
    return Recipe("image", files, (IMAGE, PACKAGES), build_image)


def build_image(workshop: Workshop) -> Facts:
    """Leave the image and its packages.tsv in the workshop. Raises TcplabError, CommandError."""
    need_tools(IMAGE_TOOLS)
    need_space(workshop.folder, BUILD_SPACE)
    lock = read_lock(LOCK)
    packages = Apt(workshop, SUITE).download_locked(lock)
    versions = lock.versions
    (workshop.folder / PACKAGES).write_text(
        "".join(f"{name}\t{version}\n" for name, version in versions.items())
    )
    unpack(workshop, packages)
    configure(workshop)
    squash(workshop)
    return {"suite": SUITE, "packages": versions}


def wanted() -> list[str]:
    """The packages of packages.txt, from which the lock is made."""
    rows = (
        line.partition("#")[0].strip() for line in (HERE / "packages.txt").read_text().splitlines()
    )
    return [row for row in rows if row]


def unpack(workshop: Workshop, packages: list[Path]) -> None:
    """Unpack the packages into `root`; nothing of them runs."""
    root = workshop.folder / "root"
    root.mkdir()
    root.chmod(0o755)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    options = ["--keep-directory-symlink", "--same-permissions", "--no-same-owner"]
    left_out = [f"--exclude=./usr/share/{name}/*" for name in LEFT_OUT]
    extract = (
        'for deb in apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C root "$@" ||'
        " exit; done"
    )
    command = ["bash", "-o", "pipefail", "-c", extract, "unpack", *options, *left_out]
    workshop.run(f"Unpacking {len(packages)} packages", command)


def configure(workshop: Workshop) -> None:
    """Do what the packages' scripts would have done, and add iperf's preload library."""
    workshop.run("Configuring the guest", ["sh", "-"], root="root", source=HERE / "configure.sh")
    library = workshop.folder / "root/usr/lib/tcplab"
    library.mkdir()
    flags = ["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-s", "-Wl,--build-id=none", "-x", "c"]
    command = ["gcc", *flags, "-o", "root/usr/lib/tcplab/patient.so", "-"]
    workshop.run("Compiling patient.so", command, source=HERE / "patient.c")


def squash(workshop: Workshop) -> None:
    """Make the image. lz4: it is read in every run, and unpacks several times faster than the
    others.
    """
    options = ["-comp", "lz4", "-all-root", "-no-xattrs", "-no-progress", "-quiet"]
    times = ["-all-time", "0", "-mkfs-time", "0"]
    command = ["mksquashfs", "root", IMAGE, *options, *times]
    # mksquashfs refuses -mkfs-time beside SOURCE_DATE_EPOCH; both mean the same.
    workshop.run("Squashing the image", ["env", "-u", "SOURCE_DATE_EPOCH", *command])
    shutil.rmtree(workshop.folder / "root")
