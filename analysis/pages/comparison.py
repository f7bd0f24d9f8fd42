"""Comparison of runs, or of points of a sweep, and the index of all runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.table import Table

from analysis import rendering
from analysis.fmt import NOTHING, decimals, fixed, in_a_row, with_unit, written
from analysis.graphs.inline import board
from analysis.graphs.layers import GraphGroup
from analysis.measures.metrics import Metric, columns
from analysis.measures.results import RunResults, measure_all
from analysis.measures.selection import standing
from analysis.records.json_reader import Problems
from analysis.records.run_directory import index, read_run
from analysis.reporting.run_graphs import DrawnCourse, over_time
from analysis.statistics.paired_tests import (
    COPIES,
    FEWEST,
    Paired,
    fewest_seeds,
    holm,
    median_interval,
    paired,
)

Values = dict[tuple[str, str], dict[int, float]]  # by condition and metric: a value for each seed


@dataclass(frozen=True)
class ComparedSide:
    """One of what is compared: A, B, ...; `results` are None for points, which keep no samples."""

    letter: str
    name: str
    settings: dict[str, str]
    values: Values
    results: RunResults | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def side_of_run(letter: str, path: Path) -> ComparedSide:
    """Return the run in `path`. Raises UsageError where there is none."""
    problems = Problems()
    run = read_run(path, problems)
    results, manifest = measure_all(run, problems), run.manifest
    runs = {
        (measured.trial.condition.name, measured.trial.seed): [flow.row for flow in measured.flows]
        for measured in results.measured
    }
    settings = {
        "experiment": run.experiment,
        **run.spec.parameters,
        "seeds": in_a_row(sorted(run.seeds)),
        "testbed": manifest.testbed,
        "kernel": manifest.kernel.release,
        "tcplab": manifest.tcplab,
    }
    warning = f"{letter} is marked {run.manifest.status}: its figures are not evidence."
    warnings = () if run.is_complete else (warning,)
    name = f"{run.experiment}/{manifest.id or path.name}"
    found = tuple(problems.found)
    return ComparedSide(letter, name, settings, _values(runs), results, found, warnings)


def side_of_points(
    letter: str,
    key: str,
    settings: dict[str, str],
    rows: Sequence[tuple[int, Sequence[dict[str, Any]]]],
) -> ComparedSide:
    """Points of a sweep that differ in their seed only: the seed and the rows of each."""
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for seed, of_seed in rows:
        for row in of_seed:
            runs.setdefault((str(row.get("condition", "")), seed), []).append(row)
    shown = settings | {"seeds": in_a_row(sorted(seed for seed, _ in rows))}
    return ComparedSide(letter, f"point {key}", shown, _values(runs))


def _values(runs: Mapping[tuple[str, int], list[dict[str, Any]]]) -> Values:
    """Return the mean over the flows of a run, because flows of one run depend on each other."""
    found: Values = {}
    for (condition, seed), rows in runs.items():
        for name, metric in columns().items():
            cells = (row.get(name) for row in standing(rows, metric.transport))
            if values := [float(cell) for cell in cells if isinstance(cell, int | float)]:
                found.setdefault((condition, name), {})[seed] = fmean(values)
    return found


_MBIT = 1000.0


@dataclass(frozen=True)
class ComparedResult:
    """A quantity of one condition: each side's values, and its difference from the first."""

    condition: str
    metric: Metric
    unit: str
    values: tuple[tuple[float, ...], ...]
    against: tuple[Paired | None, ...]

    @property
    def cells(self) -> list[str]:
        """The median of each side, and its interval if there are enough seeds."""
        return [_cell(values) for values in self.values]

    @property
    def differences(self) -> list[str]:
        return [_difference(pair, self.unit) for pair in self.against]

    @property
    def is_shown(self) -> bool:
        return any(pair and pair.shows_difference for pair in self.against)

    @property
    def apart(self) -> float:
        """The largest distance from the first side: a logarithm, or a share of the values."""
        most = max([1e-9, *(abs(max(values)) for values in self.values if values)])
        return max((_apart(pair, most) for pair in self.against if pair), default=0.0)

    @property
    def data(self) -> dict[str, Any]:
        """For programs (docs/reference/run-directory.md)."""
        return {
            "condition": self.condition,
            "metric": self.metric.name,
            "unit": self.unit,
            "medians": [median(values) if values else None for values in self.values],
            "intervals": [
                [around.low, around.high] if (around := median_interval(values)) else None
                for values in self.values
            ],
            "against_first": [pair and _data(pair) for pair in self.against],
        }


