"""Modules of strangers run in the lab kernel only: one that crashes, spins or does not compile ends alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labs import catalogue, runs
from labs.assignment import ANSWERS, start
from labs.course import variant
from labs.doing import do
from labs.grading import grade
from labs.packing import pack
from testbed.lab import lab
from tests.labs.conftest import COURSE

pytestmark = pytest.mark.virtual
CRASH = ("u32 before = tcp_snd_cwnd(tp);", "u32 before = *(volatile u32 *)8;")
SPIN = ("u32 before = tcp_snd_cwnd(tp);", "u32 before = tcp_snd_cwnd(tp); for (;;) barrier();")


def test_only_the_sound_module_is_graded_and_the_others_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "_WALL_SECONDS", 40.0)
    monkeypatch.setattr(grade, "_SEEDS", 3)
    spec, ready = catalogue.find("own_congestion_control"), lab()
    class_folder = tmp_path / "class"
    class_folder.mkdir()
    changes = {"good": ("", ""), "crash": CRASH, "spin": SPIN, "wrong": ("return", "retrun")}
    for name, (old, new) in changes.items():
        assignment = start(spec, variant(COURSE, spec, name), tmp_path / name)
        module = runs.example_module(assignment.folder)
        source = module.read_text()
        assert old in source
        (assignment.folder / ANSWERS).write_text('[answers]\nsource = "mine.c"\nreno = "1 kbit/s"\n')
        if name == "good":
            do(assignment, spec.runs[0], "virtual", lambda: ready)
            pack(assignment, class_folder / "good.zip")
        else:
            module.write_text(source.replace(old, new, 1))
            assignment.folder.rename(class_folder / name)
    grade.grade_all(class_folder, spec, COURSE, [], tmp_path / "grades", 2)
    report = {case["student"]: case for case in json.loads((tmp_path / "grades" / "report.json").read_text())}
    assert report["good"]["state"] == "graded" and report["good"]["authentic"] == {"lossy": True}
    for name, said in (("crash", "crashed"), ("spin", "was stopped at its limit"), ("wrong", "retrun")):
        assert report[name]["state"] == "could not grade" and said in report[name]["refused"], report[name]
    assert "mine_slow_start" in (tmp_path / "grades" / "reading.html").read_text()
