"""A point carried out on a worker: run, judged by its own evidence, and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.harness.running.seed import carry_seed, judge, limits_for
from experiments.harness.sweep import measured_captures, measured_rows
from experiments.harness.sweep.point import Record
from experiments.spec import ExperimentSpec
from testbed.guest.job_entry import LOG
from testbed.host.scratch import scratch
from testbed.jobs.following import CONSOLE, Progress
from testbed.lab.ready import Lab
from topologies.foundation import untrusted
from topologies.foundation.data import from_data
from topologies.foundation.errors import TcplabError

Measured = Callable[[Path, Any, int], dict[str, Any]]
"""What is kept of the raw files in a folder that a spec left: a part of a record."""
_LOG_BYTES = 20_000  # of each log of a failed point


def carry_point(
    raw: Path,
    data: Any,
    seed: int,
    wall_seconds: float,
    lab: Lab,
    progress: Progress,
    measured: Measured,
) -> Record:
    """Run the spec `data` with its raw files in the empty folder `raw`, judge it and measure it.

    Sweeps, reproductions and `tcplab cc try` do so here (carry_rows, carry_captured); labs do so in
    a process of limited rights (labs.measuring.references), with values of their own. A run that is
    kept with its files is carried out by experiments.harness.running.session.
    """
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    failed: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    try:
        usage = carry_seed(data, seed, str(raw), limits_for(spec, wall_seconds), lab, progress)
    except TcplabError as error:
        return failed | {"problem": str(error), "log": _logs(raw)}
    verdict = judge(spec, seed, raw)
    problem = " ".join(verdict.failures)
    return {
        "status": "unproved" if problem else "complete",
        "problem": problem,
        "log": _logs(raw) if problem else "",
        "rows": [],
        "warnings": list(verdict.warnings),
        "usage": asdict(usage),
        **measured(raw, data, seed),
    }


def carry_rows(data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> Record:
    """Run one point and keep its rows; its raw files go, since the same seed gives them again."""
    with scratch() as raw:
        return carry_point(raw, data, seed, wall_seconds, lab, progress, measured_rows.measured)


def carry_captured(
    data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> Record:
    """As carry_rows, with what the captures tell in the row of the flow that they are about."""
    with scratch() as raw:
        return carry_point(raw, data, seed, wall_seconds, lab, progress, measured_captures.measured)


def _logs(raw: Path) -> str:
    names = (name for name in (LOG, CONSOLE) if untrusted.is_file(raw, name))
    return "\n".join(f"--- {name}\n{untrusted.tail(raw, name, _LOG_BYTES)}" for name in names)
