"""Answers of a report: the verdict on the claim, questions with sentences, and facts."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from statistics import median

from msgspec.structs import replace

from analysis.fmt import NOTHING, listed, spread, written
from analysis.measures.expressions import parse
from analysis.measures.metrics import Metric, UnknownMetric, is_metric, metric
from analysis.measures.results import Measured, RunResults
from analysis.records.json_reader import printable
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import HeadlineEntry, RunCondition, SubjectEntry
from analysis.reporting.tables import Q, ReportQuantity
from analysis.statistics import claims
from analysis.statistics.paired_tests import FEWEST, Paired, estimate, family, interval, paired
from topologies.errors import UsageError
from topologies.units import Share


def repeat_command(run: RunRecord, repeat: int | None = None) -> str:
    """Return the shell command for the same parameters, `repeat` times or as often as in `run`."""
    # The folders of studies that this process was started with.
    folders = os.environ.get("TCPLAB_STUDIES", "").split(os.pathsep)
    words = ["./tcplab", *(word for each in folders if each for word in ("--studies", each))]
    words += ["run", run.experiment]
    for name, value in run.spec.parameters.items():
        words += [f"--{name.replace('_', '-')}", value] if value else []
    for setting in run.spec.settings:
        words += ["--set", setting]
    words += ["--seed", str(run.seeds[0])] if run.seeds else []
    count = len(run.seeds) if repeat is None else repeat
    return shlex.join([*words, "--repeat", str(max(1, count))])


def claim_of_run(results: RunResults) -> claims.ClaimVerdict | None:
    """Return the verdict, NOT_SHOWN for a claim that cannot be judged; None without a claim."""
    headline = results.run.spec.headline
    if headline is None:
        return None
    try:
        if when := parse(headline.metric).when:  # the window of the metric
            headline = replace(headline, what=f"{headline.what} {when}")
        return _judged(results, headline, _metric(headline, headline.subject))
    except (UnknownMetric, UsageError) as error:
        question, problem = headline.question, printable(error)
        return claims.ClaimVerdict(question, question, claims.ClaimWord.NOT_SHOWN, problem)


def _metric(headline: HeadlineEntry, subject: SubjectEntry) -> Metric:
    """Return the metric of a subject. Raises UnknownMetric, UsageError."""
    if is_metric(headline.metric):
        return metric(headline.metric)
    return parse(headline.metric).of_flow(subject.flow).metric


def _judged(results: RunResults, headline: HeadlineEntry, key: Metric) -> claims.ClaimVerdict:
    """Return the verdict by the claim's direction. Raises UsageError if that is none."""
    subject, against, direction = headline.subject, headline.against, headline.direction
    question, what, first = headline.question, headline.what, samples_of_claim(results, headline)
    if direction == "within":
        expected = headline.expected if headline.expected > 0 else 1.0
        claimed = claims.ClaimedRange(headline.low, headline.high, headline.expectation, key.unit)
        trajectories = results.trajectories({subject.condition})
        shares = [value / expected for value in first]
        return claims.judge_within(question, what, shares, claimed, trajectories)
    if against is None or direction not in ("larger", "smaller", "equal"):
        raise UsageError("The claim of spec.json has no comparison.", "Run the experiment again.")
    names = _name(results, subject, against), _name(results, against, subject)
    values = first, samples_of_claim(results, headline, against)
    trajectories = results.trajectories({subject.condition, against.condition})
    compared = claims.ComparedSamples(what, key.unit, names, values, trajectories)
    if direction == "equal":
        return claims.judge_equal(question, compared, Share.parse(headline.margin).fraction)
    return claims.judge_direction(
        question, compared, "larger" if direction == "larger" else "smaller"
    )


def oriented(
    results: RunResults, first: RunCondition, second: RunCondition
) -> tuple[RunCondition, RunCondition]:
    """Return two conditions as all comparisons have them: the claim's subject second."""
    headline = results.run.spec.headline
    is_subject = headline and headline.against and headline.subject.condition == first.name
    return (second, first) if is_subject else (first, second)


def enough(run: RunRecord) -> int:
    """Return the repetitions that the reader is advised to make."""
    headline = run.spec.headline
    return max(FEWEST, headline.repetitions if headline else FEWEST)


