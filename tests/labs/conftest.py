"""A lab without its runs: the SACK lab with made-up measurements."""

from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import Assignment, Course, variant
from labs.definition.key import Key
from labs.definition.spec import LabSpec
from labs.student.handout import start
from testbed.lab.packetdrill import packetdrill
from testbed.lab.ready import Lab, lab
from topologies.errors import TcplabError

COURSE = Course("tests", "a secret that only the tests know")


POINTS = {
    "goodput_off": 3,
    "goodput_on": 3,
    "factor": 2,
    "resent_off": 3,
    "resent_share_on": 3,
    "timeouts_off": 2,
    "timeouts_on": 2,
    "silence_off": 3,
    "agreed_frame": 3,
    "timeout_frame": 5,
    "report_frame": 4,
    "where": 1,
    "blocks": 2,
    "why": 5,
    "compare": 5,
    "graph": 4,
    "change": 3,
    "change_effect": 3,
}
"""Of questions, so that parts of points can be told apart."""


@pytest.fixture
def sack() -> LabSpec:
    """Return the SACK lab with these points."""
    lab = catalogue.find("sack")
    questions = (replace(each, points=POINTS.get(each.id, each.points)) for each in lab.questions)
    return replace(lab, questions=tuple(questions))


@pytest.fixture
def key() -> Key:
    """A key of the SACK lab, of no run."""
    numbers = {
        "goodput_off": 231.0,
        "goodput_on": 445.0,
        "factor": 445 / 231,
        "resent_off": 306.0,
        "resent_share_on": 8.52,
        "timeouts_off": 85.0,
        "timeouts_on": 15.0,
        "silence_off": 53.87,
    }
    mistakes = {
        "resent_off": {"at_receiver": 61.0, "other_condition": 524.0},
        "goodput_off": {"link": 1000.0},
    }
    choices = {"where": {"sender"}, "blocks": {"both_syns", "fewer_timeouts"}}
    return Key(numbers, choices, mistakes)


@pytest.fixture
def assignment(tmp_path: Path, sack: LabSpec) -> Assignment:
    return start(sack, variant(COURSE, sack, "ann"), tmp_path / "sack-ann")


@pytest.fixture(scope="module")
def ready() -> Lab:
    return lab()


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return packetdrill()
    except TcplabError as error:
        pytest.skip(f"packetdrill cannot be built here: {error.problem}")
