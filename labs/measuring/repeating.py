"""A point of a lab carried out and measured, in a process of its own (labs.measuring.contained).

A module that was handed in is code of the guest, so the guest's folder is a stranger's too: not
even its progress is read anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.running.seed import carry_seed, limits_for, memory_for
from experiments.spec import ExperimentSpec
from experiments.sweep.carrying_point import carry_point
from experiments.sweep.point import Record
from labs.measuring.contained import Allowance, contained
from labs.measuring.lab_measures import measured
from testbed.host.scratch import scratch
from testbed.jobs.following import Progress
from testbed.lab.ready import Lab
from topologies.data import from_data
from topologies.errors import TcplabError

_READING = 120.0  # seconds beside those of the run: its module is built, its files are measured
_BESIDE = 2 << 30  # bytes of address space beside the guest's memory


def carry(data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> Record:
    """Run a point and measure it; its files go."""
    empty: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    with scratch() as folder:
        try:
            record: Record = _contained(_carried, folder, data, seed, wall_seconds, lab, progress)
            return empty | record
        except TcplabError as error:
            return empty | {"problem": str(error)}


def carry_kept(
    raw: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> None:
    """Run a point and leave its raw files in the empty folder `raw`."""
    _contained(_kept, Path(raw), data, seed, wall_seconds, lab, progress)


def _contained(
    function: Callable[..., Any],
    folder: Path,
    data: Any,
    seed: int,
    wall_seconds: float,
    lab: Lab,
    progress: Progress,
) -> Any:
    memory = memory_for(from_data(ExperimentSpec, data)) << 20
    allowance = Allowance(wall_seconds + _READING, memory + _BESIDE, max(Allowance.file, memory))
    words = (str(folder), data, seed, wall_seconds, lab)
    return contained(function, *words, allowance=allowance, tell=progress)


def _kept(
    raw: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> None:
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    carry_seed(data, seed, raw, limits_for(spec, wall_seconds), lab, progress)


def _carried(
    folder: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> Record:
    raw = Path(folder) / "raw" / f"seed-{seed}"
    raw.mkdir(parents=True)
    return carry_point(raw, data, seed, wall_seconds, lab, progress, measured)
