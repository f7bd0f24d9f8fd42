"""Two releases of one state of the code, made in two folders, are the same byte for byte.

`--release FOLDER` names the first, which this checkout made. The second compiles everything again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.release import SUMS

ROOT = Path(__file__).resolve().parents[2]


def test_a_build_in_another_folder_gives_the_same_bytes(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    first = request.config.getoption("--release")
    if not first:
        pytest.skip("a long test: pytest --release FOLDER, which ./tcplab release has made")
    for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
        if name:
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "copy" / name)
    command = [sys.executable, "-P", "-m", "experiments.cli.main", "release", "--out", tmp_path]
    place = {"PYTHONPATH": str(tmp_path / "copy")}
    subprocess.run(command, cwd=tmp_path / "copy", env=os.environ | place, check=True)
    assert (tmp_path / SUMS).read_text() == (Path(first) / SUMS).read_text()
