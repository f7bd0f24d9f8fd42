"""A point of a sweep: one combination under one seed, its key, and its run on a worker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from analysis.measures.expressions import parse
from analysis.measures.metrics import GROUP, is_metric
from analysis.measures.results import measure_raw, readings_of, rows_of
from analysis.measures.selection import RunFacts
from analysis.measures.sweep_folder import series_record
from analysis.network.verdict import judge_network
from analysis.records.run_directory import run_of
from experiments.run.seed import judge, limits_for, memory_for, run_seed
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec
from experiments.study.grid import Combination
from testbed.guest.job_entry import LOG
from testbed.host.job_archive import code_digest, fingerprint
from testbed.host.scratch import scratch
from testbed.host.supervise import CONSOLE, Progress
from testbed.lab.ready import Lab, built_lab
from topologies import untrusted
from topologies.data import from_data
from topologies.disciplines import GROUP as DISCIPLINES
from topologies.errors import TcplabError
from topologies.plugins import registered

_MEASURE = "experiments.sweep.point"
ROWS = f"{_MEASURE}:measured_rows"
CAPTURES = f"{_MEASURE}:measured_captures"
"""What measures points: the rows only, or the captures too, as some reproductions need."""

Record = dict[str, Any]
"""The record of a point: status (complete, unproved, failed), rows, warnings, problem, log,
usage.

A point that is *unproved* ran, but its own evidence does not show that its conditions held; it
would end like that again. One that *failed* may not.
"""


@dataclass(frozen=True)
class Origin:
    """The origin of records: digests of the lab and of the code that runs, and what `measures`."""

    lab: str
    code: str
    measures: str
    measuring: str

    def point(self, combination: Combination, seed: int) -> Point:
        own = self
        if combination.spec.kernel != DEFAULT_KERNEL:
            own = replace(self, lab=built_lab(combination.spec.kernel).digests["whole"])
        words: tuple[Any, ...] = (
            combination.digest,
            seed,
            memory_for(combination.spec),
            own.lab,
            self.code,
            self.measures,
            self.measuring,
        )
        key = hashlib.sha256(repr(words).encode()).hexdigest()
        return Point(key, combination, seed, own)

    @property
    def metric(self) -> str:
        """The expression that is measured; empty if it is a column."""
        return self.measures.partition(" ")[2]


@dataclass(frozen=True)
class Point:
    """One run of a sweep. Equal keys give equal records."""

    key: str
    combination: Combination
    seed: int
    origin: Origin


def origin(lab: Lab, measures: str = ROWS) -> Origin:
    """Return the origin of records that this module or MODULE:FUNCTION measures now."""
    measuring = fingerprint(measures.partition(":")[0])
    if packages := sorted(
        {
            f"{each.package} {each.version}"
            for group in (GROUP, DISCIPLINES)
            for each in registered(group).values()
        }
    ):
        measuring = hashlib.sha256(repr([measuring, *packages]).encode()).hexdigest()
    return Origin(lab.digests["whole"], code_digest(), measures, measuring)


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
    """Run the spec `data` in the empty folder `raw`, judge it and measure it.

    Sweeps use it by carry_rows, labs in a process of limited rights (labs.measuring.references).
    """
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    failed: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    try:
        usage = run_seed(spec, seed, raw, limits_for(spec, wall_seconds), lab, progress)
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
    data: Any,
    seed: int,
    wall_seconds: float,
    lab: Lab,
    progress: Progress,
    metric: str = "",
    captured: bool = False,
) -> Record:
    """Run one point and keep its rows, with an expression `metric` or values of captures."""
    with scratch() as raw:
        measured = partial(measured_rows, metric=metric, captured=captured)
        return carry_point(raw, data, seed, wall_seconds, lab, progress, measured)


def measured_rows(
    raw: Path, data: Any, seed: int, metric: str = "", captured: bool = False
) -> dict[str, Any]:
    """Return rows of all flows, their series, texts of the study, and the network's verdict."""
    run = run_of(raw, data, seed)
    readings = readings_of(run)
    network = judge_network(run, [trial.traffic for trial in readings]).as_data()
    del network["checks"]
    of_captures = measure_raw(raw, data) if captured else {}
    return {
        "rows": [
            {**row, **of_captures.get((str(row["condition"]), str(row["flow"])), {})}
            for row in rows_of(readings, metric)
        ],
        "series": series_record(readings),
        "network": network,
    }


def _logs(raw: Path) -> str:
    names = (name for name in (LOG, CONSOLE) if untrusted.is_file(raw, name))
    return "\n".join(f"--- {name}\n{untrusted.tail(raw, name, _LOG_BYTES)}" for name in names)


def require_metrics(texts: Iterable[str], spec: ExperimentSpec) -> None:
    """Raise UsageError or UnknownMetric unless runs have these metrics and that of the claim."""
    end = max(flow.end.seconds for flow in spec.flows)
    facts = RunFacts(spec.flows, spec.conditions, spec.topology, spec.captures, end)
    for text in texts:
        facts.require(parse(text))
    headline = spec.headline
    if headline and not is_metric(headline.metric):
        for subject in headline.subjects:
            facts.require(parse(headline.metric).of_flow(subject.flow))
