"""Commands that look, plan or are misspelt fetch and build nothing, not even the image."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOOKS = (
    "--help, --list, bundle --help, cc try --help, completion bash, doctor, exec --help, "
    "grade --help, image show, kernel build --help, kernel list, lab list, "
    "lab start sack --student ann, man, packetdrill --help, play --help, reproduce --help, "
    "run --list, run sack --dry-run, run sack --kernel 6.12 --dry-run, "
    "run sack_loss_sweep --dry-run, runs list, sweep sack --dry-run, "
    "sweep sack --set kernel=6.12,7.2 --dry-run, verify --help"
)
MISTAKES = (
    "cc build nothing.c, exec --clock never -- true, exec --kernel 1.0 -- true, "
    "exec --timeout soon -- true, kernel compare 7.2 1.0, kernel remove 6.12, "
    "packetdrill nothing.pkt, reproduce --only nothing, reproduce --known nothing, run nothing, "
    "run sack --out /dev/null/runs, sweep sack --out /dev/null/runs, sweep sack --known nothing, "
    "sweep sack --set nothing=1, verify nothing"
)


@pytest.mark.parametrize("line", [*LOOKS.split(", "), *MISTAKES.split(", ")])
def test_the_cache_stays_empty(line: str, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "experiments.cli.main", *line.split()]
    environment = {"PYTHONPATH": str(ROOT), "TCPLAB_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not (tmp_path / "cache").exists(), done.stderr
    assert "Traceback" not in done.stderr
    if line in MISTAKES.split(", "):
        assert done.returncode != 0 and done.stderr
    if line.endswith("--dry-run"):
        assert "Dry run" in done.stderr
