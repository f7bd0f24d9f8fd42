"""Points on a worker: each is run, judged by its own evidence, and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from analysis.measures.course_bins import series_record
from analysis.measures.results import measure_raw, readings_of, rows_of
from analysis.network.verdict import judge_network
from analysis.records.run_directory import run_of
from experiments.harness.definition.catalogue import part
from experiments.harness.running.seed import carry_seed, judge, limits_for
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
"""Takes a folder of raw files, the spec's data and the seed; returns a part of a record."""
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

    Sweeps, reproductions and `tcplab cc try` use it (carry_rows, carry_captured). Labs use it in a
    process of limited rights (labs.measuring.references), with values of their own. A run that is
    kept with its files is carried out by experiments.harness.running.session.
    """
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    failed: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    try:
        usage = carry_seed(spec, seed, raw, limits_for(spec, wall_seconds), lab, progress)
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


def carry_rows(
    data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress, metric: str = ""
) -> Record:
    """Run one point and keep its rows; its raw files go, since the same seed gives them again.

    The rows have the value of an expression if `metric` is one.
    """
    with scratch() as raw:
        measured = partial(measured_rows, metric=metric)
        return carry_point(raw, data, seed, wall_seconds, lab, progress, measured)


def carry_captured(
    data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> Record:
    """Run one point like carry_rows, with the values of captures in the row of their flow."""
    with scratch() as raw:
        return carry_point(raw, data, seed, wall_seconds, lab, progress, measured_captures)


def measured_rows(raw: Path, data: Any, seed: int, metric: str = "") -> dict[str, Any]:
    """Return the rows of all flows, their series, texts of the study, the network's verdict.

    The verdict comes without its list of checks.
    """
    run = run_of(raw, data, seed)
    readings = readings_of(run)
    network = judge_network(run, [trial.traffic for trial in readings]).as_data()
    del network["checks"]
    statistics = _statistics(data["name"], raw, data)
    return {
        "rows": rows_of(readings, metric),
        "series": series_record(readings),
        "statistics": statistics,
        "network": network,
    }


def _statistics(study: str, raw: Path, data: Any) -> dict[str, str]:
    """Return a text for each condition, by its name, if the study keeps such."""
    module = part(study, "statistics_file")
    texts: dict[str, str] = module.statistics_of(raw, data) if module else {}
    return texts


def measured_captures(raw: Path, data: Any, seed: int) -> dict[str, Any]:
    """Return the same as measured_rows, with the values of captures in the row of their flow."""
    kept, captured = measured_rows(raw, data, seed), measure_raw(raw, data)
    rows = [
        {**row, **captured.get((str(row["condition"]), str(row["flow"])), {})}
        for row in kept["rows"]
    ]
    return kept | {"rows": rows}


def _logs(raw: Path) -> str:
    names = (name for name in (LOG, CONSOLE) if untrusted.is_file(raw, name))
    return "\n".join(f"--- {name}\n{untrusted.tail(raw, name, _LOG_BYTES)}" for name in names)
