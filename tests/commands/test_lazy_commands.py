"""The list of all commands is written down so that help needs none of them; it must stay true."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import testbed
from experiments.cli.commands import LINES, tcplab

ROOT = Path(__file__).resolve().parents[2]
LIGHT = """
import sys
from experiments.cli.commands import tcplab
try:
    tcplab(["--help"])
finally:
    heavy = {"numpy", "polars", "rich", "experiments.spec", "labs", "testbed.lab"}
    assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
PREPARED = """
import sys
from experiments.study.points import published_with_run
from experiments.sack import SackParameters, experiment

published_with_run(experiment(SackParameters()))
heavy = {"numpy", "polars", "matplotlib"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
SHORT = """
from click.testing import CliRunner
from experiments.cli.commands import LINES, tcplab

for name in set(LINES) - {"report"}:
    done = CliRunner().invoke(tcplab, [name, "-h"])
    assert done.exit_code == 0 and f" {name} [" in done.output, (name, done.output)
"""


@pytest.mark.parametrize("name", LINES)
def test_every_command_is_in_its_place_and_says_what_the_list_says(name: str) -> None:
    command = tcplab.get_command(click.Context(tcplab), name)
    assert command is not None
    assert command.get_short_help_str(200) == LINES[name]


def test_every_command_has_a_short_option_for_help() -> None:
    """In a process of its own: click remembers the options of a command that was called alone."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_help_imports_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"\n  {name} " in done.stdout for name in LINES)


def test_a_run_is_prepared_without_what_its_report_needs() -> None:
    """Processors that are too old for those libraries run experiments nevertheless."""
    command = [sys.executable, "-c", PREPARED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_version() -> None:
    done = CliRunner().invoke(tcplab, ["--version"])
    assert done.output == f"tcplab, version {testbed.VERSION}\n"
