"""A point of a sweep: one combination under one seed. What identifies it, and how a worker carries
it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import analysis
from analysis.measures.flow_rows import Row, rows_of
from analysis.measures.trial_measures import measure_raw
from experiments.definition.catalogue import part
from experiments.definition.grid import Combination
from experiments.running.seed import carry_seed, judge, limits_for, memory_for
from experiments.spec import ExperimentSpec
from testbed.guest.job_entry import LOG
from testbed.host.scratch import scratch
from testbed.jobs.archive import code_digest
from testbed.jobs.following import CONSOLE, Progress
from testbed.lab.ready import Lab
from topologies import untrusted
from topologies.data import from_data
from topologies.errors import TcplabError

_CAPTURES = (
    "measures/*.py",
    "records/__init__.py",
    "records/run_directory.py",
    "records/problems.py",
    "flows/*.csv",
    "flows/*.py",
    "flows/plain/*.py",
    "flows/core/src/*.rs",
)
_MEASURING = (
    "measures/flow_rows.py",
    "records/iperf.py",
    "records/socket_samples.py",
    "records/counters.py",
    "records/jsonfile.py",
)
_LOG_BYTES = 20_000  # of each log of a failed point

Record = dict[str, Any]
"""What is kept of a point: status (complete, unproved, failed), rows, warnings, problem, log,
usage, statistics.

A point that is *unproved* ran, but its own evidence does not show that its conditions held; it
would end like that again. One that *failed* may not.
"""


@dataclass(frozen=True)
class Point:
    """One run of a sweep. Equal keys give equal records. `captured`: what the captures tell is in
    its rows too.
    """

    key: str
    combination: Combination
    seed: int
    captured: bool = False


@dataclass(frozen=True)
class Origin:
    """What all records of a sweep come from besides their specs: the lab, and the code that runs
    and measures.
    """

    lab: str
    code: str
    measuring: str

    def point(self, combination: Combination, seed: int, captured: bool = False) -> Point:
        words: tuple[Any, ...] = (
            combination.digest,
            seed,
            memory_for(combination.spec),
            self.lab,
            self.code,
            self.measuring,
        )
        words += (_measuring_digest(_CAPTURES),) if captured else ()
        words += _statistics_digest(combination.spec.name)
        return Point(hashlib.sha256(repr(words).encode()).hexdigest(), combination, seed, captured)


def origin(lab: Lab) -> Origin:
    """Where records come from here and now."""
    return Origin(lab.digests["whole"], code_digest(), _measuring_digest(_MEASURING))


@cache
def _measuring_digest(patterns: tuple[str, ...]) -> str:
    """Of the files of the analysis that match; an installed package has no sources of its compiled
    engine.
    """
    folder = Path(analysis.__file__).parent
    files = (file for pattern in patterns for file in sorted(folder.glob(pattern)))
    return hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()


@cache
def _statistics_digest(study: str) -> tuple[str, ...]:
    """Of the code that writes the study's statistics files; empty if it keeps none."""
    module = part(study, "statistics_file")
    if module is None or module.__file__ is None:
        return ()
    return (hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest(),)


def carry_captured(
    data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> Record:
    """As carry_point, with what the captures tell in the rows of the flow that they are about."""
    return carry_point(data, seed, wall_seconds, lab, progress, _with_captures)


def _with_captures(raw: Path, data: Any) -> list[Row]:
    captured = measure_raw(raw, data)
    return [
        {**row, **captured.get((str(row["condition"]), str(row["flow"])), {})}
        for row in rows_of(raw, data)
    ]


def carry_point(
    data: Any,
    seed: int,
    wall_seconds: float,
    lab: Lab,
    progress: Progress,
    measured: Callable[[Path, Any], list[Row]] = rows_of,
) -> Record:
    """Run one point and keep its rows; its raw files go, since the same seed gives them again."""
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    with scratch() as raw:
        try:
            usage = carry_seed(data, seed, str(raw), limits_for(spec, wall_seconds), lab, progress)
        except TcplabError as error:
            return {
                "status": "failed",
                "problem": str(error),
                "log": _logs(raw),
                "rows": [],
                "warnings": [],
            }
        verdict = judge(spec, seed, raw)
        problem = " ".join(verdict.failures)
        return {
            "status": "unproved" if problem else "complete",
            "problem": problem,
            "log": _logs(raw) if problem else "",
            "rows": measured(raw, data),
            "warnings": list(verdict.warnings),
            "usage": asdict(usage),
            "statistics": _statistics(spec.name, raw, data),
        }


def _statistics(study: str, raw: Path, data: Any) -> dict[str, str]:
    """A text for each condition, by its name, if the study keeps such."""
    module = part(study, "statistics_file")
    texts: dict[str, str] = module.statistics_of(raw, data) if module else {}
    return texts


def _logs(raw: Path) -> str:
    names = (name for name in (LOG, CONSOLE) if untrusted.is_file(raw, name))
    return "\n".join(f"--- {name}\n{untrusted.tail(raw, name, _LOG_BYTES)}" for name in names)
