"""`tcplab lab check`: what is missing, unreadable or implausible in a hand-in. It knows no
answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from analysis.jsonfile import read_object
from analysis.problems import Problems
from analysis.rundirectory import changed_files, read_run
from experiments.spec import ExperimentSpec
from labs import numbers
from labs.assignment import ANSWERS, Assignment
from labs.pictures import picture_kind
from labs.runs import MODULE, combination_of, run_folder, seeds_of
from labs.sheet import Answers, read_sheet
from labs.spec import LabRun, Question
from topologies.data import from_data
from topologies.errors import TcplabError


@dataclass(frozen=True)
class Finding:
    """A sentence about a question or a run; `wrong` where it should not be handed in so."""

    where: str
    text: str
    wrong: bool = True


def check(assignment: Assignment) -> list[Finding]:
    """Everything that is to be said, runs first.

    Raises TcplabError where the sheet itself cannot be read.
    """
    answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
    found = [finding for run in assignment.lab.runs for finding in _run(assignment, run)]
    return found + [
        one
        for question in assignment.lab.questions
        for one in _question(assignment, question, answers)
    ]


def _run(assignment: Assignment, run: LabRun) -> Iterator[Finding]:
    folder = run_folder(assignment.folder, run.name)
    if folder is None:
        yield Finding(run.name, "this run is not there yet: ./tcplab lab run")
        return
    problems = Problems()
    try:
        read = read_run(folder, problems)
        module = assignment.folder / MODULE if run.module else None
        wanted = combination_of(run, assignment.variant, module).spec
        asked = {
            field.name: read.spec.get(field.name) for field in fields(ExperimentSpec)
        }  # spec.json says more
        mine = from_data(ExperimentSpec, asked, "spec.json") == wanted
    except TcplabError as error:
        yield Finding(run.name, str(error))
        return
    if read.status != "complete":
        yield Finding(run.name, f"the run is {read.status}: {' '.join(read.failures)[:200]}")
    if not mine or read.seeds != seeds_of(run, assignment.variant):
        yield Finding(
            run.name,
            "this is not your run: its parameters or its seed are others. ./tcplab lab run",
        )
    for name in changed_files(read)[:3]:
        yield Finding(run.name, f"{name} was changed after the run: run it again")
    for problem in problems.found[:3]:
        yield Finding(run.name, problem)
    manifest = read_object(folder / "manifest.json", problems, "manifest.json")
    if manifest.get("testbed") == "native":
        yield Finding(
            run.name,
            "made in real time, so it cannot be repeated; is that allowed in your course?",
            False,
        )


def _question(assignment: Assignment, question: Question, answers: Answers) -> Iterator[Finding]:
    given = answers[question.id]
    if not given and question.kind != "choices":
        yield Finding(question.id, "not answered yet")
    elif question.kind == "number":
        yield from _number(question, given[0])
    elif question.options:
        known = {option.id for option in question.options}
        for text in given:
            if text not in known:
                yield Finding(
                    question.id, f"'{text[:40]}' is no option; there are {', '.join(sorted(known))}"
                )
    elif question.kind in ("graph", "module"):
        yield from _file(assignment, question, given[0])


def _number(question: Question, text: str) -> Iterator[Finding]:
    unit = numbers.unit_named(question.unit)
    try:
        number = numbers.parse(text)
        value = number.within(unit)
    except ValueError as error:
        yield Finding(question.id, f"{error}")
        return
    if number.unit is None and unit.dimension != "number":
        yield Finding(question.id, f"'{text}' has no unit; write one such as {question.unit}")
    elif not question.low <= value <= question.high:
        yield Finding(question.id, f"'{text}' is hardly possible here. Is the unit right?")


def _file(assignment: Assignment, question: Question, name: str) -> Iterator[Finding]:
    file = assignment.folder / name
    if "/" in name or "\\" in name or not file.is_file():
        yield Finding(question.id, f"there is no file '{name[:60]}' in this folder")
    elif question.kind == "graph" and not picture_kind(file):
        yield Finding(question.id, f"'{name[:60]}' is no PNG or JPEG picture of up to 5 MB")