def _apart(pair: Paired, most: float) -> float:
    if pair.scale == "ratio":
        return abs(log(pair.estimate)) if 0 < pair.estimate < inf else inf
    return abs(pair.estimate) / most


def _data(pair: Paired) -> dict[str, Any]:
    names = ("scale", "estimate", "low", "high")
    return {name: getattr(pair, name) for name in names} | {"seeds": pair.count, "p": pair.p}


_SEEN, _FEWEST_ROWS = 0.05, 8  # difference from which on a row is not folded, and rows that are not


@dataclass(frozen=True)
class SideComparison:
    """All of it: settings that differ, those that do not, and results."""

    sides: tuple[ComparedSide, ...]
    differing: dict[str, tuple[str, ...]]
    alike: dict[str, str]
    results: tuple[ComparedResult, ...]

    @property
    def sentence(self) -> str:
        known = [pair for result in self.results for pair in result.against if pair]
        conditions = len({result.condition for result in self.results})
        needed = max(FEWEST, fewest_seeds(conditions * (len(self.sides) - 1)))
        most = max((pair.count for pair in known), default=0)
        if not most:
            return "Not shown: the sides have no seed of a condition in common."
        if most < needed:
            return (
                f"Not shown: the sides share {most:,} seeds, and a difference takes {needed}."
                " The figures say what happened in these runs."
            )
        shown = sum(result.is_shown for result in self.results)
        return (
            f"Shown to differ: {shown} of {len(self.results)} quantities. Each is tested for"
            " itself, so about one in twenty would by chance."
        )

    @property
    def ordered(self) -> list[ComparedResult]:
        """The results by the size of their difference, those that are shown to differ first."""
        return sorted(self.results, key=lambda one: (not one.is_shown, -one.apart))

    @property
    def leading(self) -> int:
        seen = [one.is_shown or one.apart > _SEEN for one in self.ordered]
        return max(_FEWEST_ROWS, sum(seen))

    @property
    def data(self) -> dict[str, Any]:
        """For programs (docs/reference/run-directory.md)."""
        return {
            "sides": [
                {"letter": side.letter, "name": side.name, "settings": side.settings}
                for side in self.sides
            ],
            "differing": {name: list(values) for name, values in self.differing.items()},
            "sentence": self.sentence,
            "comparisons": [result.data for result in self.results],
        }


def compared(sides: Sequence[ComparedSide]) -> SideComparison:
    names = list(dict.fromkeys(name for side in sides for name in side.settings))
    settings = {name: tuple(side.settings.get(name, NOTHING) for side in sides) for name in names}
    differing = {name: values for name, values in settings.items() if len(set(values)) > 1}
    alike = {name: values[0] for name, values in settings.items() if len(set(values)) == 1}
    return SideComparison(tuple(sides), differing, alike, _results(sides))


def _results(sides: Sequence[ComparedSide]) -> tuple[ComparedResult, ...]:
    """Return the results by condition; p is corrected over the tests of one metric."""
    runs = [side.results.run for side in sides if side.results]
    labels = {condition.name: condition.label for run in runs for condition in run.conditions}
    conditions = dict.fromkeys(condition for side in sides for condition, _ in side.values)
    found: dict[tuple[str, str], ComparedResult] = {}
    for name, metric in columns().items():
        values = {
            condition: [side.values.get((condition, name), {}) for side in sides]
            for condition in conditions
        }
        against = {
            condition: [_paired(of[0], other) for other in of[1:]]
            for condition, of in values.items()
            if any(of)
        }
        corrected = iter(holm([pair.p for pairs in against.values() for pair in pairs if pair]))
        for condition, pairs in against.items():
            judged = tuple(pair and replace(pair, p=next(corrected)) for pair in pairs)
            label = labels.get(condition, condition)
            found[condition, name] = _result(label, metric, values[condition], judged)
    places = product(conditions, columns())
    return tuple(found[place] for place in places if place in found)


def _paired(first: dict[int, float], second: dict[int, float]) -> Paired | None:
    seeds = sorted(first.keys() & second.keys())
    return paired([first[seed] for seed in seeds], [second[seed] for seed in seeds])


