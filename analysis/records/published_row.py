"""A published number and the measured ones, as spec, sweep and reproduction.json hold it."""

from typing import Any

from msgspec import Struct

from analysis.records.json_reader import Problems, number, text

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
    setting: str = ""
    line_rate: bool = False
    allowed_low: float | None = None
    allowed_high: float | None = None
    needs: str = ""
    listed: str = ""
    period_kernel: Any = None
    period: Any = None
    today: Any = None
    seeds: tuple[str, ...] = ()
    why: str = ""
    command: str = ""


class PublishedRow(RowEntry, frozen=True):
    """One published number, and a measured one for each seed.

    The seeds ran on a kernel of its time (`period_kernel`), with settings of its time on the
    lab's own kernel (`period`), and with today's (`today`).

    `published` is None if the source does not state it; `printed` are its digits. It is one run,
    or the mean of `mean_of`. `published_low` and `published_high` are the least and greatest of
    the published repetitions, None if there are none. All are in `unit`. `needs` says what the
    full form takes if the short one leaves the row out, `listed` why there is no measured value to
    compare with. Rows of one `group` are listed together. Rows of one `setting` come from the same
    published network and condition. At `line_rate` any TCP gives the number. The number of a law
    has the range from `allowed_low` to `allowed_high`, None for no end.
    """

    published: float | None = None
    printed: str = ""
    period_kernel: tuple[float, ...] = ()
    period: tuple[float, ...] = ()
    today: tuple[float, ...] = ()


def checked_row(entry: RowEntry, study: str, problems: Problems) -> PublishedRow:
    """Return the row of an entry; unusable values are problems."""
    published = number(entry.published)
    if published is None and entry.published is not None:
        problems.add(
            f"The published number of '{entry.where}' in study {study} is no finite number; it"
            " counts as not stated."
        )
    row = {name: getattr(entry, name) for name in RowEntry.__struct_fields__}
    ours = {
        way: _values(row[way], entry.where, problems)
        for way in ("period_kernel", "period", "today")
    }
    printed = "" if published is None else text(entry.published) or ""
    mean_of = max(entry.mean_of, 1)
    return PublishedRow(
        **{**row, **ours, "published": published, "printed": printed, "mean_of": mean_of}
    )


def _values(content: object, where: str, problems: Problems) -> tuple[float, ...]:
    """Return the finite numbers of a list, which has null for a seed without a value."""
    listed = content if isinstance(content, list) else []
    numbers = (number(entry) for entry in listed)
    values = tuple(value for value in numbers if value is not None and abs(value) <= _LARGEST)
    given = sum(entry is not None for entry in listed)
    if len(values) < given or not isinstance(content, list | None):
        problems.add(f"Some values of '{where}' are no finite numbers: they are left out.")
    return values
