"""The labs: folders of this package with a lab.toml, texts by language, and a key.

`lab.toml` holds the structure: kinds, points, ranges, runs. The texts that people read are in
`text/LANGUAGE/questions.toml`, by the ids of the structure, so that a translation is a folder.
Structure and texts must name the same questions, options, mistakes and bounds.

`--labs DIR` and TCPLAB_LABS name folders that hold others, next to their studies. Another package
registers its labs as entry points:

    [project.entry-points."tcplab.labs"]
    my_lab = "my_package.my_lab"
"""

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import labs
from labs.definition.spec import NAME, LabSpec
from topologies.data import from_data
from topologies.errors import UsageError, named
from topologies.notation import toml_file
from topologies.plugins import additional, registered

TEXTS, BACKGROUND, DRAWINGS = "questions.toml", "background.md.j2", "drawings.toml"
FIRST_LANGUAGE = "en"
_OF_LAB = ("title", "asks", "claim", "goals")
_LISTED = dict.fromkeys(("options", "bounds", "others", "tests"), "text") | {"mistakes": "note"}
"""Lists of a question whose entries have a text each, and the field that it becomes."""
_COMMON = {
    "link": "This is the rate of the link, not of the data that arrived.",
    "transfer": "This is the amount of data: the next column has the rate.",
}
"""Notes on mistakes that several labs know; a lab may write its own."""


def languages(folder: Path) -> list[str]:
    """Return the languages in which the lab in `folder` is written, English first."""
    names = sorted(file.parent.name for file in folder.glob(f"text/*/{TEXTS}"))
    return sorted(names, key=lambda name: name != FIRST_LANGUAGE) or [FIRST_LANGUAGE]


def merged(structure: Mapping[str, Any], texts: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the data of a LabSpec. Raises UsageError with the text that is missing or too many."""
    written = texts.get("questions", {})
    _same(written, [question.get("id") for question in structure["questions"]], place)
    questions = [
        _question(question, written[question["id"]], f"{place}: {question['id']}")
        for question in structure["questions"]
    ]
    board = structure.get("leaderboard")
    _same(texts, [*_OF_LAB, "questions", *(["leaderboard"] if board else [])], place)
    ranked = {"leaderboard": {**board, "text": texts["leaderboard"]}} if board else {}
    plain = {name: texts[name] for name in _OF_LAB}
    return {**structure, **plain, **ranked, "questions": questions}


def _question(structure: Mapping[str, Any], texts: Mapping[str, Any], place: str) -> dict[str, Any]:
    plain = {name: text for name, text in texts.items() if name not in _LISTED}
    listed = {
        name: _entries(structure.get(name, []), texts.get(name, {}), field, f"{place}.{name}")
        for name, field in _LISTED.items()
    }
    return {**structure, **plain, **listed}


def _entries(
    structure: list[Any], texts: Mapping[str, Any], field: str, place: str
) -> list[dict[str, Any]]:
    """Return the entries of a list with their texts; one without anything else is its id alone."""
    entries = [entry if isinstance(entry, dict) else {"id": entry} for entry in structure]
    ids = [entry["id"] for entry in entries]
    if field == "note":
        texts = {name: _COMMON[name] for name in ids if name in _COMMON} | dict(texts)
    _same(texts, ids, place)
    return [{**entry, field: texts[entry["id"]]} for entry in entries]


def _same(texts: Mapping[str, Any], wanted: list[Any], place: str) -> None:
    """Raises UsageError unless exactly what is wanted has a text."""
    if missing := [name for name in wanted if name not in texts]:
        raise UsageError(f"{place} lacks the text of '{missing[0]}'.", "Write it.")
    if more := [name for name in texts if name not in wanted]:
        remedy = f"There are: {', '.join(map(str, wanted)) or 'none'}."
        raise UsageError(f"{place} has a text for '{more[0]}', which is not there.", remedy)


GROUP = "tcplab.labs"
FOLDER = Path(__file__).resolve().parents[1]


def names() -> list[str]:
    """Return the names of all labs. Raises UsageError for a plugin with the name of another."""
    ours = [file.parent.name for place in _places() for file in place.glob("*/lab.toml")]
    return sorted(dict.fromkeys([*ours, *additional(GROUP, ours)]))


def _places() -> list[Path]:
    """Return the folders of labs: that of this package first, whose labs none replaces."""
    return [FOLDER, *map(Path, labs.__path__[1:])]


def folder_of(name: str) -> Path:
    """Return the folder of a lab. Raises UsageError if its package cannot be imported."""
    plugin = registered(GROUP).get(name)
    if plugin is None:
        there = (place / name for place in _places() if (place / name / "lab.toml").is_file())
        return next(there, FOLDER / name)
    for folder in map(Path, getattr(plugin.load(), "__path__", ())):
        if (folder / "lab.toml").is_file():
            return folder
    raise plugin.broken(f"{plugin.entry.value} is not a folder with a lab.toml")


@cache
def find(name: str, language: str = FIRST_LANGUAGE) -> LabSpec:
    """Return the lab in that language. Raises UsageError with what there is, or what is wrong."""
    named("There is no lab", name, dict.fromkeys(names()))
    folder = folder_of(name)
    written = languages(folder)
    if language not in written:
        problem = f"The lab {name} is not written in '{language[:20]}'."
        raise UsageError(problem, f"There are: {', '.join(written)}.")
    data = table(folder / "lab.toml")
    if (folder / "text").is_dir():
        texts = table(folder / "text" / language / TEXTS)
        data = merged(data, texts, f"labs/{name}/text/{language}/{TEXTS}")
    whole = {"name": name, "language": language, **data}
    lab: LabSpec = from_data(LabSpec, whole, f"labs/{name}/lab.toml")
    return lab


def table(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises UsageError."""
    try:
        return toml_file(file)
    except ValueError as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Correct that line.") from None


_SMALLEST = FOLDER / "templates" / "new"


def new_lab(name: str, like: str = "") -> Path:
    """Copy the smallest lab, or all files of another. Raises UsageError for a name of no use."""
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name[:40]}' cannot name a lab.", "Use small letters, digits and _.")
    folder = _places()[-1] / name
    if folder.exists():
        raise UsageError(f"{folder} is there already.", "Choose another name.")
    if like:
        find(like)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(folder_of(like) if like else _SMALLEST, folder, ignore=ignored)
    return folder
