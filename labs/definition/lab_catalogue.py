"""Every lab: a folder of this package with a lab.toml, its handout and its key."""

from __future__ import annotations

import importlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import labs
from labs.definition.lab_spec import LabSpec
from topologies.data import from_data
from topologies.errors import UsageError

FOLDER = Path(__file__).resolve().parents[1]


def names() -> list[str]:
    """The names of all labs."""
    return sorted(file.parent.name for file in FOLDER.glob("*/lab.toml"))


@cache
def find(name: str) -> LabSpec:
    """The lab of that name.

    Raises UsageError with the names there are, or with what is wrong in its lab.toml.
    """
    if name not in names():
        raise UsageError(f"There is no lab '{name[:40]}'.", f"There are: {', '.join(names())}.")
    content = tomllib.loads((FOLDER / name / "lab.toml").read_text())
    found: LabSpec = from_data(LabSpec, {"name": name, **content}, f"labs/{name}/lab.toml")
    return found


def key_module(name: str) -> Any:
    """The lab's key: `key(runs)`, and `DERIVED` if questions follow from others."""
    return importlib.import_module(f"{labs.__name__}.{name}.key")
