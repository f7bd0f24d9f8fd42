"""What this machine lacks for a command of ./tcplab: packages, and parts of the lab.

The launcher runs this before there is a virtual environment, so it needs the standard library only:
`python3 -m testbed.lab.survey run` prints the missing packages, one in a line, and then the cache
entries that must exist for that answer to stay true (absolute paths).
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from testbed.host import packages
from testbed.host.packages import ENGINE, KINDS, VIRTUAL, of_tools, present
from testbed.lab.bubblewrap.recipe import bubblewrap_recipe
from testbed.lab.image.recipe import SUITE
from testbed.lab.parts import parts
from testbed.recipes.apt import mirror
from topologies.foundation.errors import TcplabError

BUILDING = ("run", "docs", "test")
"""Kinds that use the lab kernel and its image, and build them if the cache has none."""


def missing(kind: str) -> list[str]:
    """Return the packages that a command of this kind needs and that are not installed."""
    needed = {**KINDS[kind], **(build_tools() if kind in BUILDING else {}), **compiler()}
    brought = VIRTUAL if kind in ("run", "docs") and bubblewrap_recipe().place.exists() else {}
    return of_tools(tool for tool in needed if tool not in brought and not present(tool))


def welcome(kind: str) -> list[str]:
    """Return packages without which tests are left out: for root, who tests submissions."""
    if kind != "test" or os.geteuid() != 0:
        return []
    return of_tools(tool for tool in packages.MORE_TESTS if not present(tool))


def compiler() -> dict[str, str]:
    """Return the distribution's cargo, unless the user's PATH or rustup's folder has one."""
    home = Path(os.environ.get("CARGO_HOME") or Path("~/.cargo").expanduser())
    return {} if shutil.which("cargo") or (home / "bin/cargo").exists() else ENGINE


def build_tools() -> dict[str, str]:
    """Return the tools for building the absent parts of the lab."""
    absent = {entry.name.partition("-")[0] for entry in entries() if not entry.exists()}
    return {
        **(packages.KERNEL if absent & {"kernel", "init"} else {}),
        **(packages.IMAGE if "image" in absent else {}),
    }


def entries() -> list[Path]:
    """Return the cache folders of kernel, init and image for this source tree."""
    return [recipe.place for recipe in parts()]


def require_mirror(kind: str) -> None:
    """Raises TcplabError if no mirror is known to build the lab from, as on Ubuntu."""
    try:
        is_debian = platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:  # a small container, which os-release(5) allows
        is_debian = True
    built = all(entry.exists() for entry in entries())
    if kind in BUILDING and not built and not is_debian and shutil.which("apt-get"):
        mirror(SUITE)


def main(kind: str) -> None:
    """Print what the launcher reads: packages (`?` if optional), then files with a slash."""
    try:
        require_mirror(kind)
    except TcplabError as error:
        sys.exit(f"Error: {error}")
    optional = [f"?{package}" for package in welcome(kind)]
    files = map(os.fspath, entries()) if kind in BUILDING else ()
    for line in (*missing(kind), *optional, *files):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1])
