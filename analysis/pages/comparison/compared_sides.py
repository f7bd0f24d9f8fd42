"""What is compared: a run, or the points of a sweep with the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from analysis.measures.metrics import columns
from analysis.measures.results import RunResults, measure_all
from analysis.records.problems import Problems
from analysis.records.run_directory import read_run

Values = dict[tuple[str, str], dict[int, float]]
"""By condition and metric: a value for each seed."""


@dataclass(frozen=True)
class ComparedSide:
    """One of what is compared.

    `letter` is A, B, ...; `settings` are in words; `results` are those of a run, None for points
    of a sweep, which keep no samples.
    """

    letter: str
    name: str
    settings: dict[str, str]
    values: Values
    results: RunResults | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What its conditions are called, where it says so."""
        conditions = self.results.run.conditions if self.results else ()
        return {condition.name: condition.label for condition in conditions}


def side_of_run(letter: str, path: Path) -> ComparedSide:
    """The run in `path`. Raises UsageError where there is none."""
    problems = Problems()
    run = read_run(path, problems)
    results = measure_all(run, problems)
    rows = [
        (measured.trial.condition.name, measured.trial.seed, flow.row)
        for measured in results.measured
        for flow in measured.flows
    ]
    manifest = run.manifest
    settings = {
        "experiment": run.experiment,
        **run.parameters,
        "seeds": _seeds(run.seeds),
        "testbed": manifest.testbed,
        "kernel": manifest.kernel.release,
        "tcplab": manifest.tcplab,
    }
    sound = run.status == "complete" and not run.failures
    warnings = () if sound else (f"{letter} is marked {run.status}: its figures show nothing.",)
    name = f"{run.experiment}/{manifest.id or path.name}"
    return ComparedSide(
        letter, name, settings, _values(rows), results, tuple(problems.found), warnings
    )


def side_of_points(
    letter: str,
    key: str,
    settings: dict[str, str],
    rows: Sequence[tuple[int, Sequence[dict[str, Any]]]],
) -> ComparedSide:
    """Points of a sweep that differ in their seed only: the seed and the rows of each."""
    every = [
        (str(row.get("condition", "")), seed, row) for seed, of_seed in rows for row in of_seed
    ]
    shown = settings | {"seeds": _seeds([seed for seed, _ in rows])}
    return ComparedSide(letter, f"point {key}", shown, _values(every))


def _values(rows: Iterable[tuple[str, int, dict[str, Any]]]) -> Values:
    """The mean over the flows of a run, because flows of one run depend on each other."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for condition, seed, row in rows:
        for name in columns():
            value = row.get(name)
            if isinstance(value, int | float):
                by_seed = found.setdefault((condition, name), {})
                by_seed.setdefault(seed, []).append(float(value))
    return {
        place: {seed: fmean(values) for seed, values in by_seed.items()}
        for place, by_seed in found.items()
    }


def _seeds(seeds: Sequence[int]) -> str:
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))
