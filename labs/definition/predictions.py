"""predictions.json: what a student expected of a run, recorded before the run was made.

It says what was written when; whoever rewrites it is not found out. So a prediction earns its
points for being made, and never for being right.
"""

from __future__ import annotations

import json
from pathlib import Path

from analysis.records.json_reader import json_value
from analysis.records.problems import Problems
from labs.definition.answer_sheet import Answers
from labs.definition.lab_spec import LabRun, LabSpec
from labs.definition.question import Question
from topologies.foundation import untrusted
from topologies.foundation.errors import UsageError

FILE = "predictions.json"
LEAST_WORDS = 6
"""Of a prediction in words: fewer give no reason."""
_LARGEST = 64 * 1024  # bytes
_LONGEST = 2000  # characters


def is_made(question: Question, given: list[str]) -> bool:
    """Whether this is a prediction: an option that there is, or a sentence."""
    if question.options:
        return bool(given) and given[0] in {option.id for option in question.options}
    return bool(given) and len(given[0].split()) >= LEAST_WORDS


def read_predictions(folder: Path, lab: LabSpec, problems: Problems | None = None) -> Answers:
    """The predictions that were recorded; empty if the file is missing or is none.

    `problems` gets a sentence if the file is there and is none.
    """
    try:
        table = json_value(untrusted.content(folder, FILE, _LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError, untrusted.StrangeFile):
        table = None
    if not isinstance(table, dict):
        if problems is not None:
            problems.add(f"{FILE} cannot be read: no prediction of it counts.")
        return {}
    given = {question.id: table.get(question.id) for question in lab.questions if question.before}
    return {
        name: [untrusted.plain(text[:_LONGEST])]
        for name, text in given.items()
        if isinstance(text, str) and text
    }


def record(folder: Path, lab: LabSpec, run: LabRun, answers: Answers) -> None:
    """Record what is predicted of `run`; what is recorded already stays.

    Raises UsageError if a prediction is missing.
    """
    known = read_predictions(folder, lab)
    asked = [each for each in lab.predictions_before(run) if each.id not in known]
    for question in asked:
        if not is_made(question, answers.get(question.id, [])):
            how = "one of its options" if question.options else f"at least {LEAST_WORDS} words"
            raise UsageError(
                f"The run {run.name} waits for your prediction '{question.id}'.",
                f"Write {how} into answers.toml, then ./tcplab lab run.",
            )
    if asked:
        new = {question.id: answers[question.id][0] for question in asked}
        whole = {name: given[0] for name, given in known.items()} | new
        (folder / FILE).write_text(json.dumps(whole, indent=1) + "\n")
