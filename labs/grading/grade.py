"""`tcplab grade`: from a folder of hand-ins to a folder of grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.cli.messages import ready_lab
from experiments.running.session import lab_facts
from experiments.sweep.point import Point, Record
from experiments.sweep.point_store import results
from experiments.sweep.progress import watching
from experiments.sweep.running_points import PointRunner, way_to_workers
from labs.definition import lab_catalogue, lab_runs
from labs.definition.answer_key import Key
from labs.definition.course import Course, Variant
from labs.definition.lab_spec import LabRun, LabSpec
from labs.definition.own_parts import examples_of
from labs.grading import grade_files, shared_work
from labs.grading.acceptances import Acceptances, apply_acceptances, read_acceptances
from labs.grading.bands import bands_of, check_bands, real_time_cases
from labs.grading.case import Case
from labs.grading.class_grading import ClassGrading
from labs.grading.counting_hand_in import counting_hand_ins
from labs.grading.download_report import report_on
from labs.grading.grade_files import CourseFiles, GradedClass
from labs.grading.gradescope import Submission, check_submitter
from labs.grading.intake import receive
from labs.grading.marking import Marker, tolerances
from labs.grading.opened_hand_ins import opened_cases, require_course
from labs.grading.overrides import Overrides, apply_overrides, read_overrides
from labs.grading.roster import Person
from labs.grading.run_comparison import compare, settle
from labs.grading.script_trials import tried
from labs.measuring.references import References, place_of
from testbed.host.scratch import scratch
from testbed.jobs.archive import code_digest
from testbed.lab.packetdrill.packetdrill_recipe import packetdrill
from testbed.lab.ready import Lab
from topologies.errors import TcplabError

_WALL_SECONDS = 120.0
"""Of one run; a module that spins stops virtual time, and only this ends it."""
CasePoints = Mapping[int, dict[LabRun, list[Point]]]
"""The points of each run by the identity of its case."""


def grade_all(
    submissions: Path,
    lab: LabSpec,
    course: Course,
    people: Sequence[Person],
    out: Path,
    workers: int | None,
    given: CourseFiles | None = None,
    submission: Submission | None = None,
) -> Path:
    """Grade everything and return the folder of grades. Raises UsageError before anything is run.

    A hand-in that cannot be graded says why; the others are graded. `given` are files of course
    systems to fill, `submission` is who submitted the only hand-in to Gradescope.
    """
    out.mkdir(parents=True, exist_ok=True)
    given = given or CourseFiles()
    grade_files.check_given(given, lab)
    overrides, acceptances = read_overrides(out, lab), read_acceptances(out)
    with (
        TemporaryDirectory() as modules,
        scratch() as work,
        results(out) as memory,
        watching(f"grade {lab.name}") as watch,
    ):
        intake = receive(submissions, work / "class")
        module = lab_runs.example_module(Path(modules))
        way = _way(lab, workers, module)
        grading = ClassGrading(lab, course, people, References(way, memory, watch), work, module)
        counting = counting_hand_ins(list(opened_cases(intake.hand_ins, grading)))
        cases = counting.cases
        require_course(cases, course)
        grade_cases(cases, grading)
        if submission:
            for case in cases:
                check_submitter(case, people, submission)
        decide(cases, lab, overrides, acceptances)
        report = report_on(intake, counting)
        graded_class = GradedClass(lab, course, people, cases, overrides, acceptances, report)
        for notice in [*grade_files.write(out, graded_class, given), *report.terminal_lines()]:
            watch.note(notice)
    return out


def _way(lab: LabSpec, workers: int | None, module: Path) -> PointRunner:
    """To workers that are large enough for the last value of each range."""
    values = tuple((drawn.name, drawn.values[-1]) for drawn in lab.varies)
    largest = Variant(lab.name, "", "", values, 1)
    own = examples_of(lab, module)
    specs = [lab_runs.combination_of(run, largest, own).spec for run in lab.runs]
    ready = ready_lab(spec.kernel for spec in specs)
    return way_to_workers(ready, specs, workers, None, _WALL_SECONDS)


def grade_cases(cases: Sequence[Case], grading: ClassGrading) -> None:
    """Repeat the runs, compare, mark, and flag what hand-ins have in common."""
    nominal, module = grading.nominal(), grading.module
    points = dict(_points(cases, grading))
    by_run = [*points.values(), grading.spread_points(nominal, module)]
    for case in real_time_cases(cases):
        assert case.variant is not None
        by_run.append(grading.spread_points(case.variant, case.own.module))
    grading.references.ask(
        point for runs in by_run for run_points in runs.values() for point in run_points
    )
    _compare(cases, points, grading)
    _mark(cases, grading, tolerances(grading.lab, grading.spread(nominal, module)))


def decide(
    cases: Sequence[Case], lab: LabSpec, overrides: Overrides, acceptances: Acceptances
) -> None:
    """Apply what people decided of hand-ins that they have seen."""
    for case in cases:
        apply_overrides(case, lab, overrides)
        apply_acceptances(case, acceptances)


def _points(
    cases: Sequence[Case], grading: ClassGrading
) -> Iterator[tuple[int, dict[LabRun, list[Point]]]]:
    """The points of each case that has a variant, by the case's identity."""
    for case in cases:
        if case.variant and not case.refused:
            try:
                yield id(case), grading.points(case.variant, case.own)
            except TcplabError as error:
                case.refused = str(error)


