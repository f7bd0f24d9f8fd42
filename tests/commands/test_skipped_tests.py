"""The end of a test run groups what was skipped by its reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_of_root(number):
    pytest.skip("only root can do this\\nand more lines")

@pytest.mark.skipif(True, reason="no flex here: sudo apt-get install flex")
def test_of_flex():
    pass

def test_of_this():
    pass
"""
MODULE = 'import pytest\npytest.importorskip("nowhere", reason="nowhere is not installed")\n'


@pytest.mark.parametrize("workers", ["0", "2"])
def test_each_reason_is_one_line_before_the_closing_line(tmp_path: Path, workers: str) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", workers]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    *before, first, second, third, closing = done.stdout.splitlines()
    assert "skipped tests by reason" in before[-1]
    assert first == "    3  only root can do this"
    assert {second, third} == {
        "    1  no flex here: sudo apt-get install flex",
        "    1  nowhere is not installed",
    }
    assert "1 passed, 5 skipped" in closing
