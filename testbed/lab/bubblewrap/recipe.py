"""bubblewrap with the libraries that it needs, taken from Debian's packages: it runs on any Linux.

A release brings it. The dynamic loader next to it starts it with the libraries there, whatever
C library the machine has, if any.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed.host.packages import install_missing
from testbed.recipes.apt import Apt, read_lock
from testbed.recipes.building import Workshop
from testbed.recipes.cache import Facts, Recipe
from topologies.foundation.errors import TcplabError

HERE = Path(__file__).parent
LOCK = HERE / "packages.lock"
SUITE = "bookworm"
WANTED = ("bubblewrap",)
PROGRAM, LOADER = "bwrap", "ld-linux-x86-64.so.2"
LIBRARIES = ("libc.so.6", "libcap.so.2", "libselinux.so.1", "libpcre2-8.so.0")
PLACES = ("usr/bin", "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
"""Where its packages have these files."""


def bubblewrap_recipe() -> Recipe:
    """Return the recipe for the program, the loader and the libraries."""
    outputs = (PROGRAM, LOADER, *LIBRARIES)
    return Recipe("bubblewrap", (LOCK,), outputs, build_bubblewrap, steps=(outputs, PLACES))


def build_bubblewrap(workshop: Workshop) -> Facts:
    """Leave the files in the workshop. Raises TcplabError, CommandError."""
    install_missing(("bwrap", "dpkg-deb"))
    lock = read_lock(LOCK)
    (workshop.folder / "root").mkdir()
    for package in Apt(workshop, SUITE).download_locked(lock):
        command = ["dpkg-deb", "--extract", f"apt/archives/{package.name}", "root"]
        workshop.run("Unpacking bubblewrap", command)
    for name in (PROGRAM, LOADER, *LIBRARIES):
        found = (workshop.folder / "root" / place / name for place in PLACES)
        target = workshop.folder / name
        shutil.copyfile(next(filter(Path.exists, found)), target)
        target.chmod(0o755)
    return {"packages": lock.versions}


def bubblewrap_command() -> list[str]:
    """Return the command of this machine's program, or else of what a release brought.

    The machine's own comes first, because a distribution that keeps ordinary users from namespaces
    lets its own program make them. Raises TcplabError if there is none.
    """
    if own := shutil.which(PROGRAM):
        return [own]
    if (brought := bubblewrap_recipe().place).exists():
        loader = [str(brought / LOADER), "--inhibit-cache", "--library-path", str(brought)]
        return [*loader, str(brought / PROGRAM)]
    raise TcplabError(
        "bubblewrap, which makes the sandbox of a guest, is not installed.",
        "Install the package bubblewrap, or take a release, which brings it.",
    )
