"""`tcplab lab check`: what is missing, unreadable or implausible. It knows no answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from analysis.records.json_reader import UnreadableJson, read_object
from analysis.records.problems import Problems
from analysis.records.run_directory import changed_files, read_run
from experiments.spec import ExperimentSpec
from labs.definition import written_numbers
from labs.definition.answer_sheet import Answers, read_sheet
from labs.definition.assignment import ANSWERS, Assignment
from labs.definition.handed_in_pictures import picture_kind
from labs.definition.lab_runs import MODULE, combination_of, run_folder, seeds_of
from labs.definition.lab_spec import LabRun, Question
from topologies.data import from_data
from topologies.errors import TcplabError


@dataclass(frozen=True)
class AnswerFinding:
    """A sentence about a question or a run; `wrong` if it should not be handed in so."""

    where: str
    text: str
    wrong: bool = True


def check(assignment: Assignment) -> list[AnswerFinding]:
    """Everything that is to be said, runs first.

    Raises TcplabError if the sheet itself cannot be read.
    """
    answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
    findings = [finding for run in assignment.lab.runs for finding in _run(assignment, run)]
    return findings + [
        finding
        for question in assignment.lab.questions
        for finding in _question(assignment, question, answers)
    ]


def _run(assignment: Assignment, run: LabRun) -> Iterator[AnswerFinding]:
    folder = run_folder(assignment.folder, run.name)
    if folder is None:
        yield AnswerFinding(run.name, "this run is not there yet: ./tcplab lab run")
        return
    problems = Problems()
    try:
        record = read_run(folder, problems)
        module = assignment.folder / MODULE if run.module else None
        wanted = combination_of(run, assignment.variant, module).spec
        is_own = from_data(ExperimentSpec, _given_spec(folder), "spec.json") == wanted
    except TcplabError as error:
        yield AnswerFinding(run.name, str(error))
        return
    if record.status != "complete":
        yield AnswerFinding(
            run.name, f"the run is {record.status}: {' '.join(record.failures)[:200]}"
        )
    if not is_own or record.seeds != seeds_of(run, assignment.variant):
        yield AnswerFinding(
            run.name,
            "this is not your run: its parameters or its seed are others. ./tcplab lab run",
        )
    for name in changed_files(record)[:3]:
        yield AnswerFinding(run.name, f"{name} was changed after the run: run it again")
    for problem in problems.found[:3]:
        yield AnswerFinding(run.name, problem)
    if record.manifest.testbed == "native":
        yield AnswerFinding(
            run.name,
            "made in real time, so it cannot be repeated; is that allowed in your course?",
            False,
        )


def _given_spec(folder: Path) -> dict[str, Any]:
    """The fields of the experiment's spec; spec.json says more."""
    try:
        content = read_object(folder / "spec.json")
    except UnreadableJson:
        content = {}  # which read_run has told
    return {field.name: content.get(field.name) for field in fields(ExperimentSpec)}


def _question(
    assignment: Assignment, question: Question, answers: Answers
) -> Iterator[AnswerFinding]:
    given = answers[question.id]
    if not given and question.kind != "choices":
        yield AnswerFinding(question.id, "not answered yet")
    elif question.kind == "number":
        yield from _number(question, given[0])
    elif question.options:
        options = {option.id for option in question.options}
        for text in given:
            if text not in options:
                yield AnswerFinding(
                    question.id,
                    f"'{text[:40]}' is no option; there are {', '.join(sorted(options))}",
                )
    elif question.kind in ("graph", "module"):
        yield from _file(assignment, question, given[0])


def _number(question: Question, text: str) -> Iterator[AnswerFinding]:
    unit = written_numbers.unit_named(question.unit)
    try:
        number = written_numbers.parse(text)
        value = number.within(unit)
    except ValueError as error:
        yield AnswerFinding(question.id, f"{error}")
        return
    if number.unit is None and unit.dimension != "number":
        yield AnswerFinding(question.id, f"'{text}' has no unit; write one such as {question.unit}")
    elif not question.low <= value <= question.high:
        yield AnswerFinding(question.id, f"'{text}' is hardly possible here. Is the unit right?")


def _file(assignment: Assignment, question: Question, name: str) -> Iterator[AnswerFinding]:
    file = assignment.folder / name
    if "/" in name or "\\" in name or not file.is_file():
        yield AnswerFinding(question.id, f"there is no file '{name[:60]}' in this folder")
    elif question.kind == "graph" and not picture_kind(file):
        yield AnswerFinding(question.id, f"'{name[:60]}' is no PNG or JPEG picture of up to 5 MB")