def _name(results: RunResults, subject: SubjectEntry, other: SubjectEntry) -> str:
    """Name the side of a value: only what distinguishes it from the `other`."""
    labels = {condition.name: condition.label for condition in results.run.conditions}
    label = labels.get(subject.condition, subject.condition)
    if not subject.flow:
        return f"with {label}"
    of_flow = f"of the flow {subject.flow}"
    return of_flow if subject.condition == other.condition else f"{of_flow} with {label}"


def samples_of_claim(
    results: RunResults, headline: HeadlineEntry, subject: SubjectEntry | None = None
) -> list[float]:
    """Return the claim's metric of a side for each seed, NaN for a seed without one."""
    of = subject or headline.subject
    key = _metric(headline, of)
    trials = {
        measured.trial.seed: measured
        for measured in results.measured
        if measured.trial.condition.name == of.condition
    }
    return [_value(trials.get(seed), key, of.flow) for seed in results.run.seeds]


def _value(measured: Measured | None, key: Metric, flow: str) -> float:
    if measured is None:
        return nan
    values: list[object] = [measured.value(key)]
    if flow and key.column:
        column = key.name.removeprefix("metric.")
        values = [each.row.get(column) for each in measured.flows if each.flow.name == flow]
    return next((float(value) for value in values if isinstance(value, int | float)), nan)


@dataclass(frozen=True)
class Fact:
    """One figure: a cell per condition, how two of them differ, and the source."""

    what: str
    cells: tuple[str, ...]
    change: str
    source: str


@dataclass(frozen=True)
class Answer:
    """One question of the assignment with its answer (paragraphs of plain text)."""

    question: str
    paragraphs: tuple[str, ...]
    facts: tuple[Fact, ...] = ()


def facts(results: RunResults, *quantities: ReportQuantity) -> tuple[Fact, ...]:
    """Return each measured quantity, and the difference of two conditions: one family of tests."""
    measured = [quantity for quantity in quantities if _cells(results, quantity)]
    conditions, run = in_comparison(results), results.run
    pairs = [conditions and _against(results, quantity, conditions) for quantity in measured]
    return tuple(
        Fact(
            quantity.scoped(run).title,
            _cells(results, quantity),
            _change(pair, verdict, quantity.unit),
            quantity.source,
        )
        for quantity, pair, verdict in zip(measured, pairs, family(pairs), strict=True)
    )


def _change(pair: Paired | None, verdict: str | None, unit: str) -> str:
    """Such as "1.3 times (95 % interval 1.1 to 1.5; larger)"; with too few seeds less."""
    if pair is None:
        return NOTHING
    words = "; ".join(filter(None, (interval(pair), verdict)))
    return estimate(pair, unit) + (f" ({words})" if words else "")


def _cells(results: RunResults, quantity: ReportQuantity) -> tuple[str, ...]:
    values = [quantity.of(results, condition) for condition in results.run.conditions]
    return tuple(map(spread, values)) if any(values) else ()


def in_comparison(results: RunResults) -> tuple[RunCondition, RunCondition] | None:
    """Return the two conditions that facts compare, the second with the first; None of one."""
    conditions = results.run.conditions
    return oriented(results, *conditions[:2]) if len(conditions) > 1 else None


PERIOD = "_period"
"""Ends the name of a condition in the settings of the study's time (definition/profiles.py)."""
_SIDE_BY_SIDE = 2  # conditions that one picture shows large enough


def middle(results: RunResults, quantity: ReportQuantity, condition: RunCondition) -> float | None:
    values = quantity.of(results, condition)
    return median(values) if values else None


def figure(value: float | None, unit: str = "") -> str:
    return NOTHING if value is None else f"{written(value)} {unit}".strip()


def called(results: RunResults, condition: RunCondition) -> str:
    """Return the condition inside a sentence: its label, or of one condition only its time."""
    times, label = in_the_same_time(results), condition.label
    if max(map(len, times)) > 1 or len(times) == 1:
        return label
    is_period = condition.name.endswith(PERIOD)
    return label.removeprefix(f"{times[0][0].label}, ") if is_period else "today"


