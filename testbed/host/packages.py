"""Which Debian packages hold the tools that tcplab uses.

The standard library only: the launcher uses this before anything is installed.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""The distribution's programs: a user's own ones elsewhere on the PATH do not count."""

ALWAYS = {"module:ensurepip": "python3-venv"}
# Builds are sealed by it too, so that a kernel of one's own needs it even beside a release.
VIRTUAL = {"bwrap": "bubblewrap"}
NATIVE = {
    "mnexec": "mininet",
    "ovs-vswitchd": "openvswitch-switch",
    "iperf": "iperf",
    "tcpdump": "tcpdump",
    "tc": "iproute2",
    "unshare": "util-linux",
    "mount": "mount",
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
PACKETDRILL = {"git": "git"}
COMPARISON = {"tcptrace": "tcptrace"}
"""Tests compare the engine with it."""
ENGINE = {"cargo": "cargo"}
"""Compiles the engine that reads captures; Debian's package brings rustc and gcc."""
KINDS = {
    "light": ALWAYS,
    "run": {**ALWAYS, **VIRTUAL},
    "docs": {**ALWAYS, **VIRTUAL},
    "test": {**ALWAYS, **VIRTUAL, **COMPARISON},
    "native": {**ALWAYS, **NATIVE},
}
"""Tools that each kind of command needs; `light` ones (analyze, image import, --help) run none."""

MORE_TESTS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "shellcheck": "shellcheck",
    "vagrant": "vagrant",
}
"""Tests that need these are skipped with that reason; root, who tests submissions, gets them."""

TOOLS = {
    **MORE_TESTS,
    **ALWAYS,
    **COMPARISON,
    **VIRTUAL,
    **NATIVE,
    **KERNEL,
    **IMAGE,
    **PACKETDRILL,
    **ENGINE,
}


def present(tool: str) -> bool:
    """Check for a program, a file (with a slash) or a Python module (`module:`)."""
    if tool.startswith("module:"):
        return importlib.util.find_spec(tool.removeprefix("module:")) is not None
    if tool.startswith("/"):
        return Path(tool).exists()
    return shutil.which(tool, path=PATH) is not None


def of_tools(tools: Iterable[str]) -> list[str]:
    """Return the packages that hold these tools."""
    return sorted({TOOLS[tool] for tool in tools if tool in TOOLS})


def install_command(packages: Iterable[str]) -> str:
    """Return the command that a user types to install packages."""
    return f"sudo apt-get install --no-install-recommends {' '.join(packages)}"
