"""`tcplab lab check`: what is missing, unreadable or implausible. It knows no answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.records.problems import Problems
from analysis.records.run_directory import changed_files, read_run
from labs.definition import written_frames, written_numbers
from labs.definition.answer_sheet import Answers, misspelt, read_sheet
from labs.definition.assignment import ANSWERS, Assignment
from labs.definition.handed_in_pictures import picture_kind
from labs.definition.handed_in_scripts import handed_in_script
from labs.definition.lab_runs import combination_of, is_possible, run_folder, seeds_of
from labs.definition.lab_spec import LabRun
from labs.definition.own_parts import chosen_in
from labs.definition.predictions import read_predictions
from labs.definition.question import HANDED_IN_FILES, Question
from labs.student.student_runs import is_of, own_parts
from topologies.foundation.errors import TcplabError, UsageError


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
    names = misspelt(assignment.folder / ANSWERS, assignment.lab)
    findings += [AnswerFinding(name, sentence) for name, sentence in names.items()]
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
    own = own_parts(assignment)
    if not is_possible(run, own):
        return  # the finding on the question of its settings says what is wrong
    problems = Problems()
    try:
        record = read_run(folder, problems)
        is_own = is_of(folder, combination_of(run, assignment.variant, own).spec)
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


def _question(
    assignment: Assignment, question: Question, answers: Answers
) -> Iterator[AnswerFinding]:
    given = answers[question.id]
    if not given and question.kind != "choices":
        yield AnswerFinding(question.id, "not answered yet")
    elif question.kind == "prediction":
        yield from _prediction(assignment, question, given)
    elif question.kind == "design":
        yield from _design(assignment, question, answers)
    elif question.kind == "evidence":
        yield from _evidence(question, given[0])
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
    elif question.kind in HANDED_IN_FILES:
        yield from _file(assignment, question, given[0])


def _prediction(
    assignment: Assignment, question: Question, given: list[str]
) -> Iterator[AnswerFinding]:
    recorded = read_predictions(assignment.folder, assignment.lab).get(question.id)
    if recorded is None and run_folder(assignment.folder, question.before):
        yield AnswerFinding(
            question.id,
            f"written after the run {question.before}: it was not recorded, and counts nothing",
        )
    elif recorded is not None and recorded != given:
        yield AnswerFinding(
            question.id, "changed since it was recorded; what was recorded counts", False
        )


def _design(
    assignment: Assignment, question: Question, answers: Answers
) -> Iterator[AnswerFinding]:
    run = next(run for run in assignment.lab.runs if run.name == question.run)
    try:
        chosen_in(assignment.lab, run, answers)
    except UsageError as error:
        yield AnswerFinding(question.id, str(error))


def _evidence(question: Question, text: str) -> Iterator[AnswerFinding]:
    try:
        written_frames.parse(text)
    except ValueError as error:
        yield AnswerFinding(question.id, str(error))


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
    elif question.kind == "script":
        yield from _script(assignment, question, name)


def _script(assignment: Assignment, question: Question, name: str) -> Iterator[AnswerFinding]:
    try:
        handed_in_script(assignment.folder, name)
    except UsageError as error:
        yield AnswerFinding(question.id, str(error))
