"""`tcplab grade`: from a folder of hand-ins to a folder of grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import StatisticsError
from tempfile import TemporaryDirectory

from experiments.cli.messages import ready_lab
from experiments.running.session import lab_facts
from experiments.sweep.point import Point, Record
from experiments.sweep.point_store import results
from experiments.sweep.progress import watching
from experiments.sweep.running_points import PointRunner, way_to_workers
from labs.definition import lab_catalogue, lab_runs
from labs.definition.answer_key import Key
from labs.definition.course import Course, Variant, student_id, variant
from labs.definition.lab_spec import LabRun, LabSpec
from labs.grading import grade_files, shared_work
from labs.grading.acceptances import Acceptances, apply_acceptances, read_acceptances
from labs.grading.case import Case
from labs.grading.counting_hand_in import counting_hand_ins
from labs.grading.download_report import report_on
from labs.grading.grade_files import CourseFiles, GradedClass
from labs.grading.gradescope import Submission, check_submitter
from labs.grading.hand_in_digest import fingerprint
from labs.grading.inspection import from_json, inspect
from labs.grading.intake import HandIn, receive
from labs.grading.marking import Marker, tolerances
from labs.grading.overrides import Overrides, apply_overrides, read_overrides
from labs.grading.owners import owner, ownership_doubt
from labs.grading.roster import Person
from labs.grading.run_comparison import compare, settle
from labs.measuring.contained import contained
from labs.measuring.lab_measures import MeasuredRun, Values
from labs.measuring.references import References, place_of
from testbed.host.capacity import allowed_processors
from testbed.host.scratch import scratch
from testbed.jobs.archive import code_digest
from testbed.lab.ready import Lab
from topologies.errors import TcplabError, UsageError

_WALL_SECONDS = 120.0
"""Of one run; a module that spins stops virtual time, and only this ends it."""
_SEEDS = 8
"""Seeds whose spread makes tolerances and bands."""


@dataclass
class ClassGrading:
    """What is the same for a whole class."""

    lab: LabSpec
    course: Course
    people: Sequence[Person]
    references: References
    work: Path
    module: Path
    """A module in the place of a student's, for the runs that tell how much chance does."""

    def key(self, values: Mapping[str, Sequence[Values]], of: Variant) -> Key | None:
        """The key by these runs; None where they do not tell."""
        measured = {name: MeasuredRun(tuple(seeds)) for name, seeds in values.items()}
        try:
            found: Key = lab_catalogue.key_module(self.lab.name).key(
                measured, lab_runs.variables_of(self.lab, of)
            )
        except (KeyError, ZeroDivisionError, StatisticsError, ValueError):
            return None
        return found

    def nominal(self) -> Variant:
        """The middle of every range: on it tolerances are measured."""
        values = tuple((one.name, one.values[len(one.values) // 2]) for one in self.lab.varies)
        return Variant(self.lab.name, "", "", values, 1)

    def points(
        self, of: Variant, module: Path | None, seeds: Iterable[int] | None = None
    ) -> dict[LabRun, list[Point]]:
        """The points of each run of a variant.

        Raises UsageError where a module is needed and cannot be used.
        """
        found = {}
        for run in self.lab.runs:
            combination = lab_runs.combination_of(run, of, module)
            chosen = lab_runs.seeds_of(run, of) if seeds is None else seeds
            found[run] = [self.references.point(combination, seed) for seed in chosen]
        return found

    def spread(self, of: Variant, module: Path | None) -> list[Key]:
        """The keys of a variant under other seeds, which have been asked for."""
        points = self.points(of, module, range(1, _SEEDS + 1))
        found = []
        for index in range(_SEEDS):
            records = {run.name: self.references.records[points[run][index].key] for run in points}
            if all(record["status"] == "complete" for record in records.values()):
                found.append(
                    self.key({name: [record["values"]] for name, record in records.items()}, of)
                )
        return [key for key in found if key]


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
    by_hand, accepted = read_overrides(out, lab), read_acceptances(out)
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
        chosen = counting_hand_ins(list(_inspected(intake.hand_ins, grading)))
        cases = chosen.cases
        _require_course(cases, course)
        grade_cases(cases, grading)
        if submission:
            for case in cases:
                check_submitter(case, people, submission)
        decide(cases, lab, by_hand, accepted)
        report = report_on(intake, chosen)
        decided = GradedClass(lab, course, people, cases, by_hand, accepted, report)
        for notice in [*grade_files.write(out, decided, given), *report.told()]:
            watch.note(notice)
    return out


def _way(lab: LabSpec, workers: int | None, module: Path) -> PointRunner:
    nominal = Variant(lab.name, "", "", tuple((one.name, one.values[-1]) for one in lab.varies), 1)
    specs = [lab_runs.combination_of(run, nominal, module).spec for run in lab.runs]
    return way_to_workers(ready_lab(), specs, workers, None, _WALL_SECONDS)


def _inspected(found: Sequence[HandIn], grading: ClassGrading) -> Iterator[Case]:
    """Each hand-in unpacked and looked at, as many at once as there are processors."""
    with ThreadPoolExecutor(allowed_processors()) as pool:
        folders = [grading.work / "hand-ins" / str(number) for number in range(len(found))]
        yield from pool.map(lambda one, folder: _case(one, folder, grading), found, folders)


def _case(hand_in: HandIn, folder: Path, grading: ClassGrading) -> Case:
    folder.mkdir(parents=True)
    case = Case(hand_in, folder, person=owner(hand_in, grading.people), refused=hand_in.problem)
    if case.refused:
        return case
    try:
        case.digest = contained(fingerprint, str(hand_in.place.absolute()))
        found = contained(inspect, str(hand_in.place.absolute()), str(folder), grading.lab.name)
        case.inspected = from_json(found)
        _identify(case, grading)
    except TcplabError as error:
        case.refused = str(error)
    return case


def _identify(case: Case, grading: ClassGrading) -> None:
    """Whose it is: the course system's word counts, then what it says itself.

    Raises UsageError for a strange id.
    """
    claimed = case.inspected.student
    known = {person.id: person for person in grading.people}
    if case.person is None:
        student = student_id(claimed)
        case.person = known.get(student)
        if known and case.person is None:
            raise TcplabError(
                f"'{student}' is not in the class.", "Start the lab with the id of the course."
            )
        if reason := ownership_doubt(case.hand_in, grading.people, case.person):
            case.flag("whose", reason, claimed)
    elif claimed and student_id(claimed) != case.person.id:
        case.flag(
            "whose",
            f"It was handed in by {case.person.id} and says that it is of {claimed}.",
            claimed,
        )
    case.variant = variant(grading.course, grading.lab, case.person.id if case.person else claimed)


def _require_course(cases: Sequence[Case], course: Course) -> None:
    """Raises UsageError where every hand-in was started in another course: then no variant would be
    right.
    """
    said = {case.inspected.course for case in cases if not case.refused}
    if said and course.name not in said:
        problem = (
            f"The hand-ins were started in the course '{min(said)}', and you grade '{course.name}'."
        )
        raise UsageError(problem, "Name the right file with --course.")


def grade_cases(cases: Sequence[Case], grading: ClassGrading) -> None:
    """Repeat the runs, compare, mark, and flag what hand-ins have in common."""
    points = dict(_points(cases, grading))
    nominal, module = grading.nominal(), grading.module
    wanted = [
        point for of_case in points.values() for listed in of_case.values() for point in listed
    ]
    wanted += [
        point
        for listed in grading.points(nominal, module, range(1, _SEEDS + 1)).values()
        for point in listed
    ]
    for case in _native(cases):
        wanted += [point for listed in _bands(case, grading).values() for point in listed]
    grading.references.ask(wanted)
    _compare(cases, points, grading)
    _mark(cases, grading, tolerances(grading.lab, grading.spread(nominal, module)))


def decide(cases: Sequence[Case], lab: LabSpec, by_hand: Overrides, accepted: Acceptances) -> None:
    """Put in place what people decided of hand-ins that they have seen."""
    for case in cases:
        apply_overrides(case, lab, by_hand)
        apply_acceptances(case, accepted)


def _points(
    cases: Sequence[Case], grading: ClassGrading
) -> Iterator[tuple[int, dict[LabRun, list[Point]]]]:
    """The points of each case that has a variant, by the case's identity."""
    for case in cases:
        if case.variant and not case.refused:
            try:
                yield id(case), grading.points(case.variant, _module(case))
            except TcplabError as error:
                case.refused = str(error)


def _module(case: Case) -> Path | None:
    file = case.folder / lab_runs.MODULE
    return file if file.is_file() else None


def _native(cases: Sequence[Case]) -> list[Case]:
    return [
        case
        for case in cases
        if not case.refused and any(run.testbed == "native" for run in case.inspected.runs.values())
    ]


def _bands(case: Case, grading: ClassGrading) -> dict[LabRun, list[Point]]:
    assert case.variant is not None
    return grading.points(case.variant, _module(case), range(1, _SEEDS + 1))


def _compare(
    cases: Sequence[Case], points: Mapping[int, dict[LabRun, list[Point]]], grading: ClassGrading
) -> None:
    doubtful: list[tuple[Case, LabRun, list[Record]]] = []
    for case in cases:
        for run, listed in points.get(id(case), {}).items():
            records = [grading.references.records[point.key] for point in listed]
            if failed := next((record for record in records if record["status"] == "failed"), None):
                case.refused = f"The run {run.name} could not be repeated: {failed['problem']}"
            elif compare(case, run, records, grading.course):
                doubtful.append((case, run, records))
    doubtful = [(case, run, records) for case, run, records in doubtful if not case.refused]
    kept = grading.work / "kept"
    grading.references.keep(
        (point for case, run, _ in doubtful for point in points[id(case)][run]), kept
    )
    ours = _ours(grading.references.way.lab)
    for case, run, records in doubtful:
        data = points[id(case)][run][0].combination.data
        settle(case, run, kept / place_of(data), records, ours)


def _ours(lab: Lab) -> dict[str, str]:
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
    derived = getattr(lab_catalogue.key_module(grading.lab.name), "DERIVED", {})
    markers: dict[int, Marker] = {}
    open_cases = [case for case in cases if not case.refused and case.variant]
    for case in open_cases:
        assert case.variant is not None
        key = grading.key(case.runs, case.variant)
        if key is None:
            case.flag(
                "unreadable",
                "What was handed in gives no key; the answers are marked by the repeated run.",
            )
            key = grading.key(case.repeated, case.variant)
        variables = lab_runs.variables_of(grading.lab, case.variant)
        pictures = case.inspected.pictures
        case.bands = _bands_of(case, grading)
        instead = case.bands if any(flag.kind == "unreadable" for flag in case.flags) else {}
        markers[id(case)] = Marker(
            grading.lab, key or Key(), tolerance, derived, variables, pictures, instead
        )
        case.marks = markers[id(case)].marks(case.inspected.answers)
        _check_bands(case, key)
    shared_work.same_student(open_cases)
    shared_work.same_captures(open_cases)
    shared_work.same_texts(open_cases, grading.lab)
    shared_work.other_variants(
        open_cases, grading.lab, lambda one, by: markers[id(by)].right(one.inspected.answers)
    )


def _bands_of(case: Case, grading: ClassGrading) -> dict[str, tuple[float, float]]:
    """For runs in real time: between which values repeated runs of the variant lie, widened by half
    on each side.
    """
    if not _native([case]):
        return {}
    assert case.variant is not None
    keys = grading.spread(case.variant, _module(case))
    found = {}
    for question in grading.lab.questions:
        values = [key.numbers[question.id] for key in keys if question.id in key.numbers]
        if len(values) > 2:
            half = 0.5 * (max(values) - min(values)) + 0.05 * max(map(abs, values))
            found[question.id] = (min(values) - half, max(values) + half)
    return found


def _check_bands(case: Case, key: Key | None) -> None:
    """Flag what was captured in real time and lies where no repeated run of the variant does."""
    for name, (low, high) in case.bands.items():
        value = key.numbers.get(name) if key else None
        if value is not None and not low <= value <= high:
            case.flag(
                "band",
                f"{name}: {value:.4g} was captured, and repeated runs lie between {low:.4g} and"
                f" {high:.4g}.",
            )
