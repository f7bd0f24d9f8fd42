"""Labs from Python, as the notebooks use them: start, run, look, answer, check, pack."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from labs.definition import lab_catalogue
from labs.definition.assignment import ANSWERS, Assignment, read_assignment
from labs.definition.course import SELF_STUDY, student_id, variant, variant_from
from labs.definition.lab_runs import run_folder
from labs.measuring.lab_measures import Values, values_of
from labs.student import checking, packing, starting
from labs.student.student_runs import carry_out_run, missing_runs
from testbed.lab.ready import lab_for


def start(
    lab: str, student: str, variants: Path | str | None = None, folder: Path | str | None = None
) -> Assignment:
    """The student's assignment: made if there is none yet, else read. Raises UsageError."""
    place = Path(folder or f"{lab}-{packing.safe_name(student_id(student))}")
    if place.exists():
        return read_assignment(place)
    spec = lab_catalogue.find(lab)
    own_variant = (
        variant_from(Path(variants), spec, student)
        if variants
        else variant(SELF_STUDY, spec, student)
    )
    return starting.start(spec, own_variant, place)


def run(assignment: Assignment) -> dict[str, Path]:
    """Do the runs that are not done yet; every run's directory by its name."""
    for lab_run in missing_runs(assignment):
        carry_out_run(assignment, lab_run, "virtual", lab_for)
    folders = {
        lab_run.name: run_folder(assignment.folder, lab_run.name) for lab_run in assignment.lab.runs
    }
    return {name: place for name, place in folders.items() if place}


def measured(run: Path) -> Values:
    """What a run measured under its first seed: condition to name to value."""
    values: dict[str, Values] = values_of(str(run))["values"]
    return next(iter(values.values()))


def answer(assignment: Assignment, answers: Mapping[str, str | Sequence[str]]) -> None:
    """Write these answers to the sheet, in the place of what it had.

    Raises UsageError if one of the questions does not exist.
    """
    for name in answers:
        assignment.lab.question(name)
    texts = {
        name: value if isinstance(value, str) else list(value) for name, value in answers.items()
    }
    lines = [
        f"{name} = {json.dumps(value)}" for name, value in texts.items()
    ]  # of these, TOML's form is JSON's
    (assignment.folder / ANSWERS).write_text("[answers]\n" + "\n".join(lines) + "\n")


def check(assignment: Assignment) -> list[checking.AnswerFinding]:
    """What is missing or implausible."""
    return checking.check(assignment)


def pack(assignment: Assignment) -> Path:
    """The file to hand in."""
    return packing.pack(assignment)
