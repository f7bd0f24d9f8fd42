"""The end of a test run groups what was skipped by its reason."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest
from testbed.host.packages import MissingTools

@pytest.mark.parametrize("number", range(3))
def test_of_root(number):
    pytest.skip("only root can do this\\nand more lines")

@pytest.mark.skipif(True, reason="no flex here: sudo apt-get install flex")
def test_of_flex():
    pass

def test_of_patch():
    raise MissingTools("Missing here: patch.", "Install it: sudo apt-get install patch.")

def test_of_this():
    pass
"""
MODULE = 'import pytest\npytest.importorskip("nowhere", reason="nowhere is not installed")\n'


def ended(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The tests above with the options and reports of this suite."""
    shutil.copy(CONFTEST, folder)
    (folder / "test_some.py").write_text(TESTS)
    (folder / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_each_reason_is_one_line_before_the_closing_line(tmp_path: Path, workers: str) -> None:
    done = ended(tmp_path, "-n", workers)
    assert done.returncode == 0, done.stdout
    *before, first, second, third, fourth, closing = done.stdout.splitlines()
    assert "skipped tests by reason" in before[-1]
    assert first == "    3  only root can do this"
    assert {second, third, fourth} == {
        "    1  no flex here: sudo apt-get install flex",
        "    1  nowhere is not installed",
        "    1  Missing here: patch. Install it: sudo apt-get install patch.",
    }
    assert "1 passed, 6 skipped" in closing


def test_with_all_tests_a_missing_program_is_a_failure(tmp_path: Path) -> None:
    done = ended(tmp_path, "-n", "0", "--long")
    assert done.returncode == 1
    assert "1 failed, 1 passed, 5 skipped" in done.stdout
    assert "MissingTools: Missing here: patch." in done.stdout
