"""The machine as checks see it: its files below `root`, who asks, and what programs say. A test
gives a made-up one.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.host.packages import PATH, present


def _printed(command: Sequence[str]) -> str:
    """What a program prints; nothing where it is not there or does not answer.

    Without root's or the user's PATH.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={"PATH": PATH, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


@dataclass(frozen=True)
class ExaminedMachine:
    """`output` is what a command that succeeded printed, else nothing."""

    root: Path = Path("/")
    release: str = field(default_factory=platform.release)
    architecture: str = field(default_factory=platform.machine)
    user: int = field(default_factory=os.geteuid)
    processors: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    has: Callable[[str], bool] = present
    output: Callable[[Sequence[str]], str] = _printed

    def text(self, path: str) -> str:
        """A file's text without the blanks around it; nothing where it is not there or may not be
        read.
        """
        try:
            return (
                (self.root / path.lstrip("/")).read_bytes().decode(errors="replace").strip(" \n\t")
            )
        except OSError:
            return ""

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()
