"""The measures of all trials of a run, by condition and by conditions that shared a seed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from analysis.measures.metric_keys import MetricKey
from analysis.records.problems import Problems
from analysis.records.run_directory import RunCondition, RunRecord, Trial
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Rate

if TYPE_CHECKING:
    from analysis.measures.trial_measures import Measured

NOTHING = "\N{EN DASH}"
"""What a table shows where nothing was measured or published."""
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class RunResults:
    """A run with what was measured in each trial, in the order of seeds and conditions."""

    run: RunRecord
    measured: tuple[Measured, ...]

    def values(self, key: MetricKey, condition: RunCondition) -> list[float]:
        """The values at `key` under `condition`, one per seed that has one."""
        return [
            value
            for trial in self.measured
            if trial.trial.condition == condition and (value := trial.value(key)) is not None
        ]

    def pairs(self, key: MetricKey, conditions: Sequence[RunCondition]) -> list[tuple[float, ...]]:
        """For each seed with a value at `key` under every one of `conditions`: these values."""
        values = {
            (trial.trial.seed, trial.trial.condition): trial.value(key) for trial in self.measured
        }
        rows = (
            tuple(values.get((seed, condition)) for condition in conditions)
            for seed in self.run.seeds
        )
        return [
            tuple(value for value in row if value is not None) for row in rows if None not in row
        ]

    @property
    def link_rate(self) -> float | None:
        """The rate of the run's link in kbit/s, or None if its parameters do not say."""
        try:
            return Rate.parse(self.run.parameters.get("bw", "")).base / 1000
        except UsageError:
            return None

    @property
    def first(self) -> list[Measured]:
        """The trials that the graphs show: those of the first seed that has any."""
        seed = self.measured[0].trial.seed if self.measured else None
        return [trial for trial in self.measured if trial.trial.seed == seed]


def measure_all(run: RunRecord, problems: Problems) -> RunResults:
    """Measures every trial, a thread on each core: the engine reads captures without the lock."""
    drawn = run.trials[0].seed if run.trials else None
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(run.trials)) or 1) as pool:
        tasks = [
            pool.submit(_measure_apart, run, trial, trial.seed == drawn) for trial in run.trials
        ]
        measured, apart = (
            zip(*(task.result() for task in tasks), strict=True) if tasks else ((), ())
        )
    for sentences in apart:
        for sentence in sentences:
            problems.add(sentence)
    return RunResults(run, tuple(measured))


def _measure_apart(run: RunRecord, trial: Trial, draw: bool) -> tuple[Measured, tuple[str, ...]]:
    """One trial and the problems that were found with it."""
    # Here: a run names quantities, and has no use for the libraries that read captures.
    from analysis.measures.trial_measures import measure

    problems = Problems()
    return measure(run, trial, problems, draw=draw), tuple(problems.found)


def written(value: float) -> str:
    """A figure as a reader wants it: whole numbers in full, others to three digits."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """The median, and the range if several values differ as written; a dash for no value."""
    if not values:
        return NOTHING
    low, high = written(min(values)), written(max(values))
    return written(median(values)) + (f" ({low} to {high})" if low != high else "")