def each(
    results: RunResults, quantity: ReportQuantity, conditions: Sequence[RunCondition] | None = None
) -> str:
    """Return the conditions' medians: `94.2 Mbit/s (cubic) and 93.9 Mbit/s (reno)`."""
    every = results.run.conditions
    figures = [
        (figure(value, quantity.unit), called(results, condition))
        for condition in (every if conditions is None else conditions)
        if (value := middle(results, quantity, condition)) is not None
    ]
    alike = len(figures) == len(every) and len({text for text, _ in figures}) == 1
    if len(every) == 1 or alike:
        return figures[0][0] if figures else ""
    return listed([f"{text} ({name})" for text, name in figures])


def in_the_same_time(results: RunResults) -> list[list[RunCondition]]:
    """Return the conditions that may be compared: today's, and those of the study's time."""
    conditions = results.run.conditions
    period = [condition for condition in conditions if condition.name.endswith(PERIOD)]
    today = [condition for condition in conditions if condition not in period]
    return [group for group in (today, period) if group]


def side_by_side(results: RunResults) -> list[list[Measured]]:
    """Return the first seed's trials in groups that fit into one picture: all, or by their time."""
    groups = in_the_same_time(results)
    if len(results.run.conditions) <= _SIDE_BY_SIDE:
        groups = [list(results.run.conditions)]
    return [
        [trial for trial in results.first if trial.trial.condition in group] for group in groups
    ]


def ratios(results: RunResults, quantity: ReportQuantity, what: str) -> list[str]:
    """Return a sentence for each condition's ratio of `what` ("rate") to the first of its time."""
    compared = [
        (*pair, _against(results, quantity, pair))
        for first, *others in in_the_same_time(results)
        for pair in (oriented(results, first, other) for other in others)
    ]
    verdicts = family([pair for _, _, pair in compared])
    return [
        f"{second.label} has {estimate(pair, quantity.unit)} the {what} of {first.label}"
        f"{_stated(pair, verdict)}."
        for (first, second, pair), verdict in zip(compared, verdicts, strict=True)
        if pair is not None and pair.scale == "ratio"
    ]


def _against(
    results: RunResults, quantity: ReportQuantity, conditions: tuple[RunCondition, RunCondition]
) -> Paired | None:
    rows = quantity.pairs(results, conditions)
    trajectories = results.trajectories({condition.name for condition in conditions})
    return paired([row[0] for row in rows], [row[1] for row in rows], trajectories)


def _stated(pair: Paired, verdict: str | None) -> str:
    if pair.count < FEWEST:
        times = "one repetition" if pair.count == 1 else f"{pair.count} repetitions"
        return f" in {times}, too few to rule out chance"
    return f" ({interval(pair)}, {pair.count} repetitions)" + (f": {verdict}" if verdict else "")


def more_repetitions(results: RunResults) -> list[str]:
    advised = enough(results.run)
    if len(results.run.seeds) >= advised:
        return []
    return [f"For a verdict, run more repetitions: {repeat_command(results.run, advised)}"]


def parameter(results: RunResults, name: str) -> str:
    """Return a parameter as it was written, `unknown` where the run does not say."""
    return results.run.spec.parameters.get(name) or "unknown"


_HOW = (
    ("DROPPED_AT_RANDOM", "lost at random"),
    ("DROPPED_FULL", "dropped by a full queue"),
    ("DROPPED_MANAGED", "dropped by a queue before it was full"),
    ("DROPPED_IN_HOSTS", "dropped in hosts"),
)


def causes(results: RunResults) -> list[str]:
    """Return sentences on counted drops, such as "cubic: 26 packets were lost at random"."""
    sentences = []
    for condition in results.run.conditions:
        counted = [(middle(results, Q[name], condition), how) for name, how in _HOW]
        parts = [(f"{written(count)} {how}", count) for count, how in counted if count]
        if parts:
            number = "packet was" if parts[0][1] == 1 else "packets were"
            words = listed([text for text, _ in parts]).replace(" ", f" {number} ", 1)
            sentences.append(f"{condition.label}: {words}.")
        elif any(count is not None for count, _ in counted):
            sentences.append(f"{condition.label}: no packet was lost or dropped.")
    return sentences
