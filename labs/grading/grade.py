"""`tcplab grade`: from a folder of hand-ins to a folder of grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from experiments.run.session import lab_facts, ready_lab
from experiments.sweep.point import Point, Record
from experiments.sweep.progress import watching
from experiments.sweep.run import PointRunner, runner_for
from experiments.sweep.store import results
from labs.definition.answers import examples_of
from labs.definition.assignment import Course, Variant, nominal_variant
from labs.definition.key import Key
from labs.definition.runs import combination_of, example_module
from labs.definition.scripts import tried
from labs.definition.spec import LabRun, LabSpec
from labs.grading import files, shared_work
from labs.grading.case import Case
from labs.grading.class_grading import ClassGrading, Marked, fits, has_real_time, key_of, mark
from labs.grading.comparison import compare, repeat_typed, settle
from labs.grading.decisions import (
    apply_acceptances,
    apply_dates,
    apply_overrides,
    read_acceptances,
    read_overrides,
)
from labs.grading.exports import check_submitter
from labs.grading.files import CourseFiles
from labs.grading.inspection import TOOLS
from labs.grading.intake import receive
from labs.grading.intake_report import counting_hand_ins, report_on
from labs.grading.marking import tolerances
from labs.grading.opening import Stage, at_once, failure_domain, opened_cases, require_course
from labs.grading.pages import GradedClass
from labs.grading.tables import Person
from labs.measuring.contained import contained_as
from labs.measuring.references import HiddenResults, References, place_of
from testbed.host.job_archive import code_digest
from testbed.host.scratch import scratch
from testbed.lab.packetdrill import packetdrill
from testbed.lab.ready import Lab
from topologies.errors import TcplabError

_WALL_SECONDS = 120.0
"""Of one run; a module that spins stops virtual time, and only this ends it."""
RunPoints = dict[LabRun, list[Point]]
Plan = TypeVar("Plan")
CasePoints = Mapping[Case, RunPoints]


@dataclass(frozen=True)
class ClassRequest:
    """A class to grade: its hand-ins, lab, course and people, and the folder for the grades.

    `given` are files of course systems to fill. `submitters` are the addresses of those who
    submitted the only hand-in to Gradescope.
    """

    submissions: Path
    lab: LabSpec
    course: Course
    out: Path
    people: Sequence[Person] = ()
    given: CourseFiles = field(default_factory=CourseFiles)
    submitters: Sequence[str] = ()
    workers: int | None = None


def grade_all(request: ClassRequest) -> Path:
    """Grade everything and return the folder of grades. Raises UsageError before anything is run.

    A hand-in that cannot be graded names the reason; the others are graded.
    """
    lab, out = request.lab, request.out
    out.mkdir(parents=True, exist_ok=True)
    files.check_given(request.given, lab)
    overrides, acceptances = read_overrides(out, lab), read_acceptances(out)
    with (
        TemporaryDirectory() as modules,
        scratch() as work,
        results(out) as memory,
        watching(f"grade {lab.name}") as watch,
    ):
        intake = receive(request.submissions, work / "class")
        module = example_module(Path(modules))
        references = References(_runner(request, module), memory, watch)
        grading = ClassGrading(lab, request.course, request.people, references, work, module)
        counting = counting_hand_ins(list(opened_cases(intake.hand_ins, grading)))
        cases = counting.cases
        require_course(cases, request.course)
        grade_cases(cases, grading)
        for case in cases:
            with failure_domain(case, Stage.DECIDE):
                if request.submitters:
                    check_submitter(case, request.people, request.submitters)
                apply_overrides(case, lab, overrides)
                apply_acceptances(case, acceptances)
        dates, worksheet = request.course.dates_of(lab.name), request.given.worksheet
        for notice in apply_dates(cases, dates, worksheet, request.submissions.is_dir()):
            watch.note(notice)
        report = report_on(intake, counting)
        people = () if request.submitters else request.people  # Gradescope sends one hand-in
        graded_class = GradedClass(
            lab, request.course, people, cases, overrides, acceptances, report
        )
        notices = files.write(out, graded_class, request.given, watch.note)
        for notice in [*notices, *report.terminal_lines()]:
            watch.note(notice)
    return out


def _runner(request: ClassRequest, module: Path) -> PointRunner:
    """Return workers that are large enough for the last value of each range."""
    lab = request.lab
    values = tuple((drawn.name, drawn.values[-1]) for drawn in lab.varies)
    largest = Variant(lab.name, "", "", values, 1)
    own = examples_of(lab, module)
    specs = [combination_of(run, largest, own).spec for run in lab.runs]
    ready = ready_lab(spec.kernel for spec in specs)
    return replace(runner_for(ready, specs, request.workers), wall_seconds=_WALL_SECONDS)


def grade_cases(cases: Sequence[Case], grading: ClassGrading) -> None:
    """Repeat the runs, compare, mark, and flag what hand-ins have in common."""
    nominal, module = nominal_variant(grading.lab), grading.module

    def spread_points(case: Case, variant: Variant) -> RunPoints:
        """Return further points of a hand-in in real time, whose spread makes its bands."""
        real_time = has_real_time(case)
        return grading.spread_points(variant, case.own.module) if real_time else {}

    points = dict(_planned(cases, lambda case, variant: grading.points(variant, case.own)))
    planned = _planned(cases, lambda case, _: grading.programs(case.own))
    programs = [(case, *own) for case, own in planned if own]
    spreads = dict(_planned(cases, spread_points))
    by_run = [*points.values(), *spreads.values(), grading.spread_points(nominal, module)]
    grading.references.ask(
        [point for runs in by_run for run_points in runs.values() for point in run_points]
        + grading.hidden.points()
        + [point for _, _, own_points in programs for point in own_points]
    )
    for case, runs, _ in programs:
        with failure_domain(case, Stage.REPEAT):
            case.tested = runs.tested()
    _compare(cases, points, grading)
    keys = [key_of(grading.lab, values, nominal) for values in grading.spread(nominal, module)]
    tolerance = tolerances(grading.lab, [key for key in keys if key])
    _try_scripts(_open(cases), grading)
    for case in _open(cases):
        with failure_domain(case, Stage.REPEAT):
            repeat_typed(case, grading.lab)
    hidden = grading.hidden.results()
    marked = dict(
        at_once(lambda case: (case, _mark(case, grading, tolerance, hidden)), _open(cases))
    )
    _find_shared_work(marked, grading.lab, tolerance)


def _open(cases: Sequence[Case]) -> list[Case]:
    """Return the hand-ins that can still be graded."""
    return [case for case in cases if not case.refused and case.variant]


def _planned(
    cases: Sequence[Case], plan: Callable[[Case, Variant], Plan]
) -> Iterator[tuple[Case, Plan]]:
    for case in _open(cases):
        with failure_domain(case, Stage.PLAN):
            yield case, plan(case, case.own_variant)


def _compare(cases: Sequence[Case], points: CasePoints, grading: ClassGrading) -> None:
    """Settle by digests what can be, and repeat the rest with its captures kept."""
    doubtful = [
        (case, run, records)
        for case in cases
        if case in points
        for run, records in _doubtful(case, points[case], grading)
        if not case.refused
    ]
    kept = grading.work / "kept"
    doubtful_points = (point for case, run, _ in doubtful for point in points[case][run])
    lost = grading.references.keep(doubtful_points, kept)
    versions = _own_versions(grading.references.way.lab)
    for case, run, records in doubtful:
        with failure_domain(case, Stage.COMPARE):
            if problem := next((lost[p.key] for p in points[case][run] if p.key in lost), ""):
                raise TcplabError(f"The run {run.name} could not be repeated: {problem}")
            reference = kept / place_of(points[case][run][0].combination.data)
            settle(case, run, reference, records, versions)


def _doubtful(
    case: Case, points: Mapping[LabRun, list[Point]], grading: ClassGrading
) -> list[tuple[LabRun, list[Record]]]:
    """The runs whose captures have to be compared packet by packet, with their repetitions."""
    doubtful = []
    with failure_domain(case, Stage.REPEAT):
        for run, run_points in points.items():
            records = [grading.references.records[point.key] for point in run_points]
            for record in records:
                if record["status"] == "failed":
                    problem = f"The run {run.name} could not be repeated: {record['problem']}"
                    raise TcplabError(problem)
            if compare(case, run, records, grading.course):
                doubtful.append((run, records))
    return doubtful


def _own_versions(lab: Lab) -> dict[str, str]:
    """Return the versions that a manifest of the grader would name."""
    facts = lab_facts(lab)
    return {
        "code": code_digest(),
        "kernel release": facts["kernel"]["release"],
        "kernel": facts["kernel"]["digest"],
        "image": facts["image"]["digest"],
        **{tool: facts["tools"][tool] for tool in TOOLS if tool in facts["tools"]},
    }


def _try_scripts(cases: Sequence[Case], grading: ClassGrading) -> None:
    """Run what was handed in as scripts, as many guests at once as this machine has room for."""
    lab = grading.lab
    handed_in = [
        (case, lab.question(name), case.scripts[name]) for case in cases for name in case.scripts
    ]
    if not handed_in:
        return
    try:
        program = packetdrill()
    except TcplabError as error:
        for case, _, _ in handed_in:
            case.notes.append(f"Its scripts were not run: {error}")
        return
    asked_for = [(question, script) for _, question, script in handed_in]
    trials = tried(asked_for, grading.references.way.lab, program)
    for (case, question, _), trial in zip(handed_in, trials, strict=True):
        case.trials[question.id] = trial


def _mark(
    case: Case,
    grading: ClassGrading,
    tolerance: Mapping[str, float],
    hidden: HiddenResults,
) -> Marked | None:
    with failure_domain(case, Stage.MARK):
        real_time = has_real_time(case)
        spread = grading.spread(case.own_variant, case.own.module) if real_time else []
        marked = contained_as(Marked, mark, case, grading.lab, tolerance, spread, hidden)
        case.bands, case.marks = marked.bands, marked.marks
        for flag in marked.flags:
            case.flag(flag.kind, flag.text, flag.with_whom)
        return marked
    return None


def _find_shared_work(
    marked: Mapping[Case, Marked | None], lab: LabSpec, tolerance: Mapping[str, float]
) -> None:
    cases = [case for case, marks in marked.items() if marks]
    rulers = {  # numbers alone: a key may name thousands of frames
        case: (Key(marks.key.numbers, {}, marks.key.mistakes), case.own_variant)
        for case, marks in marked.items()
        if marks
    }
    right = {case: marks.right for case, marks in marked.items() if marks}
    shared_work.same_student(cases)
    shared_work.same_captures(cases)
    shared_work.same_texts(cases, lab)
    for case in cases:

        def fitting(others: Sequence[Case], case: Case = case) -> list[set[str]]:
            held_against = [rulers[other] for other in others]
            answers = case.inspected.answers
            return contained_as(list[set[str]], fits, answers, lab, tolerance, held_against)

        with failure_domain(case, Stage.RESEMBLE):
            others = [other for other in cases if other is not case]
            shared_work.other_variants(case, others, lab, right[case], fitting)
