"""An installed package adds a study with its report, a lab and a topology by entry points."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labs.definition.catalogue import FOLDER
from tests.unit.test_own_studies import MODULE, REPORT

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = """
[tcplab.studies]
ring_study = ring_pack.study
[tcplab.labs]
ring_lab = ring_pack.lab
[tcplab.topologies]
ring = ring_pack.shapes:ring
"""
SHAPES = """from topologies.shapes import two_hosts


def ring(size, channel):
    return two_hosts(channel)
"""
PART = """
from experiments.study.catalogue import find

print(find("ring_study").part("report").REPORT.answers(None)[0].paragraphs)
"""


def install(site: Path, entries: str = ENTRIES) -> None:
    info, code = site / "ring_pack-0.3.dist-info", site / "ring_pack"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ring-pack\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(entries)
    (code / "study").mkdir(parents=True)
    (code / "__init__.py").write_text("")
    (code / "study/__init__.py").write_text(MODULE.format(name="ring_study", claim="Rings work."))
    (code / "study/report.py").write_text(REPORT)
    (code / "shapes.py").write_text(SHAPES)
    shutil.copytree(FOLDER / "first_look", code / "lab")


def asked(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "experiments.cli.main", *words]
    return run(site, command)


def run(site: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{site}"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_study_lab_and_topology_of_a_package_are_offered(tmp_path: Path) -> None:
    install(tmp_path)
    assert "ring_study           Rings work." in asked(tmp_path, "run", "--list").stdout
    described = asked(tmp_path, "run", "ring_study", "--loss", "3%", "--dry-run")
    assert '"name": "ring_study"' in described.stdout, described.stderr
    assert "ring_lab " in asked(tmp_path, "lab", "list").stdout
    assert "parking_lot|ring" in asked(tmp_path, "shell", "--help").stdout
    done = asked(tmp_path, "lab", "start", "ring_lab", "--student", "ann", "--out", f"{tmp_path}/a")
    assert (tmp_path / "a/handout.html").is_file(), done.stderr
    assert run(tmp_path, [sys.executable, "-c", PART]).stdout == "('It is mine.',)\n"


@pytest.mark.parametrize(
    ("entries", "words", "said"),
    [
        ("[tcplab.studies]\nsack = ring_pack.study", ["run", "--list"], "has that name already"),
        ("[tcplab.studies]\nx = ring_pack.none", ["run", "--list"], "is not a module"),
        ("[tcplab.studies]\nx = ring_pack.shapes", ["run", "--list"], "no function experiment"),
        ("[tcplab.labs]\nsack = ring_pack.lab", ["lab", "list"], "has that name already"),
        ("[tcplab.labs]\nx = ring_pack.study", ["lab", "list"], "not a folder with a lab.toml"),
        ("[tcplab.topologies]\nstar = ring_pack.shapes:ring", ["shell", "star"], "already"),
        ("[tcplab.topologies]\nx = ring_pack.shapes:no", ["shell", "x"], "AttributeError"),
    ],
)
def test_a_broken_plugin_is_one_sentence_with_its_package(tmp_path, entries, words, said) -> None:
    install(tmp_path, entries)
    done = asked(tmp_path, *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "of the package ring-pack 0.3 cannot be used:" in done.stderr and said in done.stderr
    assert done.stderr.endswith("pip uninstall ring-pack\n")
