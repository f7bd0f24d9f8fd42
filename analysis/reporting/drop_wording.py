"""Sentences about packets that did not arrive, each from the counts of its cause."""

from __future__ import annotations

from analysis.measures.results import RunResults, written
from analysis.records.run_directory import RunCondition
from analysis.reporting.answer_wording import listed, middle
from analysis.reporting.quantities import (
    DROPPED_AT_RANDOM,
    DROPPED_FULL,
    DROPPED_IN_HOSTS,
    DROPPED_MANAGED,
)

_HOW = (
    (DROPPED_AT_RANDOM, "lost at random"),
    (DROPPED_FULL, "dropped by a full queue"),
    (DROPPED_MANAGED, "dropped by a queue before it was full"),
    (DROPPED_IN_HOSTS, "dropped in hosts"),
)


def causes(results: RunResults) -> list[str]:
    """A sentence for each condition whose drops were counted."""
    sentences = (_of(results, condition) for condition in results.run.conditions)
    return [sentence for sentence in sentences if sentence]


def _of(results: RunResults, condition: RunCondition) -> str:
    """Such as "cubic: 26 packets were lost at random and 1,208 dropped by a full queue"."""
    counted = [(middle(results, quantity, condition), how) for quantity, how in _HOW]
    if all(count is None for count, _ in counted):
        return ""
    counts = [(count, how) for count, how in counted if count]
    if not counts:
        return f"{condition.label}: no packet was lost or dropped."
    number = "packet was" if counts[0][0] == 1 else "packets were"
    parts = [f"{written(count)} {how}" for count, how in counts]
    return f"{condition.label}: {listed(parts).replace(' ', f' {number} ', 1)}."


def mostly_at_random(results: RunResults, condition: RunCondition) -> bool | None:
    """Whether more packets were lost at random than dropped; None if they were not counted."""
    random, *others = (middle(results, quantity, condition) for quantity, _ in _HOW)
    if random is None:
        return None
    return random > sum(count or 0.0 for count in others)
