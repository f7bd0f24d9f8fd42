"""Sentences that several studies write: figures, ratios with their certainty, who is compared."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from analysis.measures.run_results import NOTHING, RunResults, written
from analysis.measures.trial_measures import Measured
from analysis.records.run_directory import RunCondition
from analysis.reporting.repeat_command import repeat_command
from analysis.reporting.tables import ReportQuantity
from analysis.statistics.intervals import ratio

PERIOD = "_period"
"""Ends the name of a condition in the settings of the study's time (definition/profiles.py)."""
ENOUGH = 10
"""Repetitions that the reader is advised to run."""
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


def compared(
    results: RunResults,
    quantity: ReportQuantity,
    what: str,
    first: RunCondition,
    second: RunCondition,
) -> str:
    """How many times `second`'s value is in `first`'s, and how sure that is.

    Nothing if one is missing or zero.

    `what` is the quantity inside a sentence, such as "rate".
    """
    pairs = [(pair[0], pair[1]) for pair in quantity.pairs(results, (first, second))]
    if not pairs or min(min(pair) for pair in pairs) <= 0:
        return ""
    above, below = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    interval = ratio(below, above)
    times = median(above) / median(below)
    if interval is None:
        return f"{first.label} has {times:.2f} times the {what} of {second.label}{_unsure(pairs)}."
    words = f"{first.label} has {interval.mean:.2f} times the {what} of {second.label}"
    certain = (
        f"(95 % interval {interval.low:.2f} to {interval.high:.2f} over {interval.count}"
        " repetitions)"
    )
    verdict = "beyond chance" if interval.excludes(1) else "which chance can explain"
    return f"{words} {certain}, {verdict}."


def _unsure(pairs: Sequence[tuple[float, float]]) -> str:
    if len(pairs) > 1:
        return f" in {len(pairs)} repetitions that are all alike"
    return "; one repetition does not tell how much of that is chance"


def more_repetitions(results: RunResults) -> list[str]:
    """The command for enough repetitions, where there are fewer."""
    if len(results.run.seeds) >= ENOUGH:
        return []
    return [f"More repetitions tell more: {repeat_command(results.run, ENOUGH)}"]


def parameter(results: RunResults, name: str) -> str:
    """A parameter as it was written, `unknown` where the run does not say."""
    return results.run.parameters.get(name) or "unknown"
