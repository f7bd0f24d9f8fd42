"""A lab's structure and its texts in a language put together.

`lab.toml` holds what is the same in all languages: kinds, points, ranges, runs. What people read is
in `text/LANGUAGE/questions.toml` beside it, by the ids of the structure, so that a translation is
a folder. Both name the same questions, options, mistakes and bounds, or the lab is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topologies.foundation.errors import UsageError

TEXTS, BACKGROUND, DRAWINGS = "questions.toml", "background.md.j2", "drawings.toml"
FIRST_LANGUAGE = "en"
_OF_LAB = ("title", "asks", "claim", "goals")
_LISTED = {"options": "text", "mistakes": "note", "bounds": "text", "others": "text"}
"""Lists of a question whose entries have a text each, and the field that it becomes."""


def languages(folder: Path) -> list[str]:
    """The languages in which the lab in `folder` is written, English first."""
    names = sorted(file.parent.name for file in folder.glob(f"text/*/{TEXTS}"))
    return sorted(names, key=lambda name: name != FIRST_LANGUAGE)


def merged(structure: Mapping[str, Any], texts: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The data of a LabSpec. Raises UsageError with the text that is missing or too many."""
    written = texts.get("questions", {})
    _same(written, [question.get("id") for question in structure["questions"]], place)
    questions = [
        _question(question, written[question["id"]], f"{place}: {question['id']}")
        for question in structure["questions"]
    ]
    _same(dict.fromkeys(texts, 0), [*_OF_LAB, "questions"], place)
    return {**structure, **{name: texts[name] for name in _OF_LAB}, "questions": questions}


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
    """The entries of a list with their texts; one without anything else is its id alone."""
    entries = [entry if isinstance(entry, dict) else {"id": entry} for entry in structure]
    _same(texts, [entry["id"] for entry in entries], place)
    return [{**entry, field: texts[entry["id"]]} for entry in entries]


def _same(texts: Mapping[str, Any], wanted: list[Any], place: str) -> None:
    """Raises UsageError unless exactly what is wanted has a text."""
    if missing := [name for name in wanted if name not in texts]:
        raise UsageError(f"{place} lacks the text of '{missing[0]}'.", "Write it.")
    if more := [name for name in texts if name not in wanted]:
        raise UsageError(
            f"{place} has a text for '{more[0]}', which is not there.",
            f"There are: {', '.join(map(str, wanted)) or 'none'}.",
        )
