"""Names of the packages: at the top of a checkout, below `tcplab` in an installed copy.

setup.py rewrites imports by `as_installed` (docs/contributing/decisions.md); code that travels into
a guest is taken `as_in_checkout`. Imports by name start with `PREFIX`.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
"""The folder that all packages are in: the checkout, or the site-packages of an installed copy."""


PACKAGES = ("topologies", "testbed", "experiments", "analysis", "labs")
HOME = "tcplab"
PREFIX = __name__.removesuffix("testbed.host")  # empty in a checkout, else `tcplab.`
PLACE = CODE.parent if PREFIX else CODE
"""The folder in which Python finds the packages by these names."""

_NAME = rf"((?:{'|'.join(PACKAGES)})"
_FORMS = (  # in a checkout, in an installed copy, what follows in both
    ("import ", f"from {HOME} import ", rf"{_NAME}(?: as \w+)?(?:  #.*)?$)"),
    ("import ", f"import {HOME}.", rf"{_NAME}\.)"),
    ("from ", f"from {HOME}.", rf"{_NAME}[. ])"),
)


def as_installed(source: str) -> str:
    """Return a module of the checkout with the import statements that it has in a wheel."""
    return _rewritten(source, 0, 1)


def as_in_checkout(source: bytes) -> bytes:
    """Return a module, installed or not, with exactly the bytes of a checkout."""
    return _rewritten(source.decode(), 1, 0).encode()


def _rewritten(source: str, old: int, new: int) -> str:
    for form in _FORMS:
        pattern = rf"^(\s*){re.escape(form[old])}{form[2]}"
        source = re.sub(pattern, rf"\1{form[new]}\2", source, flags=re.MULTILINE)
    return source


def command(package: str, *words: str) -> list[str]:
    """Return the command that starts a package in a new process, with -P if this one has it."""
    safely = ["-P"] if sys.flags.safe_path else []
    return [sys.executable, *safely, "-m", PREFIX + package, *words]


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
