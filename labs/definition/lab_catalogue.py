"""The catalogue of labs: folders with a lab.toml, texts by language, and a key.

tcplab's labs are folders of this package. Another package registers its labs as entry points:

    [project.entry-points."tcplab.labs"]
    my_lab = "my_package.my_lab"
"""

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
from topologies.foundation.plugins import additional, registered

GROUP = "tcplab.labs"
FOLDER = Path(__file__).resolve().parents[1]


def names() -> list[str]:
    """Return the names of all labs. Raises UsageError for a plugin with the name of another."""
    ours = [file.parent.name for file in FOLDER.glob("*/lab.toml")]
    return sorted([*ours, *additional(GROUP, ours)])


def folder_of(name: str) -> Path:
    """Return the folder of a lab. Raises UsageError if its package cannot be imported."""
    plugin = registered(GROUP).get(name)
    if plugin is None:
        return FOLDER / name
    file = getattr(plugin.load(), "__file__", None)
    if not file or not (folder := Path(file).parent).joinpath("lab.toml").is_file():
        raise plugin.broken(f"{plugin.entry.value} is not a folder with a lab.toml")
    return folder


@cache
def find(name: str, language: str = lab_texts.FIRST_LANGUAGE) -> LabSpec:
    """The lab of that name in that language.

    Raises UsageError with the names or languages there are, or with what is wrong in its files.
    """
    if name not in names():
        raise UsageError(f"There is no lab '{name[:40]}'.", f"There are: {', '.join(names())}.")
    folder = folder_of(name)
    written = lab_texts.languages(folder)
    if language not in written:
        problem = f"The lab {name} is not written in '{language[:20]}'."
        raise UsageError(problem, f"There are: {', '.join(written)}.")
    place = f"labs/{name}/text/{language}/{lab_texts.TEXTS}"
    structure = tomllib.loads((folder / "lab.toml").read_text("utf-8"))
    texts = tomllib.loads((folder / "text" / language / lab_texts.TEXTS).read_text("utf-8"))
    data = lab_texts.merged(structure, texts, place)
    lab: LabSpec = from_data(
        LabSpec, {"name": name, "language": language, **data}, f"labs/{name}/lab.toml"
    )
    return lab


def key_module(name: str) -> Any:
    """Return the lab's key: `key(runs)`, and `DERIVED` if questions follow from others."""
    plugin = registered(GROUP).get(name)
    package = plugin.load().__name__ if plugin else f"{labs.__name__}.{name}"
    return importlib.import_module(f"{package}.key")
