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
class HandedInWork:
    """A hand-in's runs that can be read, with their folders, and the marks of what was answered."""

    lab: LabSpec
    runs: Mapping[str, MeasuredRun]
    folders: Mapping[str, Path]
    marks: Mapping[str, AnswerMark]

    def asked(self, kind: str) -> list[tuple[Question, AnswerMark]]:
        questions = [each for each in self.lab.questions if each.kind == kind]
        return [(each, self.marks[each.id]) for each in questions if each.id in self.marks]

    @property
    def evidence(self) -> list[Question]:
        asked = (each for each in self.lab.questions if each.kind == "evidence")
        return [each for each in asked if each.run in self.runs and not each.names_a_line]

    def picture(self, question: Question, frame: WrittenFrame) -> str:
        condition, _, interface = question.capture.partition("/")
        for seed in sorted((self.folders[question.run] / "raw").glob("seed-*"))[:1]:
            file = seed / condition / f"{interface}.pcap"
            packets = flows.read(file, packets=True).packet_table
            return _drawn(packets, frame) if packets is not None and len(packets) else ""
        return ""


def write_sheet(hand_in: Path, lab: LabSpec, course: Course, out: Path | None) -> Path:
    """Write the sheet of a hand-in. Raises TcplabError if it cannot be read."""
    with scratch() as folder:
        place = folder / "hand-in"
        place.mkdir()
        words = hand_in.absolute(), place, lab.name, course
        student, questions = contained_as(tuple[str, list[OralQuestion]], sheet_of, *words)
    file = out or Path(f"oral-{safe_name(student)}.html")
    context = {"lab": lab, "student": student, "questions": questions}
    file.write_text(render("oral.html", context), encoding="utf-8")
    return file


def sheet_of(
    source: Path, folder: Path, lab_name: str, course: Course
) -> tuple[str, list[OralQuestion]]:
    """Return the student and the questions. Raises TcplabError for an unusable hand-in."""
    lab, found = catalogue.find(lab_name), inspect(source, folder, lab_name)
    if found.refused:
        raise TcplabError(found.refused, "Look at it by hand.")
    places = {run.name: run_folder(folder, run.name) for run in lab.runs}
    folders = {name: place for name, place in places.items() if place}
    values = {name: tuple(values_of(place).values()) for name, place in folders.items()}
    runs = {name: MeasuredRun(seeds) for name, seeds in values.items() if seeds}
    own = variant(course, lab, found.student)
    key = key_of(lab, {name: run.seeds for name, run in runs.items()}, own) or Key()
    tolerance = {each.id: MOST_TOLERANCE for each in lab.questions}
    marker = replace(marker_of(lab, key, tolerance, own), runs=runs)
    answered = (mark for mark in marker.marks(found.answers) if found.answers.get(mark.question))
    work = HandedInWork(lab, runs, folders, {mark.question: mark for mark in answered})
    unseen = _unseen(work, course, found.student)
    return found.student, [*_named(work), *unseen, *_explained(work)]


def _named(work: HandedInWork) -> Iterator[OralQuestion]:
    for question in (each for each in work.evidence if each.id in work.marks):
        mark = work.marks[question.id]
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
    frames = [
        (question, event, number)
        for question in work.evidence
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
    for question, mark in work.asked("number")[:1]:
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
    columns = ("number", "payload", "flags", "sequence", "acknowledgement")
    messages = []
    for each in map(int, shown):
        number, payload, flags, sequence, ack = (int(packets[one].values[each]) for one in columns)
        what = f"data {sequence % 10**6}+{payload}" if payload else f"ACK {ack % 10**6}"
        text = f"{number}: {'SYN' if flags & 2 else what} ({seconds[each]:.4f} s)"
        messages.append(Message(text, "left" if packets["forward"].values[each] else "right"))
    alt = f"The packets around frame {numbers[row]}"
    diagram = SequenceDiagram("oral", alt, "client", "server", tuple(messages))
    svg = render("drawing.svg.j2", {"drawing": diagram})
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
