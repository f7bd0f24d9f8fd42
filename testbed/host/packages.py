"""Which Debian packages hold the tools that tcplab uses.

The standard library only: the launcher uses this before anything is installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from testbed.host.naming import CODE
from topologies.foundation.errors import TcplabError

YES = "TCPLAB_YES"
"""Set by `./tcplab --yes`: missing packages are installed without a question."""
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
COMPILER = {"gcc": "gcc", "/usr/include/stdio.h": "libc6-dev"}
KERNEL = {
    **COMPILER,
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "patch": "patch",
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
}
IMAGE = {"mksquashfs": "squashfs-tools"}
PACKETDRILL = {"git": "git"}
COMPARISON = {"tcptrace": "tcptrace"}
"""Tests compare the engine with it."""
ENGINE = {"cargo": "cargo"}
"""Compiles the engine that reads captures; Debian's package brings rustc and gcc."""
TYPED = {"curl": "curl"}
"""Guides type it into hosts, which see this computer's programs."""
KINDS = {"test": {**VIRTUAL, **COMPARISON, **KERNEL, **TYPED}, "native": {**ALWAYS, **NATIVE}}
"""Tools that tests need, and machines for native runs."""

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
    **TYPED,
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


def install_missing(tools: Iterable[str]) -> None:
    """Install the packages of missing tools if the user agrees. Raises TcplabError without them."""
    absent = [tool for tool in tools if not present(tool)]
    if not absent:
        return
    wanted = of_tools(absent)
    problem = f"Missing here: {', '.join(absent)}."
    if not (CODE / "provision.sh").exists() or not shutil.which("apt-get", path=PATH):
        names = f"In Debian these packages have them: {' '.join(wanted)}."
        raise TcplabError(problem, f"Install them with the system's tools. {names}")
    if not wanted or not _is_agreed(wanted):
        remedy = f"Install them: {install_command(wanted)}, or start with ./tcplab --yes."
        raise TcplabError(problem, remedy)
    _install(wanted)


def _is_agreed(wanted: Sequence[str]) -> bool:
    if os.environ.get(YES):
        return True
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print(f"These packages are missing: {' '.join(wanted)}", file=sys.stderr)
    print("Install them with apt? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _install(wanted: Sequence[str]) -> None:
    """Install packages as root, or by sudo. Raises TcplabError."""
    problem = f"The packages {' '.join(wanted)} could not be installed."
    by_root = [] if os.geteuid() == 0 else ["sudo"]
    if by_root and not shutil.which("sudo"):
        raise TcplabError(problem, f"As root, run: {install_command(wanted).removeprefix('sudo ')}")
    command = [*by_root, "sh", str(CODE / "provision.sh"), "packages", *wanted]
    if subprocess.run(command, check=False).returncode:
        raise TcplabError(problem, "See apt's message above.")
