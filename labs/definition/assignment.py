"""The course, its dates, the variant that it draws for a student's id, and the student's folder.

A variant is drawn by HMAC-SHA256 (RFC 2104) from the course's secret, the lab and the id. Students
do not know the secret: their instructor gives them a file that holds every variant of the class,
under a hash of each id. A student who studies alone uses the course `self-study`, whose secret is
public. Dates have no time zone: they are local times, as in Moodle's worksheet and in archives."""

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path

from labs.definition import catalogue
from labs.definition.answers import as_json, decoded
from labs.definition.spec import LabSpec, Question
from topologies.data import from_data, to_data
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value, toml_table

_SHOWN = "%Y-%m-%d %H:%M"


def as_text(time: datetime) -> str:
    return time.strftime(_SHOWN)


@dataclass(frozen=True)
class Late:
    """The time of a hand-in and what it costs. `days` is None if only the lateness is known."""

    submitted: str
    source: str
    days: int | None = 0
    percent: float = 0.0

    def after(self, points: float) -> float:
        return round(points * (1 - self.percent / 100), 2)


@dataclass(frozen=True)
class StudentDates:
    """Another deadline for a student, or the time of a hand-in by the instructor's word."""

    student: str
    deadline: datetime | None = None
    submitted: datetime | None = None


@dataclass(frozen=True)
class Dates:
    """[[dates]] of course.toml. `free_days` of lateness have no cost in this lab.

    Within `grace_minutes` a hand-in is in time; later ones are late from the deadline on, and each
    day that has begun counts.
    """

    lab: str
    deadline: datetime | None = None
    grace_minutes: float = 0.0
    percent_per_day: float = 0.0
    free_days: int = 0
    key_after: datetime | None = None
    exception: tuple[StudentDates, ...] = ()

    def __post_init__(self) -> None:
        times = [self.deadline, self.key_after]
        times += [time for each in self.exception for time in (each.deadline, each.submitted)]
        if any(time and time.tzinfo for time in times):
            problem = f"The dates of {self.lab} have a time zone."
            raise UsageError(problem, "Write local times, such as 2026-11-20T23:59:00.")
        if not 0 <= self.percent_per_day <= 100 or min(self.grace_minutes, self.free_days) < 0:
            problem = f"The dates of {self.lab} have a number that is not possible."
            raise UsageError(problem, "Use 0 to 100 percent, and no negative minutes or days.")

    def late(self, submitted: datetime, source: str, own: StudentDates | None) -> Late:
        """Return the lateness of a hand-in. `own` are the dates of its student alone."""
        deadline = (own and own.deadline) or self.deadline
        if deadline is None or submitted <= deadline + timedelta(minutes=self.grace_minutes):
            return Late(as_text(submitted), source)
        days = math.ceil((submitted - deadline) / timedelta(days=1))
        percent = min(100.0, self.percent_per_day * max(0, days - self.free_days))
        return Late(as_text(submitted), source, days, percent)


_SEEDS = 2**31
_LONGEST_ID = 64
_CLASS_FORMAT = 1


@dataclass(frozen=True)
class Course:
    """A course. `native` accepts runs in real time, which cannot be repeated, without a look.

    `zero_if_missing` exports zero points for students of the roster without a hand-in. `dates` has
    one entry for each lab with a deadline.
    """

    name: str
    secret: str
    native: bool = False
    zero_if_missing: bool = False
    dates: tuple[Dates, ...] = ()

    def dates_of(self, lab: str) -> Dates:
        return next((each for each in self.dates if each.lab == lab), Dates(lab))


SELF_STUDY = Course("self-study", "the secret of self-study is known to everybody")


@dataclass(frozen=True)
class Variant:
    """The seed of a student's runs, and the drawn `values`, in the order of the lab's ranges."""

    lab: str
    student: str
    course: str
    values: tuple[tuple[str, str], ...]
    seed: int


