"""Answers and captures that are made without a network earn no points, except by being right."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import variant
from labs.definition.key import Key, key_module
from labs.definition.runs import variables_of
from labs.definition.spec import LabSpec, Question
from labs.definition.written import parse_number
from labs.grading import class_grading
from labs.grading.marking import Marker
from tests.labs.conftest import COURSE
from tests.labs.made_measurements import LABS, runs_of
from tests.labs.measured_class import Grader, make, people_of, results
from tests.labs.saboteurs import MEASURED
from tests.labs.student import signed

NUMBERS = [
    f"{value} {unit}" for value in ("0", "1", "100", "1e3", "1e9") for unit in ("", "%", "s")
]
NUMBERS += ["0 to 1e9 kbit/s", "1 or 2 or 3", "1 2 3 4 5", "any", "nan", "-1", "0.5", "1e308"]
FRAMES = ["0", "1", "-1", "1-100000", "1,2,3,4,5", "every frame", "0 s", "10 s", "1e9 s", "1e-9 s"]
_CLOSE = 0.101
"""By how much a constant may differ from the right number and still be its rounding."""
_FACTORS = [8 * 1.024, 8.0, 1.024, 1.0, 1 / 1.024, 1 / 8, 1e3, 1e-3, 1e6, 1e-6, 100.0, 0.01]


def key_of(lab: LabSpec) -> Key:
    """The key of a made-up run of the lab."""
    variables = variables_of(lab, variant(COURSE, lab, "ann"))
    key: Key = key_module(lab.name).key(runs_of(LABS[lab.name].shown), variables)
    return replace(key, frames={name: {7: 1.25, 90: 3.5} for name in key.frames})


def constants(question: Question) -> Iterator[list[str]]:
    """Answers to a question that need no run."""
    if question.options:
        yield [option.id for option in question.options]
        yield from ([option.id] for option in question.options)
    yield from ([text] for text in FRAMES)
    yield from ([f"{text} {question.unit}"] for text in NUMBERS)
    yield from ([text] for text in (*NUMBERS, "yes", "../answers.toml", "x" * 8000))


def is_right(question: Question, given: list[str], key: Key) -> bool:
    """Whether the answer is right by another reading of it than the marker's."""
    if question.options:
        right = key.choices.get(question.id, set())
        return bool(right & {*given}) and not set(given) - right
    if question.kind == "evidence":
        return any(word in ("7", "90") for word in given[0].split())
    if question.id not in key.numbers:
        return False
    value = parse_number(given[0]).value
    expected = key.numbers[question.id]
    return any(
        abs(value - factor * expected) <= max(2e-9, _CLOSE * abs(factor * expected))
        for factor in _FACTORS
    )


@pytest.mark.parametrize("name", sorted(LABS))
def test_no_constant_answer_earns_a_point_unless_it_is_right(name: str) -> None:
    lab = catalogue.find(name)
    key = key_of(lab)
    marker = Marker(lab, key, {}, {}, {}, {})
    for question in lab.questions:
        for given in constants(question):
            marks = marker.marks({question.id: given})
            earned = next(mark.points for mark in marks if mark.question == question.id)
            if earned:
                assert is_right(question, given, key), (question.id, given[0][:60], earned)


def test_no_constant_sheet_earns_anything_that_is_read_by_the_program() -> None:
    """One answer for every question, as somebody hands in who did nothing."""
    for name in sorted(LABS):
        lab = catalogue.find(name)
        marker = Marker(lab, key_of(lab), {}, {}, {}, {})
        for text in ("0", "1", "none", "see above"):
            marks = marker.marks({question.id: [text] for question in lab.questions})
            points = {mark.question: mark.points for mark in marks if mark.points}
            for question, given in points.items():
                assert is_right(lab.question(question), [text], marker.key), (name, question, given)


def _empty(_: bytes) -> bytes:
    return b""


def _header(content: bytes) -> bytes:
    return content[:24]


def _two_packets(content: bytes) -> bytes:
    return content[:24] + 2 * content[24:114]


CAPTURES: dict[str, Callable[[bytes], bytes]] = {
    "empty": _empty,
    "header": _header,
    "twice": _two_packets,
    "zeros": lambda content: bytes(len(content)),
    "same": lambda _: (MEASURED / "raw/seed-5/sack_on/h1-eth0.pcap").read_bytes(),
}
SUFFIXES = {"captures": (".pcap",), "everything": (".pcap", ".jsonl", ".txt", ".json")}


def fabricated(run: Path, capture: str, suffixes: tuple[str, ...]) -> None:
    """Replace what a run measured by constants, and make its manifest fit."""
    for file in (run / "raw").rglob("*"):
        if file.name.endswith(suffixes):
            file.write_bytes(CAPTURES[capture](file.read_bytes()))
    signed(run, json.loads((run / "manifest.json").read_text()))


@pytest.mark.virtual
@pytest.mark.long
@pytest.mark.parametrize("native", [False, True], ids=["lab kernel only", "real time accepted"])
def test_no_constant_capture_exports_a_point(
    native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers of each student fit the captures that the student made up."""
    monkeypatch.setattr(class_grading, "_SEEDS", 3)
    works = list(product(("plain", "native"), CAPTURES, SUFFIXES))
    names = {work: "-".join(work) for work in works}
    (tmp_path / "zips").mkdir()
    for (like, capture, files), name in names.items():
        change = partial(fabricated, capture=capture, suffixes=SUFFIXES[files])
        make(tmp_path / "zips", name, like, change)
    people, course = people_of(list(names.values())), replace(COURSE, native=native)
    grader = Grader(tmp_path / "zips", tmp_path, monkeypatch, people, course=course)
    grades = grader.grade(list(names.values()))
    report = {name: results(grades, name)["report"] for name in names.values()}
    graded = {name: case["points"] for name, case in report.items() if case["state"] == "graded"}
    assert graded == {}
