"""The report on a download: a line for each file says whose it is and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal

from labs.definition.texts import displayable
from labs.grading.case import Case
from labs.grading.counting_hand_in import CountingHandIns
from labs.grading.intake import Intake
from topologies.foundation.errors import TcplabError

FILE = "intake.csv"
_PASSED = "no file that a hand-in needs"
_SHOWN = 300
_NAMED = 20  # lines in the terminal
FileFate = Literal["graded", "could not grade", "not graded", "ignored", "refused"]


@dataclass(frozen=True)
class IntakeLine:
    """One file of a download. `size` is in bytes; `look` says that a person should know.

    What became of it: it is of a hand-in that was graded, or could not be, or was not since another
    of the same student counts; or of none, and was ignored, or refused for what it is.
    """

    file: str
    whose: str
    size: int
    became: FileFate
    why: str = ""
    look: bool = False


@dataclass(frozen=True)
class DownloadReport:
    """What a download held, and what became of it."""

    lines: Sequence[IntakeLine] = ()
    hand_ins: int = 0
    students: int = 0
    superseded: int = 0
    unreadable: int = 0

    @property
    def looks(self) -> list[IntakeLine]:
        """The lines that a person should know."""
        return [line for line in self.lines if line.look]

    @property
    def summary(self) -> str:
        """The sums, in a line."""
        count = Counter(line.became for line in self.lines)
        parts = [f"{_number(self.hand_ins, 'hand-in')} of {_number(self.students, 'student')}"]
        if (inside := count["graded"]) != self.hand_ins:
            parts[0] += f" in {_number(inside, 'file')}"
        if self.unreadable:
            parts.append(f"{_number(self.unreadable, 'hand-in')} that could not be graded")
        if self.superseded:
            parts.append(
                f"{_number(self.superseded, 'other hand-in')} of the same students not graded"
            )
        parts += [f"{count[became]} {became}" for became in ("ignored", "refused") if count[became]]
        return f"{_number(len(self.lines), 'file')}: {', '.join(parts)}."

    def terminal_lines(self) -> list[str]:
        """Lines for the terminal: the sums, and what a person should know."""
        named = [f"  {line.file}: {line.became}, {line.why}" for line in self.looks[:_NAMED]]
        more = len(self.looks) - _NAMED
        return [self.summary, *named, *([f"  and {more} more; see {FILE}"] if more > 0 else [])]

    def table(self) -> tuple[list[str], list[tuple[object, ...]]]:
        """Heading and rows of the file."""
        heading = [field.name for field in fields(IntakeLine)]
        return heading, [(*astuple(line)[:-1], "yes" if line.look else "") for line in self.lines]


EMPTY_REPORT = DownloadReport()


def report_on(intake: Intake, counting: CountingHandIns) -> DownloadReport:
    """A line for each file. Raises TcplabError if a file or a hand-in has none, and is lost."""
    outcomes = {id(case.hand_in): _Outcome(case) for case in counting.cases}
    outcomes |= {id(case.hand_in): _Outcome(case, reason) for case, reason in counting.superseded}
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


@dataclass(frozen=True)
class _Outcome:
    """What became of a hand-in. `superseded` is why another of the same student counts."""

    case: Case
    superseded: str = ""

    @property
    def became(self) -> FileFate:
        return (
            "not graded"
            if self.superseded
            else "could not grade"
            if self.case.refused
            else "graded"
        )


def _line(index: int, intake: Intake, outcomes: Mapping[int, _Outcome]) -> IntakeLine | None:
    """The line of a file; None if it is neither in a hand-in that came to an end nor in none."""
    file, hand_in, reason = intake.files[index], intake.belongs.get(index), intake.others.get(index)
    name = _shown(file.path)
    if hand_in is None and reason:
        became: FileFate = "refused" if file.problem else "ignored"
        why = _shown(file.problem) or reason.text
        return IntakeLine(name, reason.whose, file.size, became, why, reason.look)
    outcome = outcomes.get(id(hand_in))
    if outcome is None:
        return None
    student = _shown(outcome.case.student)
    if index in intake.passed:
        return IntakeLine(name, student, file.size, "ignored", _PASSED)
    why = _shown(outcome.superseded or outcome.case.refused)
    return IntakeLine(name, student, file.size, outcome.became, why, bool(why))


def _shown(text: str) -> str:
    """What may hold a stranger's words, at a length that a table can show."""
    return displayable(text)[:_SHOWN]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
