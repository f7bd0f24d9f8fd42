"""Answers of a report: questions, sentences and facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from analysis.measures.results import NOTHING, Measured, RunResults, spread, written
from analysis.records.spec_file import RunCondition
from analysis.reporting.claims import enough, oriented, repeat_command
from analysis.reporting.tables import (
    DROPPED_AT_RANDOM,
    DROPPED_FULL,
    DROPPED_IN_HOSTS,
    DROPPED_MANAGED,
    ReportQuantity,
)
from analysis.statistics.paired_tests import FEWEST, Paired, paired
from analysis.statistics.wording import estimate, family, interval


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
    """Return the figures of each measured quantity, and how one condition differs from another.

    The quantities are one family of comparisons, for which each p is corrected.
    """
    measured = [quantity for quantity in quantities if _cells(results, quantity)]
    conditions = in_comparison(results)
    pairs = [
        _against(results, quantity, conditions) if conditions else None for quantity in measured
    ]
    return tuple(
        Fact(quantity.title, _cells(results, quantity), change, quantity.source)
        for quantity, change in zip(measured, _changes(measured, pairs), strict=True)
    )


def _cells(results: RunResults, quantity: ReportQuantity) -> tuple[str, ...]:
    """Return a cell for each condition; none at all if the quantity has no value."""
    values = [quantity.of(results, condition) for condition in results.run.conditions]
    return tuple(map(spread, values)) if any(values) else ()


def in_comparison(results: RunResults) -> tuple[RunCondition, RunCondition] | None:
    """Return the two conditions that facts compare, the second with the first; None of one."""
    conditions = results.run.conditions
    return oriented(results, *conditions[:2]) if len(conditions) > 1 else None


def _changes(quantities: list[ReportQuantity], pairs: list[Paired | None]) -> list[str]:
    """Such as "1.3 times (95 % interval 1.1 to 1.5; larger)"; with too few seeds less."""
    return [
        NOTHING if pair is None else f"{estimate(pair, quantity.unit)}{_certainty(pair, verdict)}"
        for quantity, pair, verdict in zip(quantities, pairs, family(pairs), strict=True)
    ]


def _certainty(pair: Paired, verdict: str | None) -> str:
    words = "; ".join(filter(None, (interval(pair), verdict)))
    return f" ({words})" if words else ""


PERIOD = "_period"
"""Ends the name of a condition in the settings of the study's time (definition/profiles.py)."""
_SIDE_BY_SIDE = 2
"""Conditions that one picture shows large enough."""


def middle(results: RunResults, quantity: ReportQuantity, condition: RunCondition) -> float | None:
    """Return the median over the repetitions, or None without a value."""
    values = quantity.of(results, condition)
    return median(values) if values else None


def figure(value: float | None, unit: str = "") -> str:
    """Return a figure with its unit, or a dash."""
    return NOTHING if value is None else f"{written(value)} {unit}".strip()


def called(results: RunResults, condition: RunCondition) -> str:
    """Return the condition inside a sentence: its label, or of one condition only its time."""
    times = in_the_same_time(results)
    if max(map(len, times)) > 1 or len(times) == 1:
        return condition.label
    return (
        condition.label.removeprefix(f"{times[0][0].label}, ")
        if condition.name.endswith(PERIOD)
        else "today"
    )


def each(
    results: RunResults, quantity: ReportQuantity, conditions: Sequence[RunCondition] | None = None
) -> str:
    """`94.2 Mbit/s (cubic) and 93.9 Mbit/s (reno)`: medians of the conditions that have a value.

    No names where the run has one condition, or where all figures are the same.
    """
    every = results.run.conditions
    medians = [
        (middle(results, quantity, condition), condition)
        for condition in (every if conditions is None else conditions)
    ]
    figures = [
        (figure(value, quantity.unit), called(results, condition))
        for value, condition in medians
        if value is not None
    ]
    alike = len(figures) == len(every) and len({text for text, _ in figures}) == 1
    if len(every) == 1 or alike:
        return figures[0][0] if figures else ""
    return listed([f"{text} ({name})" for text, name in figures])


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


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
    """Return a sentence for each condition on the ratio to the first one of its time.

    `what` is the quantity inside a sentence, such as "rate". The sentences are one family of
    comparisons. There is none for a value that is missing or zero.
    """
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
    return paired([row[0] for row in rows], [row[1] for row in rows])


def _stated(pair: Paired, verdict: str | None) -> str:
    if pair.count < FEWEST:
        times = "one repetition" if pair.count == 1 else f"{pair.count} repetitions"
        return f" in {times}, too few to rule out chance"
    return f" ({interval(pair)}, {pair.count} repetitions)" + (f": {verdict}" if verdict else "")


def more_repetitions(results: RunResults) -> list[str]:
    """Return the command for enough repetitions, if there are fewer."""
    advised = enough(results.run)
    if len(results.run.seeds) >= advised:
        return []
    return [f"For a verdict, run more repetitions: {repeat_command(results.run, advised)}"]


def parameter(results: RunResults, name: str) -> str:
    """Return a parameter as it was written, `unknown` where the run does not say."""
    return results.run.parameters.get(name) or "unknown"


_HOW = (
    (DROPPED_AT_RANDOM, "lost at random"),
    (DROPPED_FULL, "dropped by a full queue"),
    (DROPPED_MANAGED, "dropped by a queue before it was full"),
    (DROPPED_IN_HOSTS, "dropped in hosts"),
)


def causes(results: RunResults) -> list[str]:
    """Return a sentence for each condition whose drops were counted."""
    sentences = (_of(results, condition) for condition in results.run.conditions)
    return [sentence for sentence in sentences if sentence]


def _of(results: RunResults, condition: RunCondition) -> str:
    """Return a sentence such as "cubic: 26 packets were lost at random"."""
    counted = [(middle(results, quantity, condition), how) for quantity, how in _HOW]
    if all(count is None for count, _ in counted):
        return ""
    counts = [(count, how) for count, how in counted if count]
    if not counts:
        return f"{condition.label}: no packet was lost or dropped."
    number = "packet was" if counts[0][0] == 1 else "packets were"
    parts = [f"{written(count)} {how}" for count, how in counts]
    return f"{condition.label}: {listed(parts).replace(' ', f' {number} ', 1)}."
