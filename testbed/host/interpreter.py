"""The project's own Python, also where another one was started: `sudo` forgets the virtual
environment.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from testbed.host.code import CODE

_LIBRARIES = (
    "click",
    "distributed",
    "jinja2",
    "markdown_it",
    "matplotlib",
    "msgspec",
    "numpy",
    "polars",
    "rich",
    "scipy",
    "zstandard",
)
_ENVIRONMENT = CODE / ".venv"


def in_virtual_environment() -> None:
    """Go on in the checkout's `.venv` with the same arguments where this Python has not the
    libraries; else nothing.

    Ends the program with a sentence where there is no `.venv` yet.
    """
    if all(map(importlib.util.find_spec, _LIBRARIES)):
        return
    python = _ENVIRONMENT / "bin" / "python"
    if not python.exists() or Path(sys.prefix) == _ENVIRONMENT:
        sys.exit(
            "Error: the libraries are not installed. Run ./tcplab run --list once: it installs what"
            " is missing."
        )
    os.execv(python, [str(python), *sys.orig_argv[1:]])
