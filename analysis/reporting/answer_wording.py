"""Sentences that several studies write: figures, ratios with their certainty, who is compared."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from analysis.measures.results import NOTHING, Measured, RunResults, written
from analysis.records.run_directory import RunCondition
from analysis.reporting.claim_of_run import enough, oriented
from analysis.reporting.repeat_command import repeat_command
from analysis.reporting.tables import ReportQuantity
from analysis.statistics.paired_tests import FEWEST, Paired, paired
from analysis.statistics.paired_wording import estimate, family, interval

PERIOD = "_period"
"""Ends the name of a condition in the settings of the study's time (definition/profiles.py)."""
_BESIDE = 2
"""Conditions that one picture shows large enough."""


def middle(results: RunResults, quantity: ReportQuantity, condition: RunCondition) -> float | None:
    """The median over the repetitions, or None where nothing was measured."""
    values = quantity.of(results, condition)
    return median(values) if values else None


def figure(value: float | None, unit: str = "") -> str:
    """A figure with its unit, or a dash."""
    return NOTHING if value is None else f"{written(value)} {unit}".strip()


def called(results: RunResults, condition: RunCondition) -> str:
    """The condition inside a sentence: its label, or of one condition only its time."""
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
    """The conditions that may be compared: today's, and those of the study's time."""
    conditions = results.run.conditions
    period = [condition for condition in conditions if condition.name.endswith(PERIOD)]
    today = [condition for condition in conditions if condition not in period]
    return [group for group in (today, period) if group]


def side_by_side(results: RunResults) -> list[list[Measured]]:
    """The first seed's trials in groups that fit into one picture: all, or by their time."""
    groups = in_the_same_time(results)
    together = groups if len(results.run.conditions) > _BESIDE else [list(results.run.conditions)]
    return [
        [trial for trial in results.first if trial.trial.condition in group] for group in together
    ]


def ratios(results: RunResults, quantity: ReportQuantity, what: str) -> list[str]:
    """The conditions of each time against their first: how many times its value, how sure.

    `what` is the quantity inside a sentence, such as "rate". The sentences are one family of
    comparisons. There is none for a value that is missing or zero.
    """
    compared = [
        (*pair, _against(results, quantity, *pair))
        for first, *others in in_the_same_time(results)
        for pair in (oriented(results, first, other) for other in others)
    ]
    verdicts = family([pair for _, _, pair in compared])
    return [
        f"{second.label} has {estimate(pair, quantity.unit)} the {what} of {first.label}"
        f"{_certainty(pair, verdict)}."
        for (first, second, pair), verdict in zip(compared, verdicts, strict=True)
        if pair is not None and pair.scale == "ratio"
    ]


def _against(
    results: RunResults, quantity: ReportQuantity, first: RunCondition, second: RunCondition
) -> Paired | None:
    rows = quantity.pairs(results, (first, second))
    return paired([row[0] for row in rows], [row[1] for row in rows])


def _certainty(pair: Paired, verdict: str | None) -> str:
    if pair.count < FEWEST:
        times = "one repetition" if pair.count == 1 else f"{pair.count} repetitions"
        return f" in {times}, which is too few to tell it from chance"
    return f" ({interval(pair)}, {pair.count} repetitions)" + (f": {verdict}" if verdict else "")


def more_repetitions(results: RunResults) -> list[str]:
    """The command for enough repetitions, if there are fewer."""
    advised = enough(results.run)
    if len(results.run.seeds) >= advised:
        return []
    return [f"More repetitions tell more: {repeat_command(results.run, advised)}"]


def parameter(results: RunResults, name: str) -> str:
    """A parameter as it was written, `unknown` where the run does not say."""
    return results.run.parameters.get(name) or "unknown"
