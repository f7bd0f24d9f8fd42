"""Written answers: a question, its answer in words, and the figures that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.measures.results import NOTHING, RunResults, spread
from analysis.records.run_directory import RunCondition
from analysis.reporting.claim_of_run import oriented
from analysis.reporting.tables import ReportQuantity
from analysis.statistics.paired_tests import Paired, paired
from analysis.statistics.paired_wording import estimate, family, interval


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
    """The figures of each quantity that was measured, and how one condition differs from another.

    The quantities are one family of comparisons, for which each p is corrected.
    """
    measured = [quantity for quantity in quantities if _cells(results, quantity)]
    pairs = [_compared(results, quantity) for quantity in measured]
    return tuple(
        Fact(quantity.title, _cells(results, quantity), change, quantity.source)
        for quantity, change in zip(measured, _changes(measured, pairs), strict=True)
    )


def _cells(results: RunResults, quantity: ReportQuantity) -> tuple[str, ...]:
    """A cell for each condition; none at all if the quantity has no value."""
    values = [quantity.of(results, condition) for condition in results.run.conditions]
    return tuple(map(spread, values)) if any(values) else ()


def in_comparison(results: RunResults) -> tuple[RunCondition, RunCondition] | None:
    """Which two of the conditions facts compare: the second with the first. None of one."""
    conditions = results.run.conditions
    return oriented(results, *conditions[:2]) if len(conditions) > 1 else None


def _compared(results: RunResults, quantity: ReportQuantity) -> Paired | None:
    conditions = in_comparison(results)
    rows = quantity.pairs(results, conditions) if conditions else []
    return paired([row[0] for row in rows], [row[1] for row in rows])


def _changes(quantities: list[ReportQuantity], pairs: list[Paired | None]) -> list[str]:
    """Such as "1.3 times (95 % interval 1.1 to 1.5; larger)"; with too few seeds less."""
    return [
        NOTHING if pair is None else f"{estimate(pair, quantity.unit)}{_certainty(pair, verdict)}"
        for quantity, pair, verdict in zip(quantities, pairs, family(pairs), strict=True)
    ]


def _certainty(pair: Paired, verdict: str | None) -> str:
    words = [word for word in (interval(pair), verdict) if word]
    return f" ({'; '.join(words)})" if words else ""
