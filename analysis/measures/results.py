"""The values of a trial, of a run and of a sweep's rows, as the table of metrics computes them."""

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from analysis.measures import captures
from analysis.measures.captures import End
from analysis.measures.expressions import Expression, Term, parse
from analysis.measures.flow_readings import FlowCourse, Values, note_unread
from analysis.measures.metrics import Metric, Row, columns, counter, is_metric, measures, metric
from analysis.measures.readings import TrialReadings, term_value
from analysis.records import output
from analysis.records.json_reader import Problems
from analysis.records.output import SocketSample
from analysis.records.run_directory import RunRecord, Trial, run_of
from analysis.records.spec_file import RunCondition, RunFlow
from analysis.table import ColumnTable
from topologies import untrusted
from topologies.errors import TcplabError, UsageError
from topologies.units import Rate

Among = Literal["", "least", "most"]  # which of several flows is meant, by its value; "" for all


@dataclass(frozen=True)
class FlowMeasures:
    """A flow: its `row` of a sweep's table, lines of `iperf -i`, and samples if they are drawn."""

    flow: RunFlow
    row: Row
    intervals: tuple[output.IperfInterval, ...]
    samples: tuple[SocketSample, ...]
    course: FlowCourse = field(default_factory=FlowCourse)
    taken: tuple[float, ...] = ()
    """Milliseconds of each exchange of an application that was due, infinite if it did not end."""
    begun: tuple[float, ...] = ()
    """Seconds since 1970 when each of these began, infinite if it did not; only if drawn."""
    at_least: Values = field(default_factory=dict)
    """Bounds of the percentiles of these, in ms, for those that are infinite."""
    has_died: bool = False  # The connection failed before all was sent

    @property
    def goodput(self) -> float | None:
        return self.number("goodput_kbit_s")

    def number(self, column: str) -> float | None:
        value = self.row[column]
        return None if value is None else float(value)


@dataclass(frozen=True)
class Measured:
    """A trial with its `values`; a metric that could not be measured has none.

    `terms` are those of the expressions that were asked for, under this trial's condition; `queues`
    percentiles of the waiting times at each port, in ms. Only if the trial is drawn it has packets:
    those that came `late` (captures.late), and the captures at the `ends`, the sender's first.
    """

    trial: Trial
    values: dict[Metric, float]
    flows: tuple[FlowMeasures, ...]
    terms: Mapping[Term, float | None] = field(default_factory=dict)
    queues: Mapping[str, Values] = field(default_factory=dict)
    late: ColumnTable | None = None
    ends: tuple[End, ...] = ()

    def value(self, key: Metric) -> float | None:
        """Return the value, or None if there is none. Raises TypeError for a text."""
        if not isinstance(key, Metric):
            raise TypeError(f"{key!r} is no Metric: analysis.measures.metrics.metric finds it.")
        return self.values.get(key)

    @property
    def by_name(self) -> dict[str, float]:
        return {each.key: value for each, value in self.values.items()}

    @property
    def samples(self) -> tuple[SocketSample, ...]:
        return self.flows[0].samples if self.flows else ()


@dataclass(frozen=True)
class RunResults:
    """A run with its measured trials, in the order of seeds and conditions."""

    run: RunRecord
    measured: tuple[Measured, ...]

    def values(self, key: Metric, condition: RunCondition) -> list[float]:
        """Return the values under `condition`, one for each seed that has one."""
        trials = [each for each in self.measured if each.trial.condition == condition]
        return [value for each in trials if (value := each.value(key)) is not None]

    def pairs(self, key: Metric, conditions: Sequence[RunCondition]) -> list[tuple[float, ...]]:
        """Return the values under all `conditions` for each seed that has every one of them."""
        values = {
            (each.trial.seed, each.trial.condition): value
            for each in self.measured
            if (value := each.value(key)) is not None
        }
        keys = ([(seed, condition) for condition in conditions] for seed in self.run.seeds)
        return [tuple(values[key] for key in row) for row in keys if values.keys() >= {*row}]

    def trajectories(self, conditions: Collection[str]) -> list[Hashable]:
        """Return all that was measured of each seed's flows, which copies have in common."""
        found: dict[int, list[Hashable]] = {}
        for trial in self.measured:
            if trial.trial.condition.name in conditions:
                rows = tuple(tuple(flow.row.items()) for flow in trial.flows)
                found.setdefault(trial.trial.seed, []).append(rows)
        return [tuple(each) for each in found.values()]

    @property
    def link_rate(self) -> float | None:
        """The rate of the run's link in kbit/s, or None if its parameters do not say."""
        try:
            return Rate.parse(self.run.spec.parameters.get("bw", "")).base / 1000
        except UsageError:
            return None

    @property
    def repeated(self) -> int:
        return len({trial.trial.seed for trial in self.measured})

    @property
    def first(self) -> list[Measured]:
        """The trials that the graphs show: those of the first seed that has any."""
        seed = self.measured[0].trial.seed if self.measured else None
        return [trial for trial in self.measured if trial.trial.seed == seed]


