"""Entering a host's network namespace without starting a process.

Mininet forks a shell and a program for every setting. In the lab kernel a fork costs milliseconds of CPU,
so everything that is a file or a socket (sysctls, counters, sock_diag) is reached from this process:
setns(2) moves only the calling thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # include/uapi/linux/sched.h
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def network_namespace(pid: int) -> Iterator[None]:
    """The calling thread inside the network namespace of process `pid`. Raises OSError without CAP_SYS_ADMIN."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        target = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def read_sysctl(name: str) -> str:
    """The value of a sysctl in the thread's namespace, blanks folded to one space."""
    return " ".join(_sysctl_file(name).read_text().split())


def write_sysctl(name: str, value: str) -> None:
    """Set a sysctl in the thread's namespace. Raises OSError where the kernel has it not or refuses the value."""
    _sysctl_file(name).write_text(value)


def _sysctl_file(name: str) -> Path:
    return Path("/proc/sys", *name.split("."))