def _compare(cases: Sequence[Case], points: CasePoints, grading: ClassGrading) -> None:
    """Settle by digests what can be, and repeat the rest with its captures kept."""
    doubtful = [
        (case, run, records)
        for case, run, records in _differing(cases, points, grading)
        if not case.refused
    ]
    kept = grading.work / "kept"
    doubtful_points = (point for case, run, _ in doubtful for point in points[id(case)][run])
    grading.references.keep(doubtful_points, kept)
    versions = _own_versions(grading.references.way.lab)
    for case, run, records in doubtful:
        data = points[id(case)][run][0].combination.data
        settle(case, run, kept / place_of(data), records, versions)


def _differing(
    cases: Sequence[Case], points: CasePoints, grading: ClassGrading
) -> list[tuple[Case, LabRun, list[Record]]]:
    """The runs whose captures have to be compared packet by packet, with their repetitions."""
    differing = []
    for case in cases:
        for run, run_points in points.get(id(case), {}).items():
            records = [grading.references.records[point.key] for point in run_points]
            if failed := next((record for record in records if record["status"] == "failed"), None):
                case.refused = f"The run {run.name} could not be repeated: {failed['problem']}"
            elif compare(case, run, records, grading.course):
                differing.append((case, run, records))
    return differing


def _own_versions(lab: Lab) -> dict[str, str]:
    """What a manifest of the grader's own would say."""
    facts = lab_facts(lab)
    tools = {
        tool: facts["tools"][tool]
        for tool in ("iperf", "tcpdump", "iproute2")
        if tool in facts["tools"]
    }
    return {
        "code": code_digest(),
        "kernel release": facts["kernel"]["release"],
        "kernel": facts["kernel"]["digest"],
        "image": facts["image"]["digest"],
        **tools,
    }


def _mark(cases: Sequence[Case], grading: ClassGrading, tolerance: Mapping[str, float]) -> None:
    """Mark the answers of everybody, then compare what they handed in."""
    open_cases = [case for case in cases if not case.refused and case.variant]
    markers: dict[int, Marker] = {}
    _try_scripts(open_cases, grading)
    for case in open_cases:
        key = _key(case, grading)
        case.bands = bands_of(case, grading)
        markers[id(case)] = _marker(case, key, grading, tolerance)
        case.marks = markers[id(case)].marks(case.inspected.answers)
        check_bands(case, key)
    shared_work.same_student(open_cases)
    shared_work.same_captures(open_cases)
    shared_work.same_texts(open_cases, grading.lab)
    shared_work.other_variants(
        open_cases,
        grading.lab,
        lambda case, other: markers[id(other)].right(case.inspected.answers),
    )


def _try_scripts(cases: Sequence[Case], grading: ClassGrading) -> None:
    """Run what was handed in as scripts, as many guests at once as this machine has room for."""
    handed_in = [
        (case, grading.lab.question(name), script)
        for case in cases
        for name, script in case.scripts.items()
    ]
    if not handed_in:
        return
    try:
        program = packetdrill()
    except TcplabError as error:
        for case, _, _ in handed_in:
            case.notes.append(f"Its scripts were not run: {error}")
        return
    asked = [(question, script) for _, question, script in handed_in]
    trials = tried(asked, grading.references.way.lab, program)
    for (case, question, _), trial in zip(handed_in, trials, strict=True):
        case.trials[question.id] = trial


def _key(case: Case, grading: ClassGrading) -> Key | None:
    """The key by what was handed in, else by the repeated run."""
    assert case.variant is not None
    key = grading.key(case.runs, case.variant)
    if key is None:
        case.flag(
            "unreadable",
            "What was handed in gives no key; the answers are marked by the repeated run.",
        )
        key = grading.key(case.repeated, case.variant)
    return key


def _marker(
    case: Case, key: Key | None, grading: ClassGrading, tolerance: Mapping[str, float]
) -> Marker:
    assert case.variant is not None
    derived = getattr(lab_catalogue.key_module(grading.lab.name), "DERIVED", {})
    variables = lab_runs.variables_of(grading.lab, case.variant)
    pictures = case.inspected.pictures
    unreadable = any(flag.kind == "unreadable" for flag in case.flags)
    bands = case.bands if unreadable else {}
    recorded = case.inspected.predictions
    return Marker(
        grading.lab,
        key or Key(),
        tolerance,
        derived,
        variables,
        pictures,
        bands,
        recorded,
        case.trials,
    )