def measure_all(run: RunRecord, problems: Problems) -> RunResults:
    """Measure trials, a thread on each core (the engine holds no lock), large ones one by one."""
    drawn = run.trials[0].seed if run.trials else None
    apart = [Problems() for _ in run.trials]
    draws = [trial.seed == drawn for trial in run.trials]
    with ThreadPoolExecutor(_at_once(run)) as pool:
        measured = tuple(pool.map(partial(measure, run), run.trials, apart, draws))
    for own in apart:
        for sentence in own.found:
            problems.add(sentence)
    return RunResults(run, with_expressions(measured, _wanted(run)))


_CAPTURED = 64_000_000
"""Bytes of captures that are read at once; their analysis takes about eight times as many."""


def _at_once(run: RunRecord) -> int:
    captures = (trial.folder.glob("*.pcap") for trial in run.trials)
    largest = max((sum(file.stat().st_size for file in each) for each in captures), default=1)
    return max(1, min(os.cpu_count() or 1, len(run.trials), _CAPTURED // max(largest, 1)))


def _wanted(run: RunRecord) -> list[Expression]:
    headline, claimed = run.spec.headline, list[Expression]()
    if headline and not is_metric(headline.metric):
        subjects = [subject for subject in (headline.subject, headline.against) if subject]
        with suppress(TcplabError):  # the claim's sentence says so
            claimed = [parse(headline.metric).of_flow(subject.flow) for subject in subjects]
    return [*claimed, *expressions(run, Problems())]


def expressions(run: RunRecord, problems: Problems) -> list[Expression]:
    found = []
    for text in run.spec.metrics:
        try:
            found.append(parse(text))
        except TcplabError as error:
            problems.add(f"spec.json: {error.problem} It is left out.")
    return found


def with_expressions(
    trials: Iterable[Measured], expressions: Iterable[Expression]
) -> tuple[Measured, ...]:
    """Return the trials with the values of expressions, whose terms may be of other conditions."""
    listed, every = list(trials), list(expressions)
    terms = {
        (trial.trial.seed, trial.trial.condition.name, term): value
        for trial in listed
        for term, value in trial.terms.items()
    }

    def of(trial: Measured) -> dict[Metric, float]:
        def value(term: Term) -> float | None:
            name = term.condition or trial.trial.condition.name
            return terms.get((trial.trial.seed, name, term))

        found = ((each.metric, each.value(value)) for each in every)
        return {key: amount for key, amount in found if amount is not None}

    return tuple(replace(trial, values=trial.values | of(trial)) for trial in listed)


def measure(run: RunRecord, trial: Trial, problems: Problems, draw: bool) -> Measured:
    """Measure all metrics of `trial`; with `draw` keep what the graphs need too."""
    readings = TrialReadings(run, trial, problems)
    for side in ("server",) if run.flow.program else ("client", "server"):
        _note_printed(readings, side, problems)
    values = {each: value for each in measures() if (value := each.value(readings)) is not None}
    values |= {counter(name): value for name, value in readings.grown.items()}
    rows = readings.rows
    values |= {
        each: float(cell)
        for each in columns().values()
        if (each.of_run or len(rows) == 1) and (cell := rows[0][each.name]) is not None
    }
    flows = tuple(
        FlowMeasures(
            of.flow,
            row,
            of.intervals,
            tuple(of.samples) if draw else (),
            FlowCourse.of(of.samples),
            of.taken,
            tuple((readings.begin or 0.0) + time for time in of.begun) if draw else (),
            of.at_least,
            of.has_died,
        )
        for of, row in zip(readings.by_flow, rows, strict=True)
    )
    terms = terms_of(readings, _wanted(run))
    if not draw:
        return Measured(trial, values, flows, terms, readings.queues)
    late = None if readings.arrived is None else captures.late(readings.arrived)
    return Measured(trial, values, flows, terms, readings.queues, late, readings.ends)


def terms_of(readings: TrialReadings, every: Iterable[Expression]) -> dict[Term, float | None]:
    name = readings.trial.condition.name
    terms = dict.fromkeys(term for expression in every for term in expression.terms)
    return {term: term_value(readings, term) for term in terms if term.condition in ("", name)}


def _note_printed(readings: TrialReadings, side: str, problems: Problems) -> None:
    trial, name = readings.trial, f"{readings.run.flow.name}.{side}.txt"
    try:
        untrusted.content(trial.folder, name)
    except (OSError, untrusted.StrangeFile) as error:
        note_unread(f"{trial.name}/{name}", error, problems)
        return
    if not getattr(readings, side) and not readings.by_flow[0].is_cut:
        problems.add(f"{trial.name}/{name} holds no iperf summary: its throughput is left out.")


def measure_raw(raw: Path, spec: dict[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """Measure conditions with captures, of spec.json's content. Raises TcplabError."""
    run, problems = run_of(raw, spec), Problems()
    measured = [measure(run, trial, problems, draw=False) for trial in run.trials]
    packets = metric("receiver.both.total_packets")
    if any(trial.value(packets) is None for trial in measured):
        why = " ".join(problems.found)
        raise TcplabError(why, "Run the experiment alone and look at its report.")
    return {(trial.trial.condition.name, run.flow.name): trial.by_name for trial in measured}


def rows_of(readings: Sequence[TrialReadings], text: str = "") -> list[Row]:
    """Return a row for each condition and flow, with the expression `text`. Raises ValueError."""
    rows = [row for trial in readings for row in trial.rows]
    if not text:
        return rows
    expression = parse(text)
    trials = expression_values(readings, expression)
    values = {each.trial.condition.name: each.value(expression.metric) for each in trials}
    return [{**row, text: values[str(row["condition"])]} for row in rows]


def expression_values(
    readings: Sequence[TrialReadings], expression: Expression
) -> tuple[Measured, ...]:
    trials = [Measured(each.trial, {}, (), terms_of(each, [expression])) for each in readings]
    return with_expressions(trials, [expression])


def readings_of(run: RunRecord) -> list[TrialReadings]:
    return [TrialReadings(run, trial) for trial in run.trials]


_SHARED = {"goodput_kbit_s", "client_kbit_s", "transfer_kbyte"}
"""Columns whose values add up over the flows of a run."""
_EXTREMES: dict[str, Callable[[Sequence[float]], float]] = {"least": min, "most": max}


def value_of(rows: Iterable[Row], name: str, flow: str = "", among: str = "") -> float | None:
    """Return a run's value of one `flow`, of those whose names begin so (`tcp*`), or of all if "".

    `name` is that of a column, or of a measure if captures were read for the rows. Rates and
    amounts add up; for others the mean is taken. `among` takes the least or most instead. The value
    is None if a flow has none. Raises UnknownMetric.
    """
    if name not in columns():
        _ = metric(name) if is_metric(name) else parse(name)
    prefix = flow.removesuffix("*")
    values = [row.get(name) for row in rows if str(row["flow"]).startswith(prefix)]
    numbers = [float(value) for value in values if value is not None]
    if not numbers or len(numbers) < len(values):
        return None
    if among in _EXTREMES:
        return _EXTREMES[among](numbers)
    return sum(numbers) if name in _SHARED else fmean(numbers)
