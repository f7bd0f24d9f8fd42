"""Time to grade a class whose answers are programs: minutes, processor time, and their causes.

.venv/bin/python -m tests.tools.class_of_programs FOLDER --students 60

Programs are of a handful of qualities; with --alike students of a quality have the same bytes.
"""

import json
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import own_transport
from labs.definition import catalogue
from labs.definition.assignment import ANSWERS, Assignment, Course, variant
from labs.definition.runs import RECEIVER, SENDER
from labs.grading.grade import ClassRequest, grade_all
from labs.student.hand_in import pack
from labs.student.handout import start
from labs.student.runs import carry_out_run, runs_to_make

COURSE = Course("programs", "a secret that only this script knows")
TRANSPORTS = Path(__file__).parent.parent / "labs" / "transports"
WINDOWS = ("64", "16", "6", "3")
"""Largest windows of the reference; other students hand in the package's, or careless programs."""
ANSWERED = """[answers]
predict_rate = "small"
simple_rate = "100 kbit/s"
transport = "sender.py"
design = "It keeps {name}'s window of packets, and repeats what the receiver misses."
"""


GRADINGS = {"graded": "grades", "graded again": "grades", "graded afresh": "afresh"}
"""Each grading and its folder."""


def write_programs(number: int, folder: Path, alike: bool) -> None:
    """Write the programs of a quality into a student's folder."""
    quality = number % (len(WINDOWS) + 2)
    packaged = Path(own_transport.__file__)
    for role, name in (("sender", SENDER), ("receiver", RECEIVER)):
        if quality == len(WINDOWS):
            text = packaged.with_name(f"stop_and_wait_{role}.py").read_text()
        else:
            kind = "windowed" if quality < len(WINDOWS) else "careless"
            text = (TRANSPORTS / kind / f"{role}.py").read_text()
        if quality < len(WINDOWS):
            text = text.replace("MOST = 1400, 8, 64", f"MOST = 1400, 8, {WINDOWS[quality]}")
        (folder / name).write_text(text if alike else f"{text}# by student {number}\n")


def hand_in(number: int, folder: Path, alike: bool) -> Assignment:
    """Do a student's runs and pack them."""
    lab, name = catalogue.find("reliable_transport"), f"student{number:02}"
    assignment = start(lab, variant(COURSE, lab, name), folder / "work" / name)
    (assignment.folder / ANSWERS).write_text(ANSWERED.format(name=name))
    write_programs(number, assignment.folder, alike)
    for run in runs_to_make(assignment):
        carry_out_run(assignment, run, "virtual")
    pack(assignment, folder / "class" / f"{name}.zip")
    return assignment


def guests_seconds(grades: Path) -> float:
    """Return the processor time of all guests, by the records of their runs."""
    with sqlite3.connect(grades / "points.sqlite") as memory:
        records = [json.loads(text) for (text,) in memory.execute("SELECT record FROM points")]
    print(f"{len(records)} runs")
    return sum(record["usage"]["cpu_seconds"] for record in records)


def graded(folder: Path, grades: str) -> dict[str, bytes]:
    """Grade the class into a folder; return all that was written but the memory of runs."""
    lab, out = catalogue.find("reliable_transport"), folder / grades
    grade_all(ClassRequest(folder / "class", lab, COURSE, out))
    files = (file for file in out.rglob("*") if file.is_file() and file.suffix != ".sqlite")
    return {file.relative_to(out).as_posix(): file.read_bytes() for file in files}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--students", type=int, default=60, show_default=True)
@click.option("--alike", is_flag=True, help="Students of a quality hand in the same bytes.")
@click.option("--afresh", is_flag=True, help="Grade a third time, in an empty folder.")
def main(folder: Path, students: int, alike: bool, afresh: bool) -> None:
    """Make a class, and print the time to grade it, and to grade it again to the same bytes."""
    (folder / "class").mkdir(parents=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda number: hand_in(number, folder, alike), range(students)))
    first: dict[str, bytes] = {}
    for what, grades in list(GRADINGS.items())[: 3 if afresh else 2]:
        begun = time.monotonic()
        written = graded(folder, grades)
        wall, guests = time.monotonic() - begun, guests_seconds(folder / grades)
        first = first or written
        files = "the same files" if written == first else "OTHER FILES"
        took = f"{wall / 60:.1f} min; guests {guests:.0f} s"
        print(f"{students} {what} in {took}; {files}", flush=True)


if __name__ == "__main__":
    main()
