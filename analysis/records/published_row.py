"""A published number and ours, as spec.json, sweep.json and reproduction.json hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from analysis.records.json_reader import number, text
from analysis.records.problems import Problems

_LARGEST = 1e300
"""Largest value that sums without an overflow; no measurement is larger."""


class RowEntry(Struct, frozen=True):
    """A row as it was written; `checked_row` checks its numbers."""

    where: str = "unnamed"
    quantity: str = "value"
    unit: str = ""
    series: str = ""
    x: float | None = None
    published: Any = None
    published_low: float | None = None
    published_high: float | None = None
    published_note: str = ""
    mean_of: int = 1
    group: str = ""
    needs: str = ""
    listed: str = ""
    period_kernel: Any = None
    period: Any = None
    today: Any = None
    seeds: tuple[str, ...] = ()
    why: str = ""
    command: str = ""


@dataclass(frozen=True)
class PublishedRow:
    """One published number, and ours for each seed.

    Those are measured on a kernel of its time (`period_kernel`), with settings of its time on the
    lab's own kernel (`period`), and with today's (`today`).

    `published` is None if the source does not state it; `printed` are its digits. It is one run,
    or the mean of `mean_of`. `low` and `high` are the least and greatest of the published
    repetitions, None if there are none. All are in `unit`. `needs` says what the full form takes
    if the short one leaves the row out, `listed` why there is nothing of ours to compare with.
    Rows of one `group` stand together.
    """

    where: str
    quantity: str
    unit: str
    series: str
    x: float | None
    published: float | None
    printed: str
    low: float | None
    high: float | None
    note: str
    mean_of: int
    group: str
    needs: str
    listed: str
    period_kernel: tuple[float, ...]
    period: tuple[float, ...]
    today: tuple[float, ...]
    seeds: tuple[str, ...]
    why: str
    command: str


def checked_row(entry: RowEntry, study: str, problems: Problems) -> PublishedRow:
    """The row that an entry describes; what of it cannot be used is a problem."""
    published = number(entry.published)
    if published is None and entry.published is not None:
        problems.add(
            f"The published number of '{entry.where}' in study {study} is no finite number; it"
            " counts as not stated."
        )
    return PublishedRow(
        entry.where,
        entry.quantity,
        entry.unit,
        entry.series,
        entry.x,
        published,
        "" if published is None else text(entry.published) or "",
        entry.published_low,
        entry.published_high,
        entry.published_note,
        max(entry.mean_of, 1),
        entry.group,
        entry.needs,
        entry.listed,
        _values(entry.period_kernel, entry.where, problems),
        _values(entry.period, entry.where, problems),
        _values(entry.today, entry.where, problems),
        entry.seeds,
        entry.why,
        entry.command,
    )


def _values(content: object, where: str, problems: Problems) -> tuple[float, ...]:
    """The finite numbers of a list, null for a seed that gave none."""
    listed = content if isinstance(content, list) else []
    numbers = (number(entry) for entry in listed)
    values = tuple(value for value in numbers if value is not None and abs(value) <= _LARGEST)
    given = sum(entry is not None for entry in listed)
    if len(values) < given or not isinstance(content, list | None):
        problems.add(f"Some values of '{where}' are no finite numbers: they are left out.")
    return values
