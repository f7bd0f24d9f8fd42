"""Comparison of runs, or of points of a sweep, and the index of all runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    SIGNIFICANT,
    Paired,
    fewest_seeds,
    holm,
    median_interval,
    paired,
)

Values = dict[tuple[str, str], dict[int, float]]
"""By condition and metric: a value for each seed."""


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

    @property
    def labels(self) -> dict[str, str]:
        conditions = self.results.run.conditions if self.results else ()
        return {condition.name: condition.label for condition in conditions}


def side_of_run(letter: str, path: Path) -> ComparedSide:
    """Return the run in `path`. Raises UsageError where there is none."""
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
        "seeds": in_a_row(sorted(run.seeds)),
        "testbed": manifest.testbed,
        "kernel": manifest.kernel.release,
        "tcplab": manifest.tcplab,
    }
    warnings = (
        ()
        if run.is_complete
        else (f"{letter} is marked {run.status}: its figures are not evidence.",)
    )
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
    shown = settings | {"seeds": in_a_row(sorted(seed for seed, _ in rows))}
    return ComparedSide(letter, f"point {key}", shown, _values(every))


def _values(rows: Iterable[tuple[str, int, dict[str, Any]]]) -> Values:
    """Return the mean over the flows of a run, because flows of one run depend on each other."""
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for condition, seed, row in rows:
        runs.setdefault((condition, seed), []).append(row)
    found: Values = {}
    for (condition, seed), of_run in runs.items():
        for name, metric in columns().items():
            cells = (row.get(name) for row in standing(of_run, metric.transport))
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
        return any(pair and _differs(pair) for pair in self.against)

    @property
    def apart(self) -> float:
        """The largest distance from the first side: a logarithm, or a share of the values."""
        return max((self._apart(pair) for pair in self.against if pair), default=0.0)

    def _apart(self, pair: Paired) -> float:
        if pair.scale == "ratio":
            return abs(log(pair.estimate)) if 0 < pair.estimate < inf else inf
        return abs(pair.estimate) / max([1e-9, *(abs(max(v)) for v in self.values if v)])

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
            "against_first": [
                pair
                and {
                    "scale": pair.scale,
                    "estimate": pair.estimate,
                    "low": pair.low,
                    "high": pair.high,
                    "seeds": pair.count,
                    "p": pair.p,
                }
                for pair in self.against
            ],
        }


_SEEN, _FEWEST_ROWS = 0.05, 8
"""Difference from which on a row is not folded, and rows that are not."""


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
        shown, tested = sum(result.is_shown for result in self.results), len(self.results)
        return (
            f"Shown to differ: {shown} of {tested} quantities. Each is tested for itself, so about"
            " one in twenty would by chance."
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
    conditions = dict.fromkeys(condition for side in sides for condition, _ in side.values)
    against = {
        (condition, metric): [_paired(sides[0], side, condition, metric) for side in sides[1:]]
        for condition in conditions
        for metric in columns().values()
        if any((condition, metric.name) in side.values for side in sides)
    }
    for metric in dict.fromkeys(metric for _, metric in against):
        rows = [row for (_, of), row in against.items() if of == metric]
        tested = [pair.p for row in rows for pair in row if pair]
        corrected = iter(holm(tested) if tested else [])
        for row in rows:
            row[:] = [pair and replace(pair, p=next(corrected)) for pair in row]
    return tuple(_result(sides, *place, tuple(row)) for place, row in against.items())


def _paired(
    first: ComparedSide, second: ComparedSide, condition: str, metric: Metric
) -> Paired | None:
    one, other = (side.values.get((condition, metric.name), {}) for side in (first, second))
    seeds = sorted(one.keys() & other.keys())
    if not seeds:
        return None
    return paired([one[seed] for seed in seeds], [other[seed] for seed in seeds])


def _result(
    sides: Sequence[ComparedSide],
    condition: str,
    metric: Metric,
    against: tuple[Paired | None, ...],
) -> ComparedResult:
    """Return the result, with rates of more than ten Mbit/s in Mbit/s."""
    values = [tuple(side.values.get((condition, metric.name), {}).values()) for side in sides]
    most = max((value for of in values for value in of), default=0.0)
    unit = metric.unit
    if unit == "kbit/s" and most >= 10 * _MBIT:
        unit, values = "Mbit/s", [tuple(value / _MBIT for value in of) for of in values]
    labels = {name: label for side in sides for name, label in side.labels.items()}
    return ComparedResult(labels.get(condition, condition), metric, unit, tuple(values), against)


def _cell(values: Sequence[float]) -> str:
    if not values:
        return NOTHING
    around = median_interval(values)
    if around is None:
        return written(median(values))
    return f"{written(around.median)} ({written(around.low)} to {written(around.high)})"


def _differs(pair: Paired) -> bool:
    return pair.p < SIGNIFICANT and pair.clear_of_neutral


def _difference(pair: Paired | None, unit: str) -> str:
    if pair is None:
        return NOTHING
    what = " times" if pair.scale == "ratio" else f" {unit}".rstrip()
    if pair.low is None or pair.high is None:
        return f"{written(pair.estimate)}{what}" + (f", {COPIES}" if pair.copies else "")
    verdict = "differs" if _differs(pair) else "not shown to differ"
    if pair.low == pair.high:
        return f"{written(pair.estimate)}{what}, {verdict}"
    places = decimals(pair.low, pair.high, pair.neutral if pair.scale == "ratio" else None)
    interval = f"({fixed(pair.low, places)} to {fixed(pair.high, places)})"
    return f"{fixed(pair.estimate, places)}{what} {interval}, {verdict}"


MOST_COURSES = 8
"""Curves that one graph can hold and a reader tell apart."""
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
    settings = Table("Settings that differ", *letters)
    for name, values in comparison.differing.items():
        settings.add_row(name, *values)
    if comparison.differing:
        console.print(settings)
    table = Table("Result", *letters, *(f"{letter} against {letters[0]}" for letter in letters[1:]))
    several = len({result.condition for result in comparison.results}) > 1
    for result in comparison.results:
        if result.metric.name in _SHORT:
            where = f"{result.condition}: " if several else ""
            name = where + with_unit(result.metric.title, result.unit)
            table.add_row(name, *result.cells, *result.differences)
    console.print(table)


def write_index(store: Path) -> Path:
    """Write index.html into the store. Raises TcplabError with a remedy if it cannot be written."""
    text = rendering.render("index.html", {"store": store, "runs": index(store)})
    rendering.write(store, [("index.html", text.encode())], "report RUN_DIR")
    return store / "index.html"
