"""Entering a host's network namespace without starting a process.

Mininet forks a shell and a program for every setting. In the lab kernel a fork costs
milliseconds of CPU, so everything that is a file or a socket (sysctls, counters, sock_diag) is
reached from this process: setns(2) moves only the calling thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_SYSCTL = 4096  # bytes
_CLONE_NEWNET = 0x40000000  # include/uapi/linux/sched.h
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def network_namespace(pid: int) -> Iterator[None]:
    """The calling thread in the network namespace of process `pid`.

    Raises OSError without CAP_SYS_ADMIN.
    """
    # /proc/thread-self is younger than Linux 3.13.
    home = os.open(f"/proc/self/task/{_libc.gettid()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
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


def set_sysctl(name: str, value: str) -> str:
    """Set a sysctl in the thread's namespace and return what it then is, blanks folded to one.

    Raises OSError if the kernel lacks it or refuses the value. Python's files would make three
    times as many system calls: in the lab kernel a host's dozen settings would take 2 ms.
    """
    descriptor = os.open(_sysctl_file(name), os.O_RDWR | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
        return " ".join(os.pread(descriptor, _LONGEST_SYSCTL, 0).decode().split())
    finally:
        os.close(descriptor)


def has_sysctl(name: str) -> bool:
    return os.path.exists(_sysctl_file(name))


def _sysctl_file(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")
