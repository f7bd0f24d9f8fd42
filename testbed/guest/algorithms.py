"""Congestion controls that hosts may choose.

The kernel restricts most of them to the first namespace (net/ipv4/tcp_cong.c).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSCTL = "net.ipv4.tcp_congestion_control"
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_ALLOWED = _DEFAULT.with_name("tcp_allowed_congestion_control")


def available() -> list[str]:
    """The algorithms that the kernel has now."""
    return _DEFAULT.with_name("tcp_available_congestion_control").read_text().split()


def default() -> str:
    """The default of the calling thread's namespace."""
    return _DEFAULT.read_text().strip()


def allowed() -> list[str]:
    """The algorithms that every namespace may choose."""
    return _ALLOWED.read_text().split()


def allow(algorithms: Iterable[str]) -> None:
    """Let every namespace choose exactly these. In the first namespace only."""
    _ALLOWED.write_text(" ".join(dict.fromkeys(algorithms)))


def permit(algorithm: str) -> None:
    """Let every namespace choose this algorithm. In the first namespace only.

    The kernel lifts the restriction of an algorithm that becomes the default, so it is the default
    for a moment.
    """
    before = _DEFAULT.read_text()
    _DEFAULT.write_text(algorithm)
    _DEFAULT.write_text(before)


def permit_those_of(sysctls: tuple[tuple[str, str], ...]) -> None:
    """Permit the algorithm that these settings name, if the kernel has and restricts it."""
    free = allowed()
    for name, value in sysctls:
        if name == SYSCTL and value in available() and value not in free:
            permit(value)
