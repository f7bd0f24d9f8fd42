"""The rows of a reproduction as cells of the page and as lines of reproduction.csv."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO

from analysis.measures.run_results import MINUS, NOTHING
from analysis.statistics.judgement import Judged, JudgedStudy
from analysis.statistics.metric_wording import signed
from analysis.statistics.verdict import DIFFERS, ORDER, UNRUN, UNSTATED, Agreement, Ours

STYLES = dict(zip(ORDER, ("agrees", "within", "apart", "unrun", "unrun"), strict=True))
"""The CSS class of each verdict."""
_HEAD = (
    "study",
    "where",
    "series",
    "x",
    "quantity",
    "unit",
    "published",
    "published_low",
    "published_high",
    "published_note",
    "outcome",
)
_OURS = (
    "verdict",
    "factor",
    "median",
    "interval_low",
    "interval_high",
    "least",
    "greatest",
    "runs",
    "values",
)


@dataclass(frozen=True)
class Cell:
    """Ours under one kind of settings: median, range, the verdict in words and its CSS class."""

    median: str
    range: str
    verdict: str
    style: str


@dataclass(frozen=True)
class TableLine:
    """One row of the page's table."""

    where: str
    quantity: str
    published: str
    published_range: str
    note: str
    period: Cell
    today: Cell
    style: str
    reason: int
    why: str
    command: str


UNEXPLAINED = "Not explained."


def reasons(rows: Sequence[Judged]) -> list[str]:
    """Why rows differ, each once, in the order of the rows."""
    return list(
        dict.fromkeys(
            judged.row.why for judged in rows if judged.row.why and judged.outcome.word == DIFFERS
        )
    )


def line(judged: Judged, listed: Sequence[str]) -> TableLine:
    """The row's line; `reason` is the place, from 1, of its own among those `listed`, or 0."""
    row, outcome = judged.row, judged.outcome.word
    reason = listed.index(row.why) + 1 if outcome == DIFFERS and row.why else 0
    quantity = f"{row.quantity} ({row.unit})" if row.unit else row.quantity
    return TableLine(
        row.where,
        quantity,
        NOTHING if row.published is None else as_printed(row.printed),
        _published_range(judged),
        row.note,
        _cell(judged.period, judged.period_verdict, row.unit),
        _cell(judged.today, judged.today_verdict, row.unit),
        STYLES[outcome],
        reason,
        UNEXPLAINED if outcome == DIFFERS and not row.why else "",
        row.command,
    )


def as_printed(printed: str) -> str:
    """A published number with all its digits, without powers of ten."""
    number = Decimal(printed)
    shown = f"{number:,f}" if abs(number) < 10**15 else f"{number:g}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", MINUS)


def _published_range(judged: Judged) -> str:
    if judged.row.low is None or judged.row.high is None:
        return "" if judged.row.published is not None else UNSTATED
    return f"{signed(judged.row.low)} to {signed(judged.row.high)}"


def _cell(ours: Ours | None, verdict: Agreement, unit: str) -> Cell:
    if ours is None:
        return Cell(NOTHING, "", UNRUN, STYLES[UNRUN])
    runs = "1 run" if ours.count == 1 else f"{ours.count} runs"
    least, greatest = signed(ours.runs.low), signed(ours.runs.high)
    spread = runs if least == greatest else f"{least} to {greatest}, {runs}"
    return Cell(signed(ours.median), spread, verdict.text(unit), STYLES[verdict.word])


def csv_text(studies: Sequence[JudgedStudy]) -> str:
    """reproduction.csv: one line for each published number, figures in full.

    `values` have blanks between them.
    """
    with StringIO() as text:
        lines = csv.writer(text, lineterminator="\n")
        ours = (f"{way}_{column}" for way in ("period", "today") for column in _OURS)
        lines.writerow([*_HEAD, *ours, "seeds", "why", "command"])
        lines.writerows(
            _csv_line(study.study.name, judged) for study in studies for judged in study.rows
        )
        return text.getvalue()


def _csv_line(study: str, judged: Judged) -> list[str | float | None]:
    row = judged.row
    published = [row.printed, row.low, row.high, row.note]
    return [
        study,
        row.where,
        row.series,
        row.x,
        row.quantity,
        row.unit,
        *published,
        judged.outcome.word,
        *_csv_ours(judged.period, judged.period_verdict, row.period),
        *_csv_ours(judged.today, judged.today_verdict, row.today),
        " ".join(row.seeds),
        row.why,
        row.command,
    ]


def _csv_ours(
    ours: Ours | None, verdict: Agreement, values: Sequence[float]
) -> list[str | float | None]:
    if ours is None:
        return [verdict.word, *[None] * 6, 0, ""]
    interval = (ours.interval.low, ours.interval.high) if ours.interval else (None, None)
    figures = [ours.median, *interval, ours.runs.low, ours.runs.high, ours.count]
    return [verdict.word, verdict.factor, *figures, " ".join(map(str, values))]
