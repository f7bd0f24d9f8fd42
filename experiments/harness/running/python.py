"""A run from Python, as `tcplab run` does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.harness.definition.catalogue import find
from experiments.harness.running.report import reporter
from experiments.harness.running.request import RunOptions
from experiments.harness.running.session import carry_out
from testbed.jobs.following import Progress
from testbed.lab.ready import lab_for


def run(
    experiment: str,
    settings: Mapping[str, str] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    testbed: str = "auto",
    out: Path | str = "runs",
) -> Path:
    """Run an experiment and make its report: the run's directory.

    `settings` are parameters, fields of the spec or sysctls, with values as they are typed:
    `{"loss": "2%"}`. `seeds` counts from 1 or names them; None is as many as the claim of the
    experiment needs. Raises UsageError before anything runs
    if a name or a value is impossible, TcplabError if a seed failed.
    """
    request = RunOptions(
        find(experiment),
        settings=tuple(f"{name}={value}" for name, value in (settings or {}).items()),
        seeds=_named(seeds),
        testbed=testbed,
        out=Path(out),
    ).request()
    with reporter(request.spec.name) as report:
        ready = lab_for([request.spec.kernel]) if request.testbed == "virtual" else None
        folder = carry_out(request, ready, _unwatched, report.judge)
        report(folder)
    return folder


def _named(seeds: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if seeds is None:
        return None
    return tuple(range(1, seeds + 1) if isinstance(seeds, int) else seeds)


def _unwatched(_seed: int) -> Progress:
    return lambda _phase, _elapsed: None
