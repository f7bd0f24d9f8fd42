"""Which Debian packages a command of ./tcplab needs and this machine lacks.

The launcher asks before there is a virtual environment, so this needs the standard library only:
`python3 -m testbed.packages run` prints the missing packages, one in a line, and then the cache entries
that must exist for that answer to stay true (absolute paths).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""The distribution's programs: what a user has put elsewhere on the PATH does not count."""

ALWAYS = {"module:ensurepip": "python3-venv"}
VIRTUAL = {"bwrap": "bubblewrap", "tcptrace": "tcptrace"}
NATIVE = {
    "mn": "mininet",
    "ovs-vsctl": "openvswitch-switch",
    "iperf": "iperf",
    "tcpdump": "tcpdump",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "tcptrace": "tcptrace",
}
KERNEL = {
    "gcc": "gcc",
    "/usr/include/stdio.h": "libc6-dev",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "patch": "patch",
}
IMAGE = {
    "mksquashfs": "squashfs-tools",
    "gcc": "gcc",
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
}
KINDS = {
    "light": {**ALWAYS, "tcptrace": "tcptrace"},
    "run": {**ALWAYS, **VIRTUAL},
    "test": {**ALWAYS, **VIRTUAL},
    "native": {**ALWAYS, **NATIVE},
}
"""What each kind of command needs; `light` ones build and run nothing (analyze, image import, --help)."""

BUILDING = ("run", "test")
"""Kinds that use the lab kernel and its image, and build them where the cache has none."""

TOOLS = {**ALWAYS, **VIRTUAL, **NATIVE, **KERNEL, **IMAGE}


def present(tool: str) -> bool:
    """Whether a program, a file (with a slash) or a Python module (`module:`) is there."""
    if tool.startswith("module:"):
        return importlib.util.find_spec(tool.removeprefix("module:")) is not None
    if tool.startswith("/"):
        return Path(tool).exists()
    return shutil.which(tool, path=PATH) is not None


def of_tools(tools: Iterable[str]) -> list[str]:
    """The packages that hold these tools."""
    return sorted({TOOLS[tool] for tool in tools if tool in TOOLS})


def install_command(packages: Iterable[str]) -> str:
    """The command that a user types to install packages."""
    return f"sudo apt-get install --no-install-recommends {' '.join(packages)}"


def missing(kind: str) -> list[str]:
    """The packages that a command of this kind needs and that are not installed."""
    needed = {**KINDS[kind], **(build_tools() if kind in BUILDING else {})}
    return of_tools(tool for tool in needed if not present(tool))


def build_tools() -> dict[str, str]:
    """What building the absent parts of the lab needs: nothing once they are in the cache."""
    absent = {entry.name.partition("-")[0] for entry in entries() if not entry.exists()}
    return {**(KERNEL if absent & {"kernel", "init"} else {}), **(IMAGE if "image" in absent else {})}


def entries() -> list[Path]:
    """The cache folders of kernel, init and image for this source tree."""
    from testbed.image.build import image_recipe
    from testbed.kernel.build import init_recipe, kernel_recipe

    return [recipe.place for recipe in (kernel_recipe(), init_recipe(), image_recipe())]


def main(kind: str) -> None:
    """Print what the launcher reads: packages have no slash, files have."""
    for line in [*missing(kind), *(map(os.fspath, entries()) if kind in BUILDING else [])]:
        print(line)


if __name__ == "__main__":
    main(sys.argv[1])
