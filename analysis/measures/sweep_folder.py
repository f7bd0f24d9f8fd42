"""A sweep's folder: sweep.json as frozen records, rows.csv as a table, and rows of series.csv."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis.measures.expressions import parse
from analysis.measures.flow_readings import FlowCourse
from analysis.measures.metrics import Metric, columns
from analysis.records.json_reader import NO_LOG, LogPath, Problems, printable, read_main
from analysis.records.spec_file import HeadlineEntry, Provenance, RowEntry, RunCondition
from analysis.table import ColumnTable
from topologies import untrusted
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.measures.readings import TrialReadings


ROWS = "rows.csv"  # A row for each flow, condition, seed and combination
SERIES = "series.csv"
"""A row for each line and quantity of a run over equal times; `seconds` is their sum."""
SERIES_HEAD = ("condition", "flow", "quantity", "seconds")
GROUP = "group"  # the column of rows.csv with a flow's transport and direction
MOST_CELLS = 1_000_000
CONDITION = "condition"  # the name of the factor that the conditions of the experiment make


class FactorEntry(Struct, frozen=True):
    """A swept parameter; `kind` is `word` if its values have no amounts."""

    name: str = ""
    meaning: str = ""
    kind: str = ""
    values: tuple[str, ...] = ()
    column: str = ""


class FailureEntry(Struct, frozen=True):
    """A failed point with its `log` in the folder, and the command to `repeat` it."""

    factors: dict[str, str] = field(default_factory=dict)
    seed: str = "unknown"
    problem: str = "no reason was given"
    log: LogPath = NO_LOG
    repeat: str = ""

    @property
    def point(self) -> str:
        named = (f"{printable(name)} {value}" for name, value in self.factors.items())
        return ", ".join([*named, f"seed {self.seed}"])


class PublishedEntries(Struct, frozen=True):
    """The numbers that were published with the settings of the sweep's points."""

    note: str = ""
    rows: tuple[RowEntry, ...] = ()


