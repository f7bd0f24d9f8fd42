"""Every lab: a folder of this package with a lab.toml, its texts by language, and its key."""

from __future__ import annotations

import importlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import labs
from labs.definition import lab_texts
from labs.definition.lab_spec import LabSpec
from topologies.foundation.data import from_data
from topologies.foundation.errors import UsageError

FOLDER = Path(__file__).resolve().parents[1]


def names() -> list[str]:
    """The names of all labs."""
    return sorted(file.parent.name for file in FOLDER.glob("*/lab.toml"))


@cache
def find(name: str, language: str = lab_texts.FIRST_LANGUAGE) -> LabSpec:
    """The lab of that name in that language.

    Raises UsageError with the names or languages there are, or with what is wrong in its files.
    """
    if name not in names():
        raise UsageError(f"There is no lab '{name[:40]}'.", f"There are: {', '.join(names())}.")
    written = lab_texts.languages(FOLDER / name)
    if language not in written:
        problem = f"The lab {name} is not written in '{language[:20]}'."
        raise UsageError(problem, f"There are: {', '.join(written)}.")
    place = f"labs/{name}/text/{language}/{lab_texts.TEXTS}"
    structure = tomllib.loads((FOLDER / name / "lab.toml").read_text("utf-8"))
    texts = tomllib.loads((FOLDER.parent / place).read_text("utf-8"))
    data = lab_texts.merged(structure, texts, place)
    lab: LabSpec = from_data(
        LabSpec, {"name": name, "language": language, **data}, f"labs/{name}/lab.toml"
    )
    return lab


def key_module(name: str) -> Any:
    """The lab's key: `key(runs)`, and `DERIVED` if questions follow from others."""
    return importlib.import_module(f"{labs.__name__}.{name}.key")
