"""`tcplab lab new`: a small lab that runs, to begin one's own with."""

from __future__ import annotations

import shutil
from pathlib import Path

from labs.definition import lab_catalogue
from labs.definition.question import NAME
from topologies.foundation.errors import UsageError

_EXAMPLE = "first_look"


def new_lab(name: str) -> Path:
    """A copy of the smallest lab under that name. Raises UsageError if the name is taken or odd."""
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name[:40]}' cannot name a lab.", "Use small letters, digits and _.")
    folder = lab_catalogue.FOLDER / name
    if folder.exists():
        raise UsageError(f"{folder} is there already.", "Choose another name.")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(lab_catalogue.FOLDER / _EXAMPLE, folder, ignore=ignored)
    return folder
