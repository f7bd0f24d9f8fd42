"""The sheet of an oral exam: questions from a student's answers and captures, and their key.

A hand-in is a stranger's file, so the sheet is made in a limited process.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis import flows
from analysis.measures.evidence import EVENTS
from labs.definition import catalogue
from labs.definition.answers import Answers
from labs.definition.assignment import Course, drawn_number, variant
from labs.definition.key import Key
from labs.definition.runs import run_folder
from labs.definition.spec import LabSpec, Question
from labs.definition.written import WrittenFrame, parse_frame
from labs.grading.case import AnswerMark
from labs.grading.class_grading import key_of
from labs.grading.inspection import inspect
from labs.grading.marking import MOST_TOLERANCE, marker_of
from labs.measuring.contained import contained_as
from labs.measuring.measures import MeasuredRun, values_of
from labs.student.hand_in import safe_name
from labs.templates.rendering import Message, SequenceDiagram, render
from testbed.host.scratch import scratch
from topologies.errors import TcplabError

_AROUND = 2  # packets before a frame, and after it
_TO_EXPLAIN = [event for event in EVENTS if event not in ("syn", "syn_ack")]
"""Events of frames to explain; the picture names a SYN."""
_LONGEST = 600  # characters of a text on the sheet


@dataclass(frozen=True)
class OralQuestion:
    """A question with what is said to the examiner alone; `picture` is an SVG of packets."""

    ask: str
    answer: str
    picture: str = ""


@dataclass(frozen=True)
class OralSheet:
    """The questions to one student."""

    student: str
    questions: tuple[OralQuestion, ...]


@dataclass(frozen=True)
class HandedInWork:
    lab: LabSpec
    runs: Mapping[str, MeasuredRun]
    folders: Mapping[str, Path]
    answers: Answers
    marks: Mapping[str, AnswerMark]

    def asked(self, *kinds: str) -> Iterator[tuple[Question, AnswerMark]]:
        for question in self.lab.questions:
            if question.kind in kinds and self.answers.get(question.id):
                yield question, self.marks[question.id]

    def picture(self, question: Question, frame: WrittenFrame) -> str:
        condition, _, interface = question.capture.partition("/")
        seeds = sorted((self.folders[question.run] / "raw").glob("seed-*"))
        if not seeds:
            return ""
        file = seeds[0] / condition / f"{interface}.pcap"
        packets = flows.read(file, packets=True).packet_table
        return _drawn(packets, frame) if packets is not None and len(packets) else ""


def write_sheet(hand_in: Path, lab: LabSpec, course: Course, out: Path | None) -> Path:
    """Write the sheet of a hand-in. Raises TcplabError if it cannot be read."""
    with scratch() as folder:
        place = folder / "hand-in"
        place.mkdir()
        source = str(hand_in.absolute())
        sheet = contained_as(OralSheet, sheet_of, source, str(place), lab.name, course)
    file = out or Path(f"oral-{safe_name(sheet.student)}.html")
    file.write_text(render("oral.html", {"lab": lab, "sheet": sheet}), encoding="utf-8")
    return file


def sheet_of(source: str, target: str, lab_name: str, course: Course) -> OralSheet:
    lab, found = catalogue.find(lab_name), inspect(source, target, lab_name)
    if found.get("refused"):
        raise TcplabError(str(found["refused"]), "Look at it by hand.")
    work = _work(lab, Path(target), course, found)
    student = str(found["student"])
    questions = [*_named(work), *_unseen(work, course, student), *_explained(work)]
    return OralSheet(student, tuple(questions))


def _work(lab: LabSpec, folder: Path, course: Course, found: Mapping[str, Any]) -> HandedInWork:
    places = {run.name: run_folder(folder, run.name) for run in lab.runs}
    folders = {name: place for name, place in places.items() if place}
    values = {name: tuple(values_of(str(place)).values()) for name, place in folders.items()}
    runs = {name: MeasuredRun(seeds) for name, seeds in values.items() if seeds}
    own = variant(course, lab, str(found["student"]))
    key = key_of(lab, {name: run.seeds for name, run in runs.items()}, own) or Key()
    tolerance = {each.id: MOST_TOLERANCE for each in lab.questions}
    marker = replace(marker_of(lab, key, tolerance, own), runs=runs)
    marks = {mark.question: mark for mark in marker.marks(found["answers"])}
    return HandedInWork(lab, runs, folders, found["answers"], marks)


def _named(work: HandedInWork) -> Iterator[OralQuestion]:
    for question, mark in work.asked("evidence"):
        if question.run not in work.runs or question.names_a_line:
            continue
        try:
            frame = parse_frame(mark.given)
        except ValueError:
            continue
        ask = f"You named frame {mark.given} of {question.capture} for: “{question.ask}” Explain"
        ask += " from the packets around it why it was sent, and what follows from it."
        answer = f"Marked {mark.verdict}. {mark.note} Proved by {mark.expected}. {question.how}"
        yield OralQuestion(ask, answer, work.picture(question, frame))


def _unseen(work: HandedInWork, course: Course, student: str) -> Iterator[OralQuestion]:
    """Yield a frame to explain, which the course's secret draws from the student's captures."""
    evidence = [each for each in work.lab.questions if each.kind == "evidence"]
    frames = [
        (question, event, number)
        for question in evidence
        if question.run in work.runs and not question.names_a_line
        for event in _TO_EXPLAIN
        for number in sorted(work.runs[question.run].frames(question.capture, event))[-1:]
    ]
    if frames:
        drawn = drawn_number(course, (work.lab.name, student, "oral"), len(frames))
        question, event, number = frames[drawn]
        ask = f"This is frame {number} of your capture {question.capture}. What is it, and why was"
        answer = f"It is {EVENTS[event]}."
        yield OralQuestion(f"{ask} it sent?", answer, work.picture(question, WrittenFrame(number)))


def _explained(work: HandedInWork) -> Iterator[OralQuestion]:
    for question, mark in list(work.asked("number"))[:1]:
        ask = f"You gave {mark.given} for: “{question.ask}” How did you find it?"
        yield OralQuestion(ask, f"{mark.expected}. {question.how}")
    for question, mark in work.asked("text"):
        ask = f"You wrote: “{mark.given[:_LONGEST]}” Which frame or figure of your run shows it?"
        yield OralQuestion(ask, f"{question.rubric} {mark.expected}")


def _drawn(packets: Any, frame: WrittenFrame) -> str:
    numbers, times = packets.whole("number"), packets.whole("time")
    seconds = (times - times[0]) / 1e9
    at = numbers == frame.number if frame.number else np.abs(seconds - frame.seconds) < 1e-3
    if not at.any():
        return ""
    row = int(np.flatnonzero(at)[0])
    connection = packets["connection"].values
    rows = np.flatnonzero(connection == connection[row])
    middle = int(np.searchsorted(rows, row))
    shown = rows[max(0, middle - _AROUND) : middle + _AROUND + 1]
    messages = tuple(_message(packets, int(each), seconds[each]) for each in shown)
    alt = f"The packets around frame {numbers[row]}"
    diagram = SequenceDiagram("oral", alt, "client", "server", messages)
    svg = render("drawing.svg.j2", {"drawing": diagram})
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _message(packets: Any, row: int, second: float) -> Message:
    number, payload, flags, sequence, acknowledged = (
        int(packets[name].values[row])
        for name in ("number", "payload", "flags", "sequence", "acknowledgement")
    )
    what = f"data {sequence % 10**6}+{payload}" if payload else f"ACK {acknowledged % 10**6}"
    text = f"{number}: {'SYN' if flags & 2 else what} ({second:.4f} s)"
    return Message(text, "left" if packets["forward"].values[row] else "right")
