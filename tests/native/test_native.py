"""The native testbed on this machine's kernel, if it can: root, netem, Open vSwitch."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from experiments.sack import SackParameters, experiment
from testbed.native.run import obstacles, run_natively
from tests.virtual.conftest import read
from topologies.data import to_data
from topologies.units import Duration

pytestmark = pytest.mark.native


def _machine() -> tuple[str, ...]:
    commands = (
        ["ip", "-br", "link"],
        ["lsns", "-t", "net", "-n", "-o", "NS"],
        ["sysctl", "net.ipv4.tcp_sack"],
    )
    return tuple(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for command in commands
    )


def test_sack_runs_natively_and_leaves_the_machine_as_it_was(tmp_path: Path) -> None:
    problems = obstacles()
    if problems:
        pytest.skip(str(problems[0]))
    before = _machine()
    run_natively(
        "experiments.flows.procedure",
        to_data(experiment(SackParameters(duration=Duration.parse("4s")))),
        tmp_path,
        lambda phase, elapsed: None,
    )
    assert read(tmp_path / "sack_on" / "evidence.json")["held"]
    assert read(tmp_path / "sack_off" / "evidence.json")["held"]
    assert _machine() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="root can say what else is missing")
def test_what_is_in_the_way_is_said_with_its_remedy() -> None:
    for obstacle in obstacles():
        assert obstacle.problem and obstacle.remedy
