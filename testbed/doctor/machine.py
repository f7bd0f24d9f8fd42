"""The examined machine (files below `root`, user, output of programs), and findings about it.

Tests examine made-up machines.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from testbed.host.packages import PATH, present


def _printed(command: Sequence[str]) -> str:
    """Return what a program of the distribution prints; empty if that is not to be had."""
    try:
        environment = {"PATH": PATH, "LC_ALL": "C"}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


@dataclass(frozen=True)
class ExaminedMachine:
    """This machine, or a made-up one; `output` is empty for a command that failed."""

    root: Path = Path("/")
    release: str = field(default_factory=platform.release)
    architecture: str = field(default_factory=platform.machine)
    user: int = field(default_factory=os.geteuid)
    processors: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    has: Callable[[str], bool] = present
    output: Callable[[Sequence[str]], str] = _printed

    def text(self, path: str) -> str:
        """Return a file's stripped text; empty if it is absent or unreadable."""
        try:
            content = (self.root / path.lstrip("/")).read_bytes()
        except OSError:
            return ""
        return content.decode(errors="replace").strip(" \n\t")

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()


State = Literal["ok", "warning", "problem"]
Testbed = Literal["virtual", "native", "both"]


@dataclass(frozen=True)
class Finding:
    """The result of one check. These are the names of its fields in `doctor --json`.

    `what` names the thing that was looked at, `said` is the result in one sentence, and `remedy` is
    a command, or what else to do. A `warning` should be known before a result is trusted, or is put
    right by the next command. A `problem` keeps the testbed that it belongs to from running.
    """

    testbed: Testbed
    what: str
    state: State
    said: str
    remedy: str = ""


@dataclass(frozen=True)
class CheckSubject:
    """A thing that is looked at for a testbed."""

    testbed: Testbed
    what: str

    def ok(self, said: str) -> Finding:
        return Finding(self.testbed, self.what, "ok", said)

    def warning(self, said: str, remedy: str) -> Finding:
        return Finding(self.testbed, self.what, "warning", said, remedy)

    def problem(self, said: str, remedy: str) -> Finding:
        return Finding(self.testbed, self.what, "problem", said, remedy)
