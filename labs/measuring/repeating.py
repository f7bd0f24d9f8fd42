"""A point of a lab carried out and measured, in a process of its own (labs.measuring.contained).

A module that was handed in is code of the guest, so the guest's folder is a stranger's too: not
even its progress is read anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from msgspec import Struct, to_builtins

from experiments.harness.running.seed import carry_seed, limits_for, memory_for
from experiments.harness.sweep.carrying_point import carry_point
from experiments.harness.sweep.point import Record
from experiments.spec import ExperimentSpec
from labs.measuring.contained import Allowance, Answer, contained_as
from labs.measuring.lab_measures import measured
from testbed.host.scratch import scratch
from testbed.jobs.following import Progress
from testbed.lab.ready import Lab
from topologies.foundation.data import from_data
from topologies.foundation.errors import TcplabError

_READING = 120.0  # seconds beside those of the run: its module is built, its files are measured
_BESIDE = 2 << 30  # bytes of address space beside the guest's memory


class CarriedRecord(Struct):
    """A record of a run of a lab, as it has to come out of its process."""

    status: Literal["complete", "unproved", "failed"]
    problem: str
    log: str
    rows: list[dict[str, Any]]
    warnings: list[str]
    usage: dict[str, int | float] = {}
    values: dict[str, dict[str, int | float]] = {}
    files: dict[str, str] = {}


def carry(data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> Record:
    """Run a point and measure it; its files go."""
    empty: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    with scratch() as folder:
        try:
            record = _contained(
                CarriedRecord, _carried, folder, data, seed, wall_seconds, lab, progress
            )
            carried: Record = to_builtins(record)
            return empty | carried
        except TcplabError as error:
            return empty | {"problem": str(error)}


def carry_kept(
    raw: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> None:
    """Run a point and leave its raw files in the empty folder `raw`."""
    _contained(NoneType, _kept, Path(raw), data, seed, wall_seconds, lab, progress)


def _contained(
    kind: type[Answer],
    function: Callable[..., Any],
    folder: Path,
    data: Any,
    seed: int,
    wall_seconds: float,
    lab: Lab,
    progress: Progress,
) -> Answer:
    memory = memory_for(from_data(ExperimentSpec, data)) << 20
    allowance = Allowance(wall_seconds + _READING, memory + _BESIDE, max(Allowance.file, memory))
    words = (str(folder), data, seed, wall_seconds, lab)
    return contained_as(kind, function, *words, allowance=allowance, tell=progress)


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