class SweepFile(Provenance, frozen=True):
    """sweep.json. `points` counts those wanted, done, reused, failed and unproved."""

    experiment: str = "unnamed experiment"
    claim: str = ""
    command: str = ""
    metric: str = ""
    compare: str = ""
    until: float | None = None
    workers: str = ""
    factors: tuple[FactorEntry, ...] = ()
    conditions: tuple[RunCondition, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    failures: tuple[FailureEntry, ...] = ()
    points: dict[str, float] = field(default_factory=dict)
    published: PublishedEntries = PublishedEntries()
    headline: HeadlineEntry | None = None


@dataclass(frozen=True)
class SweptFactor:
    """A swept parameter; `codes` map what rows say to a value's place, `column` has amounts."""

    name: str
    short: str
    meaning: str
    values: tuple[str, ...]
    column: str
    codes: dict[str, int]

    @property
    def is_quantity(self) -> bool:
        return bool(self.column)


@dataclass(frozen=True)
class SweepRecord:
    """The content of sweep.json; `compare` is the place of the compared factor, or None."""

    path: Path
    facts: SweepFile
    factors: tuple[SweptFactor, ...]
    metric: Metric
    compare: int | None

    @property
    def experiment(self) -> str:
        return self.facts.experiment

    @property
    def parameters(self) -> dict[str, str]:
        return {printable(name): value for name, value in self.facts.parameters.items()}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each factor; their product is the number of cells."""
        return tuple(len(factor.values) for factor in self.factors)

    @property
    def metrics(self) -> dict[str, Metric]:
        return columns() | {self.metric.name: self.metric}

    def points(self, key: str) -> int:
        return int(self.facts.points.get(key, 0))

    def place(self, row: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the cell of a row of rows.csv or series.csv. Raises KeyError for another value."""
        return tuple(factor.codes[row[factor.name]] for factor in self.factors)

    def described(self, place: tuple[int, ...], axes: tuple[int, ...]) -> str:
        """Such as "delay 50ms, loss 1%", of the `axes` whose factors have several values."""
        named = (
            (factor, level)
            for axis, (factor, level) in enumerate(zip(self.factors, place, strict=True))
            if axis in axes and len(factor.values) > 1
        )
        return ", ".join(f"{factor.short} {factor.values[level]}" for factor, level in named)


def read_sweep(path: Path, problems: Problems, metric: str | None = None) -> SweepRecord:
    """Read the sweep in `path`, perhaps about another `metric`. Raises UsageError, TcplabError."""
    facts = read_main(SweepFile, path, "sweep.json", "./tcplab sweep")
    if metric and metric != facts.metric:
        if metric not in columns():
            raise UsageError(
                f"This sweep has no column '{metric[:60]}'.",
                f"Repeat it with another metric: {facts.command} --metric {shlex.quote(metric)}",
            )
        facts = replace(facts, metric=metric)
    factors = _factors(facts)
    of_factors = (name for each in factors for name in (each.name, each.column) if name)
    counts = Counter([*of_factors, "point", "flow", GROUP, "seed", "network", *columns()])
    if twice := [name for name, count in counts.items() if count > 1]:
        why = f"sweep.json has two columns named '{twice[0]}'."
        raise TcplabError(why, "Rename the parameter of the experiment.")
    if prod(len(factor.values) for factor in factors) > MOST_CELLS:
        why = f"The grid of the sweep has more than {MOST_CELLS:,} cells."
        raise TcplabError(why, "Sweep fewer values.")
    compared = _compared(facts, factors, problems)
    return SweepRecord(path, facts, factors, _metric(facts), compared)


def _metric(facts: SweepFile) -> Metric:
    if facts.metric in columns():
        return columns()[facts.metric]
    try:
        return parse(facts.metric).metric
    except TcplabError as error:
        raise TcplabError(
            f"sweep.json names the metric '{facts.metric}', which this tcplab does not know:"
            f" {error.problem}",
            "Update tcplab.",
        ) from error


def _factors(facts: SweepFile) -> tuple[SweptFactor, ...]:
    """The swept factors, and the conditions as one more if there are several."""
    entries = [entry for entry in facts.factors if entry.name and entry.values]
    last = [entry.name.rpartition(".")[2] for entry in entries]
    factors = list[SweptFactor]()
    for entry, short in zip(entries, last, strict=True):
        values = tuple(dict.fromkeys(entry.values))
        is_quantity = entry.column not in ("", entry.name) and entry.kind != "word"
        codes = {value: index for index, value in enumerate(values)}
        column, short = entry.column * is_quantity, short if last.count(short) == 1 else entry.name
        factors.append(SweptFactor(entry.name, short, entry.meaning, values, column, codes))
    names = [condition.name for condition in facts.conditions]
    if len(names) < 2:
        return tuple(factors)
    # The rows hold the conditions' names, and the reader wants their labels.
    labels = tuple(condition.label or condition.name for condition in facts.conditions)
    codes = dict(zip((*labels, *names), 2 * tuple(range(len(names))), strict=True))
    meaning = "What the experiment itself compares."
    return (*factors, SweptFactor(CONDITION, CONDITION, meaning, labels, "", codes))


def _compared(facts: SweepFile, factors: tuple[SweptFactor, ...], problems: Problems) -> int | None:
    names = [factor.name if len(factor.values) > 1 else "" for factor in factors]
    if facts.compare and facts.compare not in names:
        why = "has not several values in this sweep: no level is compared."
        problems.add(f"'{facts.compare}' {why}")
    return names.index(facts.compare) if facts.compare in names and facts.compare else None


def read_rows(sweep: SweepRecord) -> ColumnTable:
    """Read rows.csv, None for what is no number. Raises OSError, StrangeFile, ValueError."""
    numbers = {*(factor.column for factor in sweep.factors if factor.is_quantity), *sweep.metrics}
    content = untrusted.content(sweep.path, ROWS).decode()
    return ColumnTable.of_csv(content, {"seed": int, **dict.fromkeys(numbers, float)})


Numbers = NDArray[np.floating[Any]]
BINS = 80  # equal times of a series
MOST_LINES = 6  # flows beyond which those of one kind are a line together
SERIES_VERSION = 1  # version of the records that points keep
_DIGITS = 4


def kinds(names: Sequence[str]) -> dict[str, set[str]]:
    """Return the flows of each kind, which is a name without its number, such as "8 cubic"."""
    found: dict[str, set[str]] = {}
    for name in names:
        found.setdefault(name.rstrip("0123456789").rstrip("_-") or name, set()).add(name)
    return {f"{len(of)} {kind}": of for kind, of in found.items()}


def lines_of(names: Sequence[str]) -> dict[str, set[str]]:
    """Return the flows of each line: a line each, or of many flows a line for each kind."""
    return {name: {name} for name in names} if len(names) <= MOST_LINES else kinds(names)


def begin_of(courses: Sequence[FlowCourse]) -> float | None:
    """Return the time of the first sample; None without any."""
    return min((course.times[0] for course in courses if len(course)), default=None)


def _rate(course: FlowCourse, begin: float, edges: Numbers) -> Numbers:
    """Return newly delivered bytes, in kbit/s: an ACK that fills a gap delivers one segment."""
    if not len(course):
        return np.full(len(edges) - 1, np.nan)
    times, delivered = np.asarray(course.times) - begin, np.asarray(course.delivered)
    rates: Numbers = np.diff(np.interp(edges, times, delivered)) * 8 / 1000 / np.diff(edges)
    return rates


def _held(name: str) -> Callable[[FlowCourse, float, Numbers], Numbers]:
    """Return the last sample before the middle of each time, none outside the flow's life."""

    def of(course: FlowCourse, begin: float, edges: Numbers) -> Numbers:
        times, values = np.asarray(course.times) - begin, getattr(course, name)
        middles = (edges[1:] + edges[:-1]) / 2
        at = np.searchsorted(times, middles, side="right") - 1
        if not len(times):
            return np.full(len(middles), np.nan)
        outside = (at < 0) | (middles > times[-1])
        return np.where(outside, np.nan, np.asarray(values)[np.maximum(at, 0)])

    return of


_OF_FLOW = {"rate": _rate, "delay": _held("delays"), "window": _held("windows")}
IN_SERIES = tuple(_OF_FLOW)
"""Quantities of a series. Rates of flows that share a line add up, others have their mean."""


def binned(name: str, courses: Sequence[FlowCourse], begin: float, edges: Numbers) -> Numbers:
    """Return a quantity of flows together between the edges (s since `begin`), or NaN."""
    of_flows = np.array([_OF_FLOW[name](course, begin, edges) for course in courses])
    none = np.isnan(of_flows).all(axis=0)
    together = np.nansum(of_flows, axis=0) if name == "rate" else mean(of_flows, 0)
    return np.where(none, np.nan, together)


def mean(values: Numbers, axis: int) -> Numbers:
    counts = np.maximum((~np.isnan(values)).sum(axis=axis), 1)
    means: Numbers = np.nansum(values, axis=axis) / counts
    return means


def series_record(readings: Sequence[TrialReadings]) -> dict[str, Any]:
    """Return the series of a run of one seed: rows of a sweep's series.csv, a few kilobytes."""
    return {"version": SERIES_VERSION, "rows": [row for trial in readings for row in _rows(trial)]}


def _rows(trial: TrialReadings) -> Iterator[list[Any]]:
    """Yield condition, flow, quantity, seconds and values of each line of a trial."""
    courses = {each.flow.name: FlowCourse.of(each.samples) for each in trial.by_flow}
    begin = begin_of(list(courses.values()))
    if begin is None:
        return
    end = max(course.times[-1] for course in courses.values() if len(course)) - begin
    edges = np.linspace(0, end or 1.0, BINS + 1)
    for words, chosen in list(lines_of(list(courses)).items())[:MOST_LINES]:
        of_line = [courses[name] for name in courses if name in chosen]
        for name in IN_SERIES if any(map(len, of_line)) else ():
            values = binned(name, of_line, begin, edges).tolist()
            shown = [None if value != value else _short(value) for value in values]
            yield [trial.trial.condition.name, words, name, _short(edges[-1]), *shown]


def _short(value: float) -> float:
    """Return the value with a few digits, as a whole number if it is one."""
    shorter = float(f"{value:.{_DIGITS}g}")
    return int(shorter) if shorter == int(shorter) else shorter
