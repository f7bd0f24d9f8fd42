"""Libraries that are installed when they are first needed: Matplotlib, by the first figure."""

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from testbed.lab.environment import MARK, Environment, make_ready
from topologies.errors import TcplabError

_NAMES = {"figures": "Matplotlib"}
"""Extras, and the library that each is for; in a checkout the lock of that name has it."""


def require(extra: str) -> None:
    """Install an extra in the environment of a checkout unless it is there. Raises TcplabError."""
    environment, name = Environment(Path(sys.prefix).resolve()), _NAMES[extra]
    if not (environment.place / MARK).exists():
        if not find_spec(name.lower()):
            problem = f"This needs {name}, which is not installed."
            raise TcplabError(problem, f"Install it: pip install 'tcplab[{extra}]'.")
        return
    # After an update of the locks, the library may be there in its earlier version.
    stamp = environment.stamp("python")
    state = stamp.read_text() if stamp.exists() else ""
    if environment.is_ready(extra, state):
        return
    if not os.access(environment.place, os.W_OK):
        problem = f"This needs {name}, which {environment.place} lacks."
        remedy = f"Its owner installs it: {environment.python} -m testbed.lab.libraries {extra}"
        raise TcplabError(problem, remedy)
    make_ready(environment, extra, state)
    importlib.invalidate_caches()


if __name__ == "__main__":
    try:
        require(sys.argv[1])
    except TcplabError as failure:
        sys.exit(f"tcplab: {failure}")
