"""The folder that the code of this copy is in.

By which names packages are imported: their own in a checkout, below `tcplab` if installed.

An installed copy owns one name. setup.py moves the packages below it and rewrites the import
statements of a wheel with `as_installed`; nothing else differs. What must be the same in both (the
keys of recipes, the code that travels into a guest) is taken `as_in_checkout`. Whoever imports or
starts a module by name puts `PREFIX` before it, or asks the package itself for its `__name__`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
"""The folder that all packages are in: the checkout, or the site-packages of an installed copy."""


PACKAGES = ("topologies", "testbed", "experiments", "analysis", "labs")
HOME = "tcplab"
PREFIX = __name__.removesuffix("testbed.host.naming")
"""Empty in a checkout, else `tcplab.`."""
PLACE = CODE.parent if PREFIX else CODE
"""The folder in which Python finds the packages by these names."""

_NAME = rf"(?:{'|'.join(PACKAGES)})"
_REST = r"(?: as \w+)?(?:  #.*)?$"
_INSTALLING = (
    (re.compile(rf"^(\s*)import ({_NAME}{_REST})", re.MULTILINE), rf"\1from {HOME} import \2"),
    (re.compile(rf"^(\s*)import ({_NAME}\.)", re.MULTILINE), rf"\1import {HOME}.\2"),
    (re.compile(rf"^(\s*)from ({_NAME}[. ])", re.MULTILINE), rf"\1from {HOME}.\2"),
)
_RESTORING = (
    (re.compile(rf"^(\s*)from {HOME} import ({_NAME}{_REST})", re.MULTILINE), r"\1import \2"),
    (re.compile(rf"^(\s*)import {HOME}\.({_NAME}\.)", re.MULTILINE), r"\1import \2"),
    (re.compile(rf"^(\s*)from {HOME}\.({_NAME}[. ])", re.MULTILINE), r"\1from \2"),
)


def as_installed(source: str) -> str:
    """A module of the checkout with the import statements that it has in a wheel."""
    for pattern, replacement in _INSTALLING:
        source = pattern.sub(replacement, source)
    return source


def as_in_checkout(source: bytes) -> bytes:
    """A module, whether it is installed or not, as it is in a checkout: byte for byte the same."""
    text = source.decode()
    for pattern, replacement in _RESTORING:
        text = pattern.sub(replacement, text)
    return text.encode()


def command(package: str, *words: str) -> list[str]:
    """The command that starts a package of ours in a process of its own.

    As for this process, -P keeps files of the current folder from being taken for ours.
    """
    safely = ["-P"] if sys.flags.safe_path else []
    return [sys.executable, *safely, "-m", PREFIX + package, *words]
