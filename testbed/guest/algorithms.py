"""Congestion controls that hosts may choose: the kernel keeps most to the first namespace
(net/ipv4/tcp_cong.c).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSCTL = "net.ipv4.tcp_congestion_control"
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_ALLOWED = _DEFAULT.with_name("tcp_allowed_congestion_control")


def available() -> list[str]:
    """Those that the kernel has now."""
    return _DEFAULT.with_name("tcp_available_congestion_control").read_text().split()


def default() -> str:
    """The thread's namespace's own."""
    return _DEFAULT.read_text().strip()


def allowed() -> list[str]:
    """Those that every namespace may choose."""
    return _ALLOWED.read_text().split()


def allow(algorithms: Iterable[str]) -> None:
    """Let every namespace choose exactly these. In the first namespace only."""
    _ALLOWED.write_text(" ".join(dict.fromkeys(algorithms)))


def permit(algorithm: str) -> None:
    """Let every namespace choose it.

    In the first namespace only: what was its default is restricted no more.
    """
    before = _DEFAULT.read_text()
    _DEFAULT.write_text(algorithm)
    _DEFAULT.write_text(before)


def permit_those_of(sysctls: tuple[tuple[str, str], ...]) -> None:
    """The algorithm that these settings name, where it is there and still restricted."""
    free = allowed()
    for name, value in sysctls:
        if name == SYSCTL and value in available() and value not in free:
            permit(value)
