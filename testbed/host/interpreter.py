"""The project's own Python, even if another one was started: `sudo` forgets the environment."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from testbed.host.naming import CODE

_LIBRARIES = "click jinja2 markdown_it msgspec numpy rich starlette uvicorn websockets"
_ENVIRONMENT = CODE / ".venv"


def in_virtual_environment() -> None:
    """Start again in the checkout's `.venv`, with the same arguments, if libraries are missing."""
    if all(map(importlib.util.find_spec, _LIBRARIES.split())):
        return
    python = _ENVIRONMENT / "bin" / "python"
    if Path(sys.prefix) == _ENVIRONMENT:
        broken = "some of its libraries are missing"
        sys.exit(f"Error: {_ENVIRONMENT} is broken: {broken}. Remove it: rm -r {_ENVIRONMENT}")
    if not python.exists():
        sys.exit("Error: the libraries are not installed. Start ./tcplab lab list: it makes .venv.")
    os.execv(python, [str(python), *sys.orig_argv[1:]])
