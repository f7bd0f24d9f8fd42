"""`tcplab lab check` and `tcplab lab pack`.

Checks find missing, unreadable and implausible answers without a key. The zip holds the answers,
the runs' manifests and raw files, and pictures, modules and scripts.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis.records.json_reader import Problems
from analysis.records.run_directory import changed_files, read_run
from labs.definition import answers as sheets
from labs.definition import runs
from labs.definition.assignment import ANSWERS, FILE, SELF_STUDY, Assignment
from labs.definition.forecast import HiddenNetwork, hidden_networks, read_rule
from labs.definition.scripts import handed_in_script
from labs.definition.spec import HANDED_IN_FILES, LabRun, Question
from labs.definition.written import parse_frame, parse_number, unit_named
from labs.student.runs import is_of, own_parts
from topologies.errors import TcplabError, UsageError


@dataclass(frozen=True)
class LabFinding:
    """A sentence about a part of a lab or hand-in; `wrong` if it is to be corrected."""

    where: str
    text: str
    wrong: bool = True


def check(assignment: Assignment) -> list[LabFinding]:
    """Return all findings, runs first. Raises TcplabError if the sheet cannot be read."""
    lab, sheet = assignment.lab, assignment.folder / ANSWERS
    answers = sheets.read_sheet(sheet, lab)
    findings = [finding for run in lab.runs for finding in _run(assignment, run)]
    findings += [
        LabFinding(name, sentence) for name, sentence in sheets.misspelt(sheet, lab).items()
    ]
    for question in lab.questions:
        findings += _question(assignment, question, answers)
    return findings


def _run(assignment: Assignment, run: LabRun) -> Iterator[LabFinding]:
    folder = runs.run_folder(assignment.folder, run.name)
    if folder is None:
        command = f"./tcplab lab run {assignment.folder}"
        yield LabFinding(run.name, f"this run is not there yet: {command}")
        return
    own = own_parts(assignment)
    if not runs.is_possible(run, own):
        return  # the finding on the question of its settings says what is wrong
    problems = Problems()
    try:
        record = read_run(folder, problems)
        is_own = is_of(folder, runs.combination_of(run, assignment.variant, own).spec)
    except TcplabError as error:
        yield LabFinding(run.name, str(error))
        return
    if record.manifest.status != "complete":
        failures = " ".join(record.manifest.failures)[:200]
        yield LabFinding(run.name, f"the run is {record.manifest.status}: {failures}")
    if not is_own or record.seeds != runs.seeds_of(run, assignment.variant):
        others = "its parameters or its seed are others: ./tcplab lab run --again"
        yield LabFinding(run.name, f"this is not your run: {others}")
    for name in changed_files(record)[:3]:
        yield LabFinding(run.name, f"{name} was changed after the run: run it again")
    for problem in problems.found[:3]:
        yield LabFinding(run.name, problem)
    if record.manifest.testbed == "native":
        text = "made in real time, so it cannot be repeated; is that allowed in your course?"
        yield LabFinding(run.name, text, False)


def _question(
    assignment: Assignment, question: Question, answers: sheets.Answers
) -> Iterator[LabFinding]:
    given = answers[question.id]
    if given and question.kind == "prediction":
        recorded = sheets.read_predictions(assignment.folder, assignment.lab).get(question.id)
        if recorded is None and runs.run_folder(assignment.folder, question.before):
            late = f"written after the run {question.before}"
            yield LabFinding(question.id, f"{late}: it was not recorded and earns no points")
        elif recorded is not None and recorded != given:
            text = "changed since it was recorded; what was recorded counts"
            yield LabFinding(question.id, text, False)
        return
    try:
        for problem in _problems(assignment, question, answers):
            yield LabFinding(question.id, problem)
        if given and question.kind == "forecast":
            # A rule's value on the student's network shows a wrong unit.
            rule, run = read_rule(given[0]), assignment.lab.run(question.run)
            for network in hidden_networks(assignment.lab, question, SELF_STUDY):
                rule.value(network.variables)
            combination = runs.combination_of(run, assignment.variant, own_parts(assignment))
            here = rule.value(HiddenNetwork((), combination, 0).variables)
            text = f"on your network of run {run.name} it gives {here:.4g} {question.unit}"
            yield LabFinding(question.id, text, False)
    except (ValueError, UsageError) as error:
        yield LabFinding(question.id, str(error))


def _problems(assignment: Assignment, question: Question, answers: sheets.Answers) -> Iterator[str]:
    """Yield the problems of an answer. Raises ValueError, UsageError with the last one."""
    given = answers[question.id]
    if not given and question.kind != "choices":
        yield "not answered yet"
    elif question.kind == "design":
        sheets.chosen_in(assignment.lab, assignment.lab.run(question.run), answers)
    elif question.kind == "evidence":
        parse_frame(given[0])
    elif question.kind == "number":
        unit, number = unit_named(question.unit), parse_number(given[0])
        value = number.within(unit)
        if number.unit is None and unit.dimension != "number":
            yield f"'{given[0]}' has no unit; write one such as {question.unit}"
        elif not question.low <= value <= question.high:
            yield f"'{given[0]}' is hardly possible here. Is the unit right?"
    elif question.options:
        options = {option.id for option in question.options}
        for text in (text for text in given if text not in options):
            yield f"'{text[:40]}' is no option; there are {', '.join(sorted(options))}"
    elif question.kind in HANDED_IN_FILES:
        name, file = given[0], assignment.folder / given[0]
        if "/" in name or "\\" in name or not file.is_file():
            yield f"there is no file '{name[:60]}' in this folder"
        elif question.kind == "graph" and not sheets.picture_kind(file):
            yield f"'{name[:60]}' is no PNG or JPEG picture of up to 5 MB"
        elif question.kind == "program" and not runs.has_programs(assignment.folder):
            yield f"{runs.SENDER} and {runs.RECEIVER} have to be in this folder"
        elif question.kind == "script":
            handed_in_script(assignment.folder, name)


_TIME = (2000, 1, 1, 0, 0, 0)  # the same content gives the same zip


def pack(assignment: Assignment, out: Path | None = None) -> Path:
    """Write LAB-STUDENT.zip. Raises UsageError for a missing run, TcplabError if it fails."""
    name = f"{assignment.lab.name}-{safe_name(assignment.variant.student)}.zip"
    target = out or assignment.folder / name
    members = dict(_members(assignment))
    partial = target.with_name(f".{target.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside in sorted(members):
                information = zipfile.ZipInfo(inside, _TIME)
                information.compress_type = zipfile.ZIP_DEFLATED
                information.external_attr = 0o100644 << 16
                archive.writestr(information, members[inside].read_bytes())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        problem = f"{target} cannot be written: {error.strerror}."
        raise TcplabError(problem, "Choose a place with --out.") from None
    return target


def _members(assignment: Assignment) -> Iterator[tuple[str, Path]]:
    own, lab = assignment.folder, assignment.lab
    # Runs need these, named or not.
    needed = sheets.PREDICTIONS, runs.TYPED, runs.MODULE, runs.SENDER, runs.RECEIVER
    for name in (FILE, ANSWERS, *(name for name in needed if (own / name).is_file())):
        yield name, own / name
    for run in lab.runs:
        folder = runs.run_folder(own, run.name)
        if folder is None and run.chosen:
            continue  # a design that was not made: its question says so
        if folder is None:
            remedy = f"Make it first: ./tcplab lab run {own}"
            raise UsageError(f"The run {run.name} is not there yet.", remedy)
        raw = sorted((folder / "raw").rglob("*"))
        for file in (folder / "manifest.json", folder / "spec.json", *raw):
            if file.is_file() and not file.is_symlink():
                yield f"{runs.FOLDER}/{run.name}/{file.relative_to(folder).as_posix()}", file
    answers = sheets.read_sheet(own / ANSWERS, lab)
    for question in (each for each in lab.questions if each.kind in HANDED_IN_FILES):
        for name in answers[question.id]:
            file = own / name
            if "/" not in name and file.is_file() and not file.is_symlink():
                yield name, file


def blanks(assignment: Assignment) -> list[str]:
    answers = sheets.read_sheet(assignment.folder / ANSWERS, assignment.lab)
    return [question.id for question in assignment.lab.questions if not answers[question.id]]


def safe_name(text: str) -> str:
    """`text` as a part of a file's name on every system."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)
