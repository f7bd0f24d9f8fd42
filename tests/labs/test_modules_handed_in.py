"""Modules of strangers: one that crashes, spins or does not compile ends alone."""

import json
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import ANSWERS, variant
from labs.definition.runs import example_module
from labs.grading import class_grading, grade
from labs.student.hand_in import pack
from labs.student.handout import start
from labs.student.runs import carry_out_run
from testbed.lab.kernel.recipe import KERNEL_TOOLS
from tests.labs.conftest import COURSE
from tests.virtual.hostile_modules import ATTACKS, FORGERY, source

pytestmark = [pytest.mark.virtual, pytest.mark.needs(*KERNEL_TOOLS)]
CRASH = ("u32 before = tcp_snd_cwnd(tp);", "u32 before = *(volatile u32 *)8;")
HOSTILE = {
    "linking": (ATTACKS[:1], "system call of this computer"),
    "blocking": (ATTACKS[2:3], "system call of this computer"),
    "forging": ([FORGERY], "no files that can be measured"),
}
SPIN = ("u32 before = tcp_snd_cwnd(tp);", "u32 before = tcp_snd_cwnd(tp); for (;;) barrier();")


@pytest.mark.long
def test_only_the_sound_module_is_graded_and_the_others_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "_WALL_SECONDS", 45.0)
    monkeypatch.setattr(class_grading, "_SEEDS", 3)
    spec = catalogue.find("own_congestion_control")
    class_folder = tmp_path / "class"
    class_folder.mkdir()
    changes = {"good": ("", ""), "crash": CRASH, "spin": SPIN, "wrong": ("return", "retrun")}
    for name, (old, new) in changes.items():
        assignment = start(spec, variant(COURSE, spec, name), tmp_path / name)
        module = example_module(assignment.folder)
        source = module.read_text()
        assert old in source
        (assignment.folder / ANSWERS).write_text(
            '[answers]\nsource = "mine.c"\nreno = "1 kbit/s"\n'
        )
        if name == "good":
            for run in spec.runs:
                carry_out_run(assignment, run, "virtual")
            pack(assignment, class_folder / "good.zip")
        else:
            module.write_text(source.replace(old, new, 1))
            assignment.folder.rename(class_folder / name)
    grade.grade_all(grade.ClassRequest(class_folder, spec, COURSE, tmp_path / "grades", workers=2))
    report = {
        case["student"]: case
        for case in json.loads((tmp_path / "grades" / "report.json").read_text())
    }
    assert report["good"]["state"] == "graded"
    assert report["good"]["authentic"] == {"lossy": True, "crowd": True}
    for name, reason in (
        ("crash", "crashed"),
        ("spin", "was stopped at its limit"),
        ("wrong", "retrun"),
    ):
        assert report[name]["state"] == "could not grade" and reason in report[name]["refused"], (
            report[name]
        )
    assert "mine_slow_start" in (tmp_path / "grades" / "reading.html").read_text()


def test_a_hostile_module_reads_nothing_and_the_class_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grader works in the folder of the course's file, as a person who types the command."""
    monkeypatch.setattr(class_grading, "_SEEDS", 3)
    monkeypatch.chdir(tmp_path)
    Path("canary").write_text(COURSE.secret)
    spec = catalogue.find("own_congestion_control")
    for name, (attacks, _) in HOSTILE.items():
        folder = start(spec, variant(COURSE, spec, name), tmp_path / "class" / name).folder
        (folder / "mine.c").write_text(source(attacks, "mine"))
        (folder / ANSWERS).write_text('[answers]\nsource = "mine.c"\nreno = "1 kbit/s"\n')
    grade.grade_all(
        grade.ClassRequest(tmp_path / "class", spec, COURSE, tmp_path / "grades", workers=2)
    )
    report = {
        case["student"]: case
        for case in json.loads((tmp_path / "grades" / "report.json").read_text())
    }
    assert set(report) == set(HOSTILE)
    for name, (_, words) in HOSTILE.items():
        assert report[name]["state"] == "could not grade" and words in report[name]["refused"], (
            report[name]
        )
    written = [file.read_bytes() for file in (tmp_path / "grades").rglob("*") if file.is_file()]
    assert len(written) > 5 and not any(COURSE.secret.encode() in content for content in written)
