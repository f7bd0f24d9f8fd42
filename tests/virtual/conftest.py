"""The lab kernel for tests: built once into the usual cache, then a guest for each question."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.sack import SackParameters, experiment
from experiments.spec import ExperimentSpec
from testbed.jobs.following import Limits, Usage
from testbed.lab.ready import Lab, lab
from testbed.virtual.virtual_run import run_in_guest
from topologies.data import to_data
from topologies.units import Duration
from topologies.untrusted import digest_of


@pytest.fixture(scope="session")
def ready_lab() -> Lab:
    return lab()


@pytest.fixture
def short_sack() -> ExperimentSpec:
    """The SACK study with transfers of 4 s: the same procedure in a fifth of the time."""
    return experiment(SackParameters(duration=Duration.parse("4s")))


@pytest.fixture
def in_guest(ready_lab: Lab, tmp_path: Path) -> Callable[..., tuple[Path, Usage]]:
    """`in_guest(data, module=..., seed=..., limits=...)` runs a job: its folder and its usage."""
    count = iter(range(100))

    def run(
        data: Any,
        module: str = "experiments.procedure",
        seed: int = 7,
        limits: Limits | None = None,
    ) -> tuple[Path, Usage]:
        out = tmp_path / f"guest{next(count)}"
        out.mkdir()
        data = to_data(data)
        return out, run_in_guest(
            ready_lab, module, data, seed, out, lambda phase, elapsed: None, limits or Limits(120)
        )

    return run


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of everything a run measured."""
    patterns = ("*.pcap", "*.jsonl", "counters.json", "qdiscs.json", "*.client.txt", "*.server.txt")
    files = [file for pattern in patterns for file in folder.glob(f"*/{pattern}")]
    assert files, f"nothing was measured in {folder}"
    return {str(file.relative_to(folder)): digest_of(file) for file in files}


def read(file: Path) -> Any:
    return json.loads(file.read_text())
