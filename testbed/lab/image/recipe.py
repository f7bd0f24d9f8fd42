"""The guest's root file system: the distribution's packages, unpacked and squashed into one
read-only file.

The packages are those of packages.lock, whatever a mirror has by now, and the same packages give
the same bytes: no script of a package runs, configure.sh runs the guest's
own programs in a sealed folder, all times are 0 and all owners root. Only the release itself is
used, not its updates and security suites: a guest is never reached from outside, and an image
should not differ from week to week. It needs no privilege and no user ids but the caller's own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed.host.packages import install_missing
from testbed.recipes import cache
from testbed.recipes.apt import Apt, read_lock
from testbed.recipes.building import Workshop, need_space
from testbed.recipes.cache import Facts, Recipe

HERE = Path(__file__).parent
SUITE = "bookworm"
IMAGE = "image.squashfs"
PACKAGES = "packages.tsv"
PATIENT = "patient.so"
LOCK = HERE / "packages.lock"
IMAGE_TOOLS = ("bwrap", "mksquashfs", "dpkg-deb", "tar")
BUILD_SPACE = 700_000_000
"""Bytes: packages 70 MB, unpacked 300 MB, image 70 MB."""

# What only people read, in /usr/share.
LEFT_OUT = ("man", "doc", "locale", "info", "lintian")
MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of / that are links into /usr, as Debian's own installer makes them before it unpacks a
package.
"""
# Words that follow are tar's.
EXTRACT = (
    "bash",
    "-o",
    "pipefail",
    "-c",
    'for deb in apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C root "$@" ||'
    " exit; done",
    "unpack",
    "--keep-directory-symlink",
    "--same-permissions",
    "--no-same-owner",
)
_FLAGS = "-O2 -Wall -Wextra -shared -fPIC -s -Wl,--build-id=none -x c"
COMPILE = ("gcc", *_FLAGS.split(), "-o", "root/usr/lib/tcplab/patient.so", "-")
# lz4: every run reads the image, and others take several times as long to unpack. mksquashfs
# refuses -mkfs-time next to SOURCE_DATE_EPOCH, which means the same.
_OPTIONS = "-comp lz4 -all-root -no-xattrs -no-progress -quiet -all-time 0 -mkfs-time 0"
SQUASH = ("env", "-u", "SOURCE_DATE_EPOCH", "mksquashfs", "root", IMAGE, *_OPTIONS.split())


def image_recipe() -> Recipe:
    """Return the recipe for the image and the list of the packages in it."""
    files = tuple(HERE / name for name in ("packages.lock", "configure.sh", "patient.c"))
    steps = (LEFT_OUT, MERGED, EXTRACT, COMPILE, SQUASH)
    return Recipe("image", files, (IMAGE, PACKAGES), build_image, steps=steps)


def patient_recipe() -> Recipe:
    """Return the recipe for the library that comes with the code: an image needs no compiler."""
    return Recipe("patient", (HERE / "patient.c",), (PATIENT,), build_patient, steps=COMPILE)


def build_patient(workshop: Workshop) -> Facts:
    """Leave the library in the workshop. Raises TcplabError, CommandError."""
    install_missing(("bwrap", "gcc"))
    (workshop.folder / "root/usr/lib/tcplab").mkdir(parents=True)
    workshop.run("Compiling patient.so", COMPILE, source=HERE / "patient.c")
    shutil.move(workshop.folder / "root/usr/lib/tcplab" / PATIENT, workshop.folder)
    return {}


def build_image(workshop: Workshop) -> Facts:
    """Leave the image and its packages.tsv in the workshop. Raises TcplabError, CommandError."""
    install_missing(IMAGE_TOOLS)
    need_space(workshop.folder, BUILD_SPACE)
    lock = read_lock(LOCK)
    packages = Apt(workshop, SUITE).download_locked(lock)
    versions = lock.versions
    rows = (f"{name}\t{version}\n" for name, version in versions.items())
    (workshop.folder / PACKAGES).write_text("".join(rows))
    unpack(workshop, packages)
    workshop.run("Configuring the guest", ["sh", "-"], root="root", source=HERE / "configure.sh")
    patient = cache.ready(patient_recipe(), workshop.report).folder / PATIENT
    (workshop.folder / "root/usr/lib/tcplab").mkdir()
    shutil.copyfile(patient, workshop.folder / "root/usr/lib/tcplab" / PATIENT)
    (workshop.folder / "root/usr/lib/tcplab" / PATIENT).chmod(0o755)
    workshop.run("Squashing the image", SQUASH)
    shutil.rmtree(workshop.folder / "root")
    return {"suite": SUITE, "packages": versions}


def wanted() -> list[str]:
    """Return the packages of packages.txt, from which the lock is made."""
    lines = (HERE / "packages.txt").read_text().splitlines()
    return [row for line in lines if (row := line.partition("#")[0].strip())]


def unpack(workshop: Workshop, packages: list[Path]) -> None:
    """Unpack the packages into `root` without running their scripts."""
    root = workshop.folder / "root"
    root.mkdir()
    root.chmod(0o755)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    left_out = [f"--exclude=./usr/share/{name}/*" for name in LEFT_OUT]
    workshop.run(f"Unpacking {len(packages)} packages", [*EXTRACT, *left_out])
