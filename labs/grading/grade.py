"""`tcplab grade`: from a folder of hand-ins to a folder of grades."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from experiments.run.session import lab_facts, ready_lab
from experiments.sweep.point import Point, Record
from experiments.sweep.run import runner_for, watching
from experiments.sweep.store import results
from labs.definition.answers import examples_of
from labs.definition.assignment import Course, Variant, nominal_variant
from labs.definition.key import Key
from labs.definition.runs import combination_of, example_module
from labs.definition.scripts import ScriptTrial, tried
from labs.definition.spec import LabRun, LabSpec
from labs.grading import decisions, files, shared_work
from labs.grading.case import Case, Flag
from labs.grading.class_grading import ClassGrading, Marked, fits, has_real_time, key_of, mark
from labs.grading.comparison import compare, has_doubtful_packets, repeat_typed, settle
from labs.grading.exports import check_submitter, read_gradebook
from labs.grading.files import CourseFiles
from labs.grading.inspection import TOOLS
from labs.grading.intake import HandIn, receive
from labs.grading.intake_report import counting_hand_ins, report_on
from labs.grading.marking import tolerances
from labs.grading.moodle import Worksheet, read_worksheet
from labs.grading.opening import Stage, at_once, attempt, opened_cases, require_course
from labs.grading.pages import GradedClass
from labs.grading.tables import Person
from labs.measuring.contained import contained_as
from labs.measuring.references import References, place_of
from testbed.host.job_archive import code_digest
from testbed.host.scratch import scratch
from testbed.lab.packetdrill import packetdrill
from topologies.errors import TcplabError

_WALL_SECONDS = 120.0  # of one run; a module that spins stops virtual time, and only this ends it
RunPoints = dict[LabRun, list[Point]]
Plan = TypeVar("Plan")


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
    """Grade everything and return the folder of grades. Raises UsageError before any run."""
    lab, out = request.lab, request.out
    out.mkdir(parents=True, exist_ok=True)
    # What could not be filled at the end is refused now.
    sheet = read_worksheet(request.given.worksheet) if request.given.worksheet else None
    if request.given.roster:
        read_gradebook(request.given.roster, lab)
    given = decisions.read_decisions(out, lab)
    with (
        TemporaryDirectory() as modules,
        scratch() as work,
        results(out) as memory,
        watching(f"grade {lab.name}") as watch,
    ):
        intake = receive(request.submissions, work / "class")
        module = example_module(Path(modules))
        values = tuple((drawn.name, drawn.values[-1]) for drawn in lab.varies)
        largest, own = Variant(lab.name, "", "", values, 1), examples_of(lab, module)
        specs = [combination_of(run, largest, own).spec for run in lab.runs]
        runner = runner_for(ready_lab(spec.kernel for spec in specs), specs, request.workers)
        references = References(replace(runner, wall_seconds=_WALL_SECONDS), memory, watch)
        grading = ClassGrading(lab, request.course, request.people, references, work, module)
        received = counting_hand_ins(list(opened_cases(intake.hand_ins, grading)))
        require_course(received.cases, request.course)
        checked = check_cases(received.cases, grading)
        marked = mark_cases(checked, grading)
        decided = decide_cases(marked, request, given, sheet, watch.note)
        report = report_on(intake, replace(received, cases=decided))
        people = () if request.submitters else request.people  # Gradescope sends one hand-in
        graded = GradedClass(lab, request.course, people, decided, given, report)
        notices = files.write(out, graded, request.given, watch.note)
        for notice in [*notices, *report.terminal_lines()]:
            watch.note(notice)
    return out


def check_cases(cases: Sequence[Case], grading: ClassGrading) -> list[Case]:
    """Repeat the runs, compare them with those handed in, and try programs and scripts."""
    nominal = nominal_variant(grading.lab)
    cases, points = _planned(cases, lambda case: grading.points(case.own_variant, case.own))
    cases, programs = _planned(cases, lambda case: grading.programs(case.own))
    cases, spreads = _planned(
        cases,
        lambda case: (
            grading.spread_points(case.own_variant, case.own.module) if has_real_time(case) else {}
        ),
    )
    plans = [*points.values(), *spreads.values(), grading.spread_points(nominal, grading.module)]
    every = chain.from_iterable(listed for plan in plans for listed in plan.values())
    grading.references.ask([*every, *grading.hidden.points()])
    grading.references.ask_for_programs([own.points() for own in programs.values() if own])

    def with_tested(case: Case) -> Case:
        runs = programs.get(case.hand_in)
        return replace(case, tested=runs.tested()) if runs else case

    cases = _each(Stage.REPEAT, cases, with_tested)
    cases = _try_scripts(_compare(cases, points, grading), grading)
    return _each(Stage.REPEAT, cases, repeat_typed, grading.lab)


def _is_open(case: Case) -> bool:
    return not case.refused and case.variant is not None


def _each(stage: Stage, cases: Sequence[Case], step: Callable[..., Case], *more: Any) -> list[Case]:
    return [attempt(stage, case, step, *more) if _is_open(case) else case for case in cases]


def _planned(
    cases: Sequence[Case], plan: Callable[[Case], Plan]
) -> tuple[list[Case], dict[HandIn, Plan]]:
    """Return the cases, refused if there is no plan for them, and the plan of each other."""
    plans: dict[HandIn, Plan] = {}

    def planned(case: Case) -> Case:
        plans[case.hand_in] = plan(case)
        return case

    return _each(Stage.PLAN, cases, planned), plans


def _compare(
    cases: Sequence[Case], points: Mapping[HandIn, RunPoints], grading: ClassGrading
) -> list[Case]:
    """Settle by digests what can be, and repeat the rest with its captures kept."""
    references, kept = grading.references, grading.work / "kept"

    def records_of(case: Case, run: LabRun, lost: Mapping[str, str]) -> list[Record]:
        run_points = points[case.hand_in][run]
        records = [references.records[point.key] for point in run_points]
        failures = [each["problem"] for each in records if each["status"] == "failed"]
        failures += [lost[point.key] for point in run_points if point.key in lost]
        if failures:
            raise TcplabError(f"The run {run.name} could not be repeated: {failures[0]}")
        return records

    def compared(case: Case, run: LabRun) -> Case:
        return compare(case, run, records_of(case, run, {}), grading.course)

    cases = list(cases)
    for at, case in enumerate(cases):
        for run in points.get(case.hand_in, ()):
            if cases[at].refused == case.refused:
                cases[at] = attempt(Stage.REPEAT, cases[at], compared, run)
    doubtful = {
        case.hand_in: [run for run in points[case.hand_in] if has_doubtful_packets(case, run)]
        for case in cases
        if case.hand_in in points and not case.refused
    }
    again = (point for of, runs in doubtful.items() for run in runs for point in points[of][run])
    lost = references.keep(again, kept)
    facts = lab_facts(references.way.lab)
    versions = {
        "code": code_digest(),
        "kernel release": facts["kernel"]["release"],
        "kernel": facts["kernel"]["digest"],
        "image": facts["image"]["digest"],
        **{tool: facts["tools"][tool] for tool in TOOLS if tool in facts["tools"]},
    }

    def settled(case: Case, run: LabRun) -> Case:
        reference = kept / place_of(points[case.hand_in][run][0].combination.data)
        return settle(case, run, reference, records_of(case, run, lost), versions)

    for at, case in enumerate(cases):
        for run in doubtful.get(case.hand_in, ()):
            cases[at] = attempt(Stage.COMPARE, cases[at], settled, run)
    return cases


def _try_scripts(cases: Sequence[Case], grading: ClassGrading) -> list[Case]:
    """Run what was handed in as scripts, as many guests at once as this machine has room for."""
    scripts = [
        (case.hand_in, grading.lab.question(name), script)
        for case in cases
        for name, script in (case.scripts.items() if _is_open(case) else ())
    ]
    if not scripts:
        return list(cases)
    writers = {hand_in for hand_in, _, _ in scripts}
    try:
        program = packetdrill()
    except TcplabError as error:
        note = f"Its scripts were not run: {error}"
        return [case.noted(note) if case.hand_in in writers else case for case in cases]
    trials: dict[HandIn, dict[str, ScriptTrial]] = defaultdict(dict)
    tries = tried([each[1:] for each in scripts], grading.references.way.lab, program)
    for (hand_in, question, _), trial in zip(scripts, tries, strict=True):
        trials[hand_in][question.id] = trial
    return [replace(case, trials={**case.trials, **trials[case.hand_in]}) for case in cases]


def mark_cases(cases: Sequence[Case], grading: ClassGrading) -> list[Case]:
    lab, nominal = grading.lab, nominal_variant(grading.lab)
    keys = [key_of(lab, values, nominal) for values in grading.spread(nominal, grading.module)]
    tolerance = tolerances(lab, [key for key in keys if key])
    hidden = grading.hidden.results()

    def marked(case: Case) -> Case:
        real_time = has_real_time(case)
        spread = grading.spread(case.own_variant, case.own.module) if real_time else []
        found = contained_as(Marked, mark, case, lab, tolerance, spread, hidden)
        numbers = Key(found.key.numbers, {}, found.key.mistakes)  # a key may name many frames
        case = replace(case, bands=found.bands, marks=tuple(found.marks), key=numbers)
        return replace(case, right=found.right).flagged(*found.flags)

    def attempted(case: Case) -> Case:
        return attempt(Stage.MARK, case, marked) if _is_open(case) else case

    return _with_shared(list(at_once(attempted, cases)), lab, tolerance)


def _with_shared(cases: Sequence[Case], lab: LabSpec, tolerance: Mapping[str, float]) -> list[Case]:
    shared: dict[Case, list[Flag]] = defaultdict(list)
    for case, flag in shared_work.shared_work([case for case in cases if case.key], lab):
        shared[case].append(flag)
    cases = [case.flagged(*shared[case]) for case in cases]
    marked = [case for case in cases if case.key]

    def alone(case: Case) -> Case:
        def fitting(others: Sequence[Case]) -> list[set[str]]:
            rulers = [(other.key, other.own_variant) for other in others]
            answers = case.inspected.answers
            return contained_as(list[set[str]], fits, answers, lab, tolerance, rulers)

        others = [other for other in marked if other is not case]
        return shared_work.other_variants(case, others, lab, fitting)

    return [attempt(Stage.RESEMBLE, case, alone) if case.key else case for case in cases]


def decide_cases(
    cases: Sequence[Case],
    request: ClassRequest,
    given: decisions.Decisions,
    sheet: Worksheet | None,
    tell: Callable[[str], None],
) -> list[Case]:
    dates, in_folder = request.course.dates_of(request.lab.name), request.submissions.is_dir()

    def decided(case: Case) -> Case:
        if request.submitters:
            case = check_submitter(case, request.people, request.submitters)
        case = decisions.apply_overrides(case, request.lab, given)
        return decisions.apply_acceptances(case, given)

    cases = [decisions.hide_key(attempt(Stage.DECIDE, case, decided), dates) for case in cases]
    known = decisions.apply_dates, dates, sheet, in_folder
    cases = [attempt(Stage.DECIDE, case, *known) for case in cases]
    for notice in decisions.date_notices(cases) if dates.deadline else ():
        tell(notice)
    return cases
