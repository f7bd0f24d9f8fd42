"""Congestion controls handed in: a good, a lazy and a wrong one, and the same score twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import own_transport
from labs.definition import catalogue, forecast
from labs.definition.answers import OwnParts
from labs.definition.assignment import variant
from labs.definition.runs import RECEIVER, SENDER
from labs.definition.spec import LabSpec
from labs.measuring.ranges import carry_programs
from labs.student.handout import start
from tests.labs.conftest import COURSE
from tests.tools import one_constant

CONTROLS = Path(__file__).parent / "controls"
PACKAGED = Path(own_transport.__file__)
NETWORKS = 1
IN_ORDER = """            while following in kept:
                file.write(kept.pop(following))
                following += 1
"""
FOR_EVER, UNTIL_ALL_CAME = (
    f"        while {condition}:\n            while len(self.left)"
    for condition in (
        "True",
        "self.left or self.lost or self.following * PIECE < len(self.content)",
    )
)
pytestmark = pytest.mark.virtual


@pytest.fixture(scope="module")
def lab() -> LabSpec:
    """The lab with a network a round, so that a test takes seconds."""
    found = catalogue.find("congestion_contest")
    questions = (
        replace(each, networks=NETWORKS) if each.kind == "program" else each
        for each in found.questions
    )
    return replace(found, questions=tuple(questions))


def programs(name: str, folder: Path) -> Path:
    """Make a folder with the packaged programs and another class Control."""
    folder.mkdir(parents=True)
    sender = PACKAGED.with_name("fixed_window_sender.py").read_text()
    assert FOR_EVER in sender
    sender = sender.replace(FOR_EVER, UNTIL_ALL_CAME)
    before, _, rest = sender.partition("class Control:")
    _, _, transport = rest.partition("class Transport:")
    control = (CONTROLS / f"{name}.py").read_text().partition("class Control")[2]
    joined = f"{before}class Control{control}\n\nclass Transport:{transport}"
    (folder / SENDER).write_text(joined)
    receiver = PACKAGED.with_name("fixed_window_receiver.py").read_text()
    if name == "wrong":  # it writes what comes as it comes
        assert IN_ORDER in receiver
        as_it_comes = "            file.write(packet[HEADER.size :])\n            following += 1\n"
        receiver = receiver.replace(IN_ORDER, as_it_comes)
    (folder / RECEIVER).write_text(receiver)
    return folder


def results_of(lab: LabSpec, name: str, folder: Path) -> dict[str, forecast.TestedProgram]:
    """Return the result of each round."""
    own = OwnParts(program=programs(name, folder / name))
    carried = carry_programs(lab, own, folder / "tries", 1)
    return {question: result for question, [(_, result)] in carried.items()}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "control"), [("congestion_contest", "reference"), ("reliable_transport", "additive")]
)
def test_a_control_that_adapts_passes_every_stage(name: str, control: str, tmp_path: Path) -> None:
    lab = catalogue.find(name)
    carried = carry_programs(lab, OwnParts(program=programs(control, tmp_path / "own")), tmp_path)
    failed = [
        (str(network.settings), result.reason)
        for each in carried.values()
        for network, result in each
        if result.reason
    ]
    assert failed == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["congestion_contest", "reliable_transport"])
@pytest.mark.parametrize("example", own_transport.PACKAGED)
def test_no_changed_constant_of_an_example_earns_a_third(
    name: str, example: str, tmp_path: Path
) -> None:
    """A sample of the 200 that the tool tries."""
    found = dict(one_constant.tried(catalogue.find(name), example, 6, tmp_path))
    assert max(found.values()) <= one_constant.MOST, found


@pytest.mark.long
def test_the_better_control_passes_more_and_scores_the_same_twice(
    lab: LabSpec, tmp_path: Path
) -> None:
    first, again, lazy, wrong = (
        results_of(lab, name, tmp_path / place)
        for name, place in [("reference", "1"), ("reference", "2"), ("lazy", "3"), ("wrong", "4")]
    )
    assert first == again
    passed = [sum(len(result.passed) for result in each.values()) for each in (first, lazy, wrong)]
    assert passed[0] == 9 > passed[1] > passed[2] == 0
    assert first["rises"].score > lazy["rises"].score == wrong["rises"].score == 0


def test_the_folder_begins_with_programs_that_run(lab: LabSpec, tmp_path: Path) -> None:
    folder = start(lab, variant(COURSE, lab, "ann"), tmp_path / "ann").folder
    for role, file in (("sender", SENDER), ("receiver", RECEIVER)):
        packaged = PACKAGED.with_name(f"fixed_window_{role}.py").read_text()
        assert (folder / file).read_text() == packaged
    handout = (folder / "handout.md").read_text()
    assert "sends by UDP to h2 for 20s, with programs" in handout
    assert "fixed_window" in handout and "10mbit" not in handout
    sack = catalogue.find("sack")
    plain = start(sack, variant(COURSE, sack, "ann"), tmp_path / "s")
    assert not (plain.folder / SENDER).exists()