def plain_id(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().lower()


def student_id(text: str) -> str:
    """Return an id as it is compared: stripped, small letters, one form. Raises UsageError."""
    student = plain_id(text)
    is_short = 1 <= len(student) <= _LONGEST_ID
    if not is_short or not student.isprintable() or student.startswith((".", "-")):
        remedy = f"Use 1 to {_LONGEST_ID} letters and digits."
        raise UsageError(f"'{text[:40]}' cannot be a student's id.", remedy)
    return student


def variant(course: Course, lab: LabSpec, student: str) -> Variant:
    """Return the student's variant; each value has its own draw, independent of other ranges."""
    student = student_id(student)

    def drawn(what: str, among: int) -> int:
        return drawn_number(course, (lab.name, student, what), among)

    values = tuple(
        (span.name, span.values[drawn(span.name, len(span.values))]) for span in lab.varies
    )
    return Variant(lab.name, student, course.name, values, drawn("seed", _SEEDS))


def drawn_number(course: Course, words: Sequence[str], among: int) -> int:
    """Return a number below `among`, which the course's secret draws for these words."""
    message = "\0".join(words).encode()
    return int.from_bytes(hmac.digest(course.secret.encode(), message, "sha256"), "big") % among


def nominal_variant(lab: LabSpec) -> Variant:
    """Return the variant in the middle of every range, which belongs to no student."""
    values = tuple((span.name, span.values[len(span.values) // 2]) for span in lab.varies)
    return Variant(lab.name, "", "", values, 1)


def new_course(file: Path, name: str) -> Course:
    """Write a course file with a fresh secret, for its owner only. Raises UsageError."""
    course = Course(name, secrets.token_hex(32))
    template = (catalogue.FOLDER / "templates/course.toml").read_text("utf-8")
    text = template.format(name=json.dumps(name), secret=json.dumps(course.secret))
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        remedy = "A new secret would change every variant."
        raise UsageError(f"{file} is there already.", remedy) from None
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    return course


def read_course(file: Path | None) -> Course:
    """Return the course of a file, or self-study. Raises UsageError."""
    if file is None:
        return SELF_STUDY
    try:
        content = toml_table(decoded(file.read_bytes()))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        remedy = "Make one: ./tcplab lab course FILE"
        raise UsageError(f"{file} cannot be read as a course: {reason}.", remedy) from None
    course: Course = from_data(Course, content, str(file))
    if unknown := {each.lab for each in course.dates} - set(catalogue.names()):
        problem = f"{file} has dates of '{min(unknown)}', which is no lab."
        raise UsageError(problem, "List the labs: ./tcplab lab list")
    if len(course.secret) < 16:
        remedy = "Make a course: ./tcplab lab course FILE"
        raise UsageError(f"The secret in {file} is too short.", remedy)
    return course


def class_file(course: Course, lab: LabSpec, students: Iterable[str]) -> str:
    variants = {
        _hidden(lab.name, student): asdict(variant(course, lab, student)) | {"student": ""}
        for student in students
    }
    whose = {"format": _CLASS_FORMAT, "lab": lab.name, "course": course.name}
    return as_json(whose | {"variants": variants})


def variant_from(file: Path | None, lab: LabSpec, student: str, course: Course) -> Variant:
    """Return the variant of the class's file, or the course's. Raises UsageError, TcplabError."""
    if file is None:
        return variant(course, lab, student)
    hidden = _hidden(lab.name, student)
    try:
        content = json_value(decoded(file.read_bytes()))
        variants = content["variants"] if content["lab"] == lab.name else {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        problem = f"{file} cannot be read as a file of variants: {reason}."
        raise TcplabError(problem, "Ask for it again.") from None
    if hidden not in variants:
        problem = f"{file} has no variant of {lab.name} for '{student_id(student)}'."
        raise UsageError(problem, "Is the id spelt as in your course?")
    named = variants[hidden] | {"student": student_id(student)}
    found: Variant = from_data(Variant, named, str(file))
    return found


def _hidden(lab: str, student: str) -> str:
    return hashlib.sha256(f"{lab}\0{student_id(student)}".encode()).hexdigest()[:24]


FILE, ANSWERS = "assignment.json", "answers.toml"
_FORMAT = 1


@dataclass(frozen=True)
class Assignment:
    folder: Path
    lab: LabSpec
    variant: Variant


def assignment_text(variant: Variant, language: str) -> str:
    return as_json({"format": _FORMAT, "language": language, "variant": to_data(variant)})


def read_assignment(folder: Path) -> Assignment:
    """Return the assignment in a folder that `lab start` made. Raises UsageError, TcplabError."""
    try:
        content = json_value(decoded((folder / FILE).read_bytes()))
    except FileNotFoundError:
        remedy = "Name the folder that ./tcplab lab start made, or change into it."
        raise UsageError(f"'{folder}' is no lab's folder: it has no {FILE}.", remedy) from None
    except (OSError, ValueError) as error:
        remedy = "Start the lab again with --out."
        raise TcplabError(f"{folder / FILE} cannot be read: {error}.", remedy) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        remedy = "Update tcplab, or start the lab again."
        raise TcplabError(f"{folder / FILE} was written by another tcplab.", remedy)
    variant: Variant = from_data(Variant, content.get("variant"), FILE)
    language = str(content.get("language", catalogue.FIRST_LANGUAGE))
    return Assignment(folder, catalogue.find(variant.lab, language), variant)


_SHARE = re.compile(r"(\d{1,3}) %:\s+")
_MISTAKE = re.compile(r"\s+(?=A common mistake: )")


@dataclass(frozen=True)
class RubricItem:
    text: str
    points: float


def rubric_items(question: Question) -> tuple[RubricItem, ...]:
    """Return the items of a rubric such as "40 %: names it. 60 %: explains it."."""
    _, *parts = _SHARE.split(_MISTAKE.split(question.rubric)[0])
    shares = [int(share) for share in parts[::2]]
    # Shares such as 33 % three times are thirds. Sums are rounded, so that all items earn all.
    whole = sum(shares) or 1
    upto = [round(question.points * each / whole, 2) for each in accumulate(shares, initial=0)]
    earned = (round(after - before, 2) for before, after in pairwise(upto))
    return tuple(map(RubricItem, map(str.strip, parts[1::2]), earned))


def common_mistakes(question: Question) -> list[str]:
    return _MISTAKE.split(question.rubric)[1:]
