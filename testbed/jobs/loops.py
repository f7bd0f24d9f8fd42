"""What a guest's kernel says of programs that waited without a sleep (patches/spins.patch)."""

from __future__ import annotations

import re
from pathlib import Path

from testbed.jobs.following import CONSOLE
from topologies.foundation import untrusted

_SIGN = "tcplab: "
_SPINS = " spins, "
_WAITED = re.compile(r"(.+) waited in a loop for time, (\d+) times, which moved it by (\d+) us")
_READ = 1 << 16  # bytes from the end of the console


def waits(out: Path) -> list[str]:
    """Return the programs that waited for time in loops, in sentences; known after the end.

    The kernel moved virtual time for them, the same in each run.
    """
    found = filter(None, map(_WAITED.fullmatch, _said(out)))
    return [
        f"{name} waited for time in a loop {'once' if count == '1' else f'{count} times'}, which"
        f" moved it by {int(moved) / 1e6:.3g} s"
        for name, count, moved in (match.groups() for match in found)
    ]


def spin(out: Path) -> str:
    """Return the sentence on a program whose processor time moved virtual time; else empty."""
    return next((words for words in _said(out) if _SPINS in words), "")


def _said(out: Path) -> list[str]:
    if not untrusted.is_file(out, CONSOLE):
        return []
    lines = untrusted.tail(out, CONSOLE, _READ).splitlines()
    return [words for _, sign, words in (line.partition(_SIGN) for line in lines) if sign]
