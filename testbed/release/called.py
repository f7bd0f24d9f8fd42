"""Programs of a release's making that need this machine as it is: pip, cargo."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from topologies.foundation.errors import CommandError

STEADY = {"SOURCE_DATE_EPOCH": "315532800", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
"""The oldest time that a zip knows (1980), and nothing that differs from machine to machine."""


def called(command: Sequence[str | Path], place: Path, **environment: str) -> str:
    """What a program prints that runs in the folder `place`. Raises CommandError."""
    done = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, **STEADY, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CommandError(" ".join(map(str, command)), done.returncode, done.stdout)
    return done.stdout


def python_module(name: str, *arguments: str | Path) -> list[str | Path]:
    """The command that starts a module of an installed library."""
    return [sys.executable, "-P", "-m", name, *arguments]