def _result(
    condition: str,
    metric: Metric,
    by_seed: Sequence[dict[int, float]],
    against: tuple[Paired | None, ...],
) -> ComparedResult:
    """Return the result, with rates of more than ten Mbit/s in Mbit/s."""
    values, unit = [tuple(of.values()) for of in by_seed], metric.unit
    most = max((value for of in values for value in of), default=0.0)
    if unit == "kbit/s" and most >= 10 * _MBIT:
        unit, values = "Mbit/s", [tuple(value / _MBIT for value in of) for of in values]
    return ComparedResult(condition, metric, unit, tuple(values), against)


def _cell(values: Sequence[float]) -> str:
    if not values:
        return NOTHING
    around = median_interval(values)
    if around is None:
        return written(median(values))
    return f"{written(around.median)} ({written(around.low)} to {written(around.high)})"


def _difference(pair: Paired | None, unit: str) -> str:
    if pair is None:
        return NOTHING
    what = " times" if pair.scale == "ratio" else f" {unit}".rstrip()
    if pair.low is None or pair.high is None:
        return f"{written(pair.estimate)}{what}" + (f", {COPIES}" if pair.copies else "")
    verdict = "differs" if pair.shows_difference else "not shown to differ"
    if pair.low == pair.high:
        return f"{written(pair.estimate)}{what}, {verdict}"
    places = decimals(pair.low, pair.high, pair.neutral if pair.scale == "ratio" else None)
    interval = f"({fixed(pair.low, places)} to {fixed(pair.high, places)})"
    return f"{fixed(pair.estimate, places)}{what} {interval}, {verdict}"


MOST_COURSES = 8  # curves that one graph can hold and a reader tell apart
_SHORT = ("goodput_kbit_s", "retransmitted_segments", "rtt_median_ms", "timeouts", "queue_drops")
"""Metrics of the terminal; the page has all."""


def write_page(comparison: SideComparison, folder: Path, name: str) -> Path:
    """Return the page in `folder`. Raises TcplabError with a remedy where the folder takes none."""
    groups = _groups(comparison)
    context = {
        "comparison": comparison,
        "letters": [side.letter for side in comparison.sides],
        "groups": groups,
        **board(groups),
        "problems": [
            sentence
            for side in comparison.sides
            for sentence in (*side.warnings, *(f"{side.letter}: {each}" for each in side.problems))
        ],
    }
    text = rendering.render("comparison.html", context)
    rendering.write(folder, [(name, text.encode())], "report RUN_DIR")
    return folder / name


def _groups(comparison: SideComparison) -> list[GraphGroup]:
    """Return all runs on one axis: of each its first seed."""
    courses = [
        DrawnCourse.of(trial, f"{side.letter}: ")
        for side in comparison.sides
        if side.results
        for trial in side.results.first
    ]
    rates = {side.results.link_rate for side in comparison.sides if side.results}
    link = rates.pop() if len(rates) == 1 else None
    drawn = [course for course in courses if course.sent or course.samples]
    return over_time(drawn[:MOST_COURSES], link)


def print_comparison(comparison: SideComparison, console: Console) -> None:
    for side in comparison.sides:
        console.print(f"{side.letter}: {side.name}", highlight=False, soft_wrap=True)
    console.print(comparison.sentence, highlight=False)
    letters = [side.letter for side in comparison.sides]
    if comparison.differing:
        settings = Table("Settings that differ", *letters)
        for name, values in comparison.differing.items():
            settings.add_row(name, *values)
        console.print(settings)
    table = Table("Result", *letters, *(f"{letter} against {letters[0]}" for letter in letters[1:]))
    several = len({result.condition for result in comparison.results}) > 1
    for result in comparison.results:
        if result.metric.name in _SHORT:
            where = f"{result.condition}: " * several
            name = where + with_unit(result.metric.title, result.unit)
            table.add_row(name, *result.cells, *result.differences)
    console.print(table)


def write_index(store: Path) -> Path:
    """Write index.html into the store. Raises TcplabError with a remedy if it cannot be written."""
    text = rendering.render("index.html", {"store": store, "runs": index(store)})
    rendering.write(store, [("index.html", text.encode())], "report RUN_DIR")
    return store / "index.html"
