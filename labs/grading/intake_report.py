"""The hand-in of each upload that counts, and the report on a download's files.

A readable hand-in takes precedence over an unreadable one, and one that names its uploader over one
that names another student. Among those the newest counts: by Canvas's numbers of files, or by the
times in the download if they are further apart than packing takes. If their order is unknown, all
are graded, and a person decides.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from labs.definition.answers import displayable
from labs.definition.assignment import student_id
from labs.grading.case import Case, Flag
from labs.grading.intake import Intake
from labs.grading.tables import table
from topologies.errors import TcplabError, UsageError

_APART = 60.0
"""Seconds. Moodle gives all files the time of the download
(files/classes/local/archive_writer/zip_writer.php names none), and then the order is that of
packing.
"""


@dataclass(frozen=True)
class CountingHandIns:
    """The cases that are graded, and the others, each with the reason why it is not."""

    cases: Sequence[Case]
    superseded: Sequence[tuple[Case, str]] = ()


def counting_hand_ins(cases: Sequence[Case]) -> CountingHandIns:
    """Choose in each upload; flags of the hand-in that counts name the others."""
    newest, superseded = _without_copies(cases)
    uploads: dict[str, list[Case]] = defaultdict(list)
    for number, case in enumerate(newest):
        uploads[case.hand_in.upload or f"alone {number}"].append(case)
    counting: list[Case] = []
    for upload in uploads.values():
        groups: dict[str, list[Case]] = defaultdict(list)
        several = len({case.student for case in upload if not case.refused}) > 1
        for case in upload:  # a hand-in of a group that cannot be read stands alone
            groups[case.student if several else ""].append(case)
        for chosen, others in map(_choose, groups.values()):
            counting += chosen
            superseded += others
    return CountingHandIns(counting, superseded)


def _without_copies(cases: Sequence[Case]) -> tuple[list[Case], list[tuple[Case, str]]]:
    """Return the newest of files that one student uploaded more than once, and the others."""
    newest: dict[tuple[str, str, str], Case] = {}
    copies = []
    for case in sorted(cases, key=_age, reverse=True):
        same = (case.hand_in.upload, case.student, case.digest or f"unread {id(case)}")
        counts = newest.setdefault(same, case)
        if counts is not case:
            label = counts.hand_in.label
            copies.append((case, f"{label} is the same, byte for byte, and counts"))
    return [case for case in cases if case in newest.values()], copies


def _choose(group: Sequence[Case]) -> tuple[list[Case], list[tuple[Case, str]]]:
    best = max(_rank(case) for case in group)
    first, *others = sorted((case for case in group if _rank(case) == best), key=_age, reverse=True)
    also = [
        case
        for case in others
        if not (first.hand_in.file and case.hand_in.file)
        and first.hand_in.time - case.hand_in.time < _APART
    ]
    left = [(case, _reason(case, first)) for case in group if case not in (first, *also)]
    flags = (
        Flag("twice", f"{case.hand_in.label} was uploaded too and is not graded: {reason}.")
        for case, reason in left
    )
    counts = f"{first.hand_in.label} counts"
    return [first.flagged(*flags), *also], [(case, f"{why}; {counts}") for case, why in left]


def _rank(case: Case) -> tuple[bool, bool]:
    return not case.refused, _is_own(case)


def _is_own(case: Case) -> bool:
    try:
        return case.person is None or student_id(case.inspected.student) == case.person.id
    except UsageError:
        return False


def _age(case: Case) -> tuple[int, float]:
    return case.hand_in.file, case.hand_in.time


def _reason(case: Case, first: Case) -> str:
    if case.refused and not first.refused:
        return f"it cannot be read ({case.refused.rstrip('.')})"
    if _is_own(case) != _is_own(first):
        return f"it names {case.inspected.student or 'no student'} as its student"
    return "it is older"


INTAKE = "intake.csv"
_PASSED = "no file that a hand-in needs"
_SHOWN = 300
_NAMED = 20  # lines in the terminal


@dataclass(frozen=True)
class IntakeLine:
    """One file of a download. `size` is in bytes; `look` says that a person should know.

    What became of it: it is of a hand-in that was graded, or could not be, or was not since another
    of the same student counts; or of none, and was ignored, or refused for what it is.
    """

    file: str
    whose: str
    size: int
    became: str
    why: str = ""
    look: bool = False


@dataclass(frozen=True)
class DownloadReport:
    lines: Sequence[IntakeLine] = ()
    hand_ins: int = 0
    students: int = 0
    superseded: int = 0
    unreadable: int = 0

    @property
    def looks(self) -> list[IntakeLine]:
        return [line for line in self.lines if line.look]

    @property
    def summary(self) -> str:
        count = Counter(line.became for line in self.lines)
        parts = [f"{_number(self.hand_ins, 'hand-in')} of {_number(self.students, 'student')}"]
        if (inside := count["graded"]) != self.hand_ins:
            parts[0] += f" in {_number(inside, 'file')}"
        if self.unreadable:
            parts.append(f"{_number(self.unreadable, 'hand-in')} that could not be graded")
        if self.superseded:
            others = _number(self.superseded, "other hand-in")
            parts.append(f"{others} of the same students not graded")
        parts += [f"{count[fate]} {fate}" for fate in ("ignored", "refused") if count[fate]]
        return f"{_number(len(self.lines), 'file')}: {', '.join(parts)}."

    def terminal_lines(self) -> list[str]:
        named = [f"  {line.file}: {line.became}, {line.why}" for line in self.looks[:_NAMED]]
        more = len(self.looks) - _NAMED
        return [self.summary, *named, *([f"  and {more} more; see {INTAKE}"] if more > 0 else [])]

    def table(self) -> str:
        rows = [(*astuple(line)[:-1], "yes" if line.look else "") for line in self.lines]
        return table([field.name for field in fields(IntakeLine)], rows)


def report_on(intake: Intake, counting: CountingHandIns) -> DownloadReport:
    """A line for each file. Raises TcplabError if a file or a hand-in has none, and is lost."""
    ends = [*((case, "") for case in counting.cases), *counting.superseded]
    outcomes = {id(case.hand_in): (case, superseded) for case, superseded in ends}
    lines = [line for index in range(len(intake.files)) if (line := _line(index, intake, outcomes))]
    if (len(lines), len(outcomes)) != (len(intake.files), len(intake.hand_ins)):
        problem = (
            f"{len(intake.files)} files with {len(intake.hand_ins)} hand-ins were received, and "
            f"{len(lines)} files with {len(outcomes)} hand-ins are accounted for."
        )
        raise TcplabError(problem, "This is a mistake in tcplab: trust no grade, and report it.")
    cases = [case for case in counting.cases if not case.refused]
    students = len({case.student for case in cases})
    unreadable = len(counting.cases) - len(cases)
    return DownloadReport(lines, len(cases), students, len(counting.superseded), unreadable)


def _line(index: int, intake: Intake, ends: Mapping[int, tuple[Case, str]]) -> IntakeLine | None:
    """The line of a file; None if it is neither in a hand-in that came to an end nor in none."""
    file, hand_in, reason = intake.files[index], intake.belongs.get(index), intake.others.get(index)
    name = _shown(file.path)
    if hand_in is None and reason:
        became = "refused" if file.problem else "ignored"
        why = _shown(file.problem) or reason.text
        return IntakeLine(name, reason.whose, file.size, became, why, reason.look)
    if id(hand_in) not in ends:
        return None
    case, superseded = ends[id(hand_in)]
    student, why = _shown(case.student), _shown(superseded or case.refused)
    if index in intake.passed:
        return IntakeLine(name, student, file.size, "ignored", _PASSED)
    fate = "not graded" if superseded else "could not grade" if case.refused else "graded"
    return IntakeLine(name, student, file.size, fate, why, bool(why))


def _shown(text: str) -> str:
    return displayable(text)[:_SHOWN]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
