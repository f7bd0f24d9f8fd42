"""Which Debian packages a command of ./tcplab needs and this machine lacks.

The launcher asks before there is a virtual environment, so this needs the standard library only:
`python3 -m testbed.packages run sack` prints the missing packages, one in a line, and then the cache entries
that must exist for that answer to stay true (absolute paths).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
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


def missing(arguments: Sequence[str]) -> list[str]:
    """The packages that `./tcplab ARGUMENTS` needs and that are not installed."""
    needed = {**ALWAYS, **testbed_tools(arguments), **build_tools(arguments)}
    return of_tools(tool for tool in needed if not present(tool))


def testbed_tools(arguments: Sequence[str]) -> dict[str, str]:
    """What the run itself needs."""
    if "--testbed=native" in arguments or ("--testbed", "native") in zip(arguments, arguments[1:], strict=False):
        return NATIVE
    return VIRTUAL


def build_tools(arguments: Sequence[str]) -> dict[str, str]:
    """What building the absent parts of the lab needs; nothing for a command that builds none."""
    if testbed_tools(arguments) is NATIVE or not builds(arguments):
        return {}
    absent = [entry for entry in entries() if not entry.exists()]
    if "--rebuild" in arguments:
        absent = entries()
    kernel = any(entry.name.startswith(("kernel-", "init-")) for entry in absent)
    image = any(entry.name.startswith("image-") for entry in absent)
    return {**(KERNEL if kernel else {}), **(IMAGE if image else {})}


def builds(arguments: Sequence[str]) -> bool:
    """Whether the command runs something in the lab kernel."""
    if arguments[:1] == ["image"]:
        return arguments[1:2] == ["build"]
    return arguments[:1] != ["analyze"] and bool(arguments[:1]) and not {"--help", "--list"} & {*arguments}


def entries() -> list[Path]:
    """The cache folders of kernel, init and image for this source tree."""
    from testbed.image.build import image_recipe
    from testbed.kernel.build import init_recipe, kernel_recipe

    return [recipe.place for recipe in (kernel_recipe(), init_recipe(), image_recipe())]


if __name__ == "__main__":
    lacking = missing(sys.argv[1:])
    print(*lacking, sep="\n", end="\n" if lacking else "")
    if builds(sys.argv[1:]):
        print(*map(os.fspath, entries()), sep="\n")
