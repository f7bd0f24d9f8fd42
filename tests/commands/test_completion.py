"""Completion as a shell asks for it, and the script that makes it ask."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli.commands import COMPLETE, tcplab

ROOT = Path(__file__).resolve().parents[2]


def completions(line: str, place: Path) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    environment = os.environ | {
        COMPLETE: "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-P", "-m", "experiments.cli.main"]
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    return [offered.partition(",")[2] for offered in done.stdout.splitlines()]


def test_commands_studies_and_options(tmp_path: Path) -> None:
    assert completions("tcplab rep", tmp_path) == ["reproduce", "report"]
    assert completions("tcplab run sac", tmp_path) == ["sack", "sack_loss_sweep"]
    assert completions("tcplab sweep sac", tmp_path) == ["sack", "sack_loss_sweep"]
    assert completions("tcplab run sack --testbed ", tmp_path) == ["auto", "native", "virtual"]
    assert completions("tcplab run sack --kernel 6", tmp_path) == ["6.12", "6.1"]
    assert completions("tcplab kernel build 4", tmp_path) == ["4.4"]
    assert "--kernel" in completions("tcplab run sack --", tmp_path)


def test_congestion_controls_alone_and_in_a_list(tmp_path: Path) -> None:
    line = "tcplab run cubic_vs_reno --cc "
    assert {"bbr", "cubic", "reno"} < {*completions(line, tmp_path)}
    assert completions(f"{line}cu", tmp_path) == ["cubic"]
    assert completions(f"{line}cubic+ve", tmp_path) == ["cubic+vegas", "cubic+veno"]


def test_runs_that_are_there(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "sack" / "20260101T000000Z-seed1"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    expected = ["runs/sack/20260101T000000Z-seed1"]
    for command in ("report", "verify", "runs show"):
        assert completions(f"tcplab {command} ru", tmp_path) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_reads(shell: str) -> None:
    done = CliRunner().invoke(tcplab, ["completion", shell])
    assert done.exit_code == 0
    assert COMPLETE in done.output
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.output, text=True, check=True)
