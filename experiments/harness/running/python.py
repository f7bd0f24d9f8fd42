"""Runs from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.harness.definition.catalogue import find
from experiments.harness.running import session
from experiments.harness.running.request import RunOptions


def run(
    experiment: str,
    settings: Mapping[str, str] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    testbed: str = "virtual",
    out: Path | str = "runs",
) -> Path:
    """Run an experiment as `tcplab run` does, make its report, and return the run's directory.

    `settings` are parameters, fields of the spec or sysctls, with values as they are typed:
    `{"loss": "2%"}`. `seeds` is a number, counted from 1, or a list; by default as many as the
    claim of the experiment needs. Raises UsageError before anything runs if a name or a value is
    impossible, TcplabError if a seed failed.
    """
    counted = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else seeds
    options = RunOptions(
        find(experiment),
        settings=tuple(f"{name}={value}" for name, value in (settings or {}).items()),
        seeds=None if counted is None else tuple(counted),
        testbed=testbed,
        out=Path(out),
    )
    return session.run(options.request()).folder
