"""A lab outside the checkout, written as the manual says."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "docs/teaching/writing.md"


def typed(folder: Path, words: str) -> str:
    """Return what a command prints in a folder. Raises CalledProcessError."""
    environment = {name: value for name, value in os.environ.items() if name != "TCPLAB_LABS"}
    command = [ROOT / "tcplab", "--labs", "mine", *words.split()]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a lab about the manual's study."""
    (tmp_path / "mine").mkdir()
    (study,) = re.findall(r"```python\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    (tmp_path / "mine/acks_lost.py").write_text(study)
    typed(tmp_path, "lab new lost_acks")
    lab = tmp_path / "mine/lost_acks/lab.toml"
    lab.write_text(lab.read_text().replace('"slow_start"', '"acks_lost"'))
    return tmp_path


def test_a_lab_outside_the_checkout_is_listed_checked_and_begun(folder: Path) -> None:
    assert "lost_acks" in typed(folder, "lab list")
    assert "No mistakes found." in typed(folder, "lab lint lost_acks")
    typed(folder, "lab start lost_acks --student ann")
    assert "acks" in (folder / "lost_acks-ann/handout.md").read_text()
    assert not (ROOT / "labs/lost_acks").exists()


@pytest.mark.virtual
@pytest.mark.long
def test_its_claim_holds(folder: Path) -> None:
    shown = typed(folder, "lab preview lost_acks --variants 1")
    assert "The claim holds in 1 of 1 variants." in shown
