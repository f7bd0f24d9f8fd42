"""The sheet of answers: answers.toml, small, flat and text only, whatever else it may try to be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from labs.definition.lab_spec import LabSpec
from labs.definition.question import Question
from labs.definition.texts import decoded
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

LARGEST = 64 * 1024  # bytes
_LONGEST = 8000  # characters of one answer
_MOST_MISSPELT = 20
_MOST_DIGITS = 1000
"""Digits of a number that are read: more are no answer, and Python's int() refuses 4301."""
_TOO_MANY_DIGITS = re.compile(rf"([0-9](?:_?[0-9]){{{_MOST_DIGITS - 1}}})(?:_?[0-9])+")
Answers = dict[str, list[str]]
"""Question id to the answer: nothing if it is empty, one text, or the ticked options."""


def read_sheet(file: Path, lab: LabSpec) -> Answers:
    """The answers in a file. Raises TcplabError with the line that is wrong in it."""
    table = _table(file)
    return {question.id: _given(table.get(question.id), question) for question in lab.questions}


def misspelt(file: Path, lab: LabSpec) -> dict[str, str]:
    """Names in a file that no question has, each with a sentence on what may be meant.

    Of very many such names the first.
    """
    ids = [question.id for question in lab.questions]
    unknown = [name[:40] for name in _table(file) if name not in ids]
    return {
        untrusted.plain(name): _no_question(get_close_matches(name, ids, 1))
        for name in unknown[:_MOST_MISSPELT]
    }


def _no_question(near: Sequence[str]) -> str:
    """A sentence on a name, with the question that is called nearly so."""
    return "no question has this name" + (f"; is {near[0]} meant?" if near else "")


def _table(file: Path) -> dict[str, Any]:
    """What stands below [answers]. Raises TcplabError."""
    try:
        content = untrusted.content(file.parent, file.name, LARGEST)
    except OSError as error:
        raise TcplabError(
            f"{file.name} cannot be read: {error.strerror}.", "Hand it in beside your runs."
        ) from None
    except untrusted.TooLarge:
        problem = f"{file.name} is larger than {LARGEST // 1024} KiB."
        raise TcplabError(problem, "It should hold short answers only.") from None
    try:
        text = _TOO_MANY_DIGITS.sub(r"\1", decoded(content))
        table = tomllib.loads(text).get("answers")
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        remedy = 'Write each answer in quotation marks, on its line: goodput = "231 kbit/s".'
        raise TcplabError(f"{file.name} cannot be read: {str(error)[:200]}.", remedy) from None
    if not isinstance(table, dict):
        raise TcplabError(
            f"{file.name} has no [answers].", "Keep the line [answers] above your answers."
        )
    return table


def _given(value: object, question: Question) -> list[str]:
    """What was given, cut to a length that a page can show.

    Numbers may stand without quotation marks.
    """
    items = value if isinstance(value, list) else [value]
    texts = [
        _text(item)
        for item in items[:50]
        if isinstance(item, str | int | float) and not isinstance(item, bool)
    ]
    given = [text for text in texts if text]
    return sorted(set(given)) if question.kind == "choices" else given[:1]


def _text(item: str | float) -> str:
    try:
        text = str(item)
    except ValueError:  # a whole number in other digits than decimal ones has no limit
        text = hex(item) if isinstance(item, int) else ""
    return untrusted.plain(text[:_LONGEST]).strip()
