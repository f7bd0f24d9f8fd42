"""Written answers: a question, its answer in words, and the figures that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.measures.run_results import MINUS, NOTHING, RunResults, spread, written
from analysis.reporting.tables import ReportQuantity
from analysis.statistics.intervals import difference

SAME = "in every repetition, so no interval"


@dataclass(frozen=True)
class Fact:
    """One figure: a cell per condition, the change from the first to the second, and the source."""

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


def fact(results: RunResults, quantity: ReportQuantity) -> Fact:
    """The figures of `quantity` under every condition, and the change between the first two."""
    conditions = results.run.conditions
    cells = tuple(spread(quantity.of(results, condition)) for condition in conditions)
    return Fact(quantity.title, cells, _change(results, quantity), quantity.source)


def _change(results: RunResults, quantity: ReportQuantity) -> str:
    pairs = quantity.pairs(results, results.run.conditions[:2])
    if not pairs or len(pairs[0]) < 2:
        return NOTHING
    interval = difference([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    if interval is None:
        return signed(pairs[0][1] - pairs[0][0]) + (f" ({SAME})" if len(pairs) > 1 else "")
    return (
        f"{signed(interval.mean)} (95 % interval {signed(interval.low)} to {signed(interval.high)})"
    )


def signed(value: float) -> str:
    """A difference with its sign."""
    return f"+{written(value)}" if value > 0 else written(value).replace("-", MINUS)
