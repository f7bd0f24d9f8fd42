"""A queueing discipline of an installed package decides in a guest which packet is dropped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
HEAD_DROP = """from topologies.disciplines.base import Discipline


class HeadDrop(Discipline):
    name, title = "head_drop", "head_drop: drops the oldest"

    @property
    def kind(self):
        return "pfifo_head_drop"
"""


def test_a_discipline_of_a_package_shapes_the_bottleneck(tmp_path: Path) -> None:
    info, code = tmp_path / "head_drop-1.0.dist-info", tmp_path / "head_drop_pack"
    info.mkdir()
    code.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: head-drop\nVersion: 1.0\n")
    entry = "head_drop = head_drop_pack.qdiscs:HeadDrop"
    (info / "entry_points.txt").write_text(f"[tcplab.disciplines]\n{entry}\n")
    (code / "__init__.py").write_text("")
    (code / "qdiscs.py").write_text(HEAD_DROP)
    words = ["run", "udp_fairness", "--queueing", "head_drop", "--repeat", "1", "--duration", "3s"]
    subprocess.run(
        [sys.executable, "-m", "experiments.cli.main", *words, "--out", tmp_path / "runs"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
        check=True,
    )
    (measured,) = (tmp_path / "runs").glob("udp_fairness/2*/raw/*/*/qdiscs.json")
    assert "pfifo_head_drop" in json.dumps(json.loads(measured.read_text()))
