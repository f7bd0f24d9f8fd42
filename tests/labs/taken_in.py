"""A download taken in as grading does it, until runs would be repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from labs.definition import catalogue
from labs.grading.class_grading import ClassGrading
from labs.grading.intake import Intake, receive
from labs.grading.intake_report import CountingHandIns, DownloadReport, counting_hand_ins, report_on
from labs.grading.opening import opened_cases
from labs.grading.tables import Person
from labs.measuring.references import References
from tests.labs.conftest import COURSE
from tests.labs.downloads import hand_in, written, zip_of

ANN, BEN, EVE = (zip_of(hand_in(name)) for name in ("ann", "ben", "eve"))
ANN_LATER = zip_of(hand_in("ann") | {"second.py": b""})
PEOPLE = [
    Person("ann", "Ann Årgård", moodle="17", canvas="4711"),
    Person("ben", "Ben de la Cruz", moodle="18", canvas="4712"),
    Person("eve", "Eve Li", moodle="19", canvas="4713"),
]
MOODLE = {
    "Ann Årgård_17_assignsubmission_file/sack-ann.zip": ANN,
    "Ben de la Cruz_18_assignsubmission_file/sack-ben.zip": BEN,
}
FLAT = {
    "Ann Årgård_17_assignsubmission_file_sack-ann.zip": ANN,
    "Ben de la Cruz_18_assignsubmission_file_sack-ben.zip": BEN,
}
CANVAS = {"årgårdann_4711_100_sack-ann.zip": ANN, "delacruzben_LATE_4712_101_sack-ben-1.zip": BEN}
FORMS = ["folder", "zip"]


@dataclass(frozen=True)
class TakenIn:
    """What a download came to, before any run is repeated."""

    intake: Intake
    chosen: CountingHandIns
    report: DownloadReport

    @property
    def graded(self) -> dict[str, str]:
        """The hand-in that counts, by its student."""
        return {case.student: case.hand_in.label for case in self.chosen.cases if not case.refused}

    @property
    def refused(self) -> dict[str, str]:
        return {case.student: case.refused for case in self.chosen.cases if case.refused}

    @property
    def became(self) -> dict[str, str]:
        return {line.file: line.became for line in self.report.lines}

    @property
    def flags(self) -> set[tuple[str, str]]:
        return {(case.student, flag.kind) for case in self.chosen.cases for flag in case.flags}


def taken_in(
    members: Mapping[str, bytes], place: Path, form: str = "zip", people: Sequence[Person] = PEOPLE
) -> TakenIn:
    return opened(written(place, members, form), place, people)


def opened(submissions: Path, place: Path, people: Sequence[Person] = PEOPLE) -> TakenIn:
    intake = receive(submissions, place / "class")
    references = cast(References, None)  # nothing is run
    grading = ClassGrading(
        catalogue.find("sack"), COURSE, people, references, place / "work", place
    )
    counting = counting_hand_ins(list(opened_cases(intake.hand_ins, grading)))
    return TakenIn(intake, counting, report_on(intake, counting))
