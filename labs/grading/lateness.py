"""Late hand-ins: their times by Moodle's worksheet, Canvas's marks, or the download's files.

The files of a download of Moodle or Canvas have the time of the download, so these do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from labs.definition.assignment import Dates, Late, as_text
from labs.grading.case import Case
from labs.grading.failure_domain import Stage, failure_domain
from labs.grading.moodle import Worksheet, read_worksheet

_MONTHS = (
    *("jan gen ene", "feb fev fév", "mar mär maa mrt", "apr avr abr", "may mai maj mei mag"),
    *("jun juin giu", "jul juil lug", "aug aoû ago", "sep set", "oct okt ott out", "nov"),
    "dec dez déc dic des",
)
"""Beginnings of the months in Catalan, Dutch, English, French, German, Italian, Portuguese,
Spanish and Swedish.
"""
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\w*\.?"
_OF = r"[\s,]+(?:de\s+|d['\u2019]\s*)?"
_DAY = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})\.?(?:\s+de\s+|\s+d['\u2019]\s*|\s+){_MONTH}"
    rf"|{_MONTH.replace('month', 'before')}\s+(?P<after>\d{{1,2}})){_OF}(?P<year>\d{{4}})",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(\d{1,2})[:.h](\d{2})(?:\s*([ap])\.?\s?m\b)?", re.IGNORECASE)
_NOON = 12


def moodle_time(text: str) -> datetime | None:
    """Return the time in words of Moodle's, such as "Monday, 21 September 2026, 2:13 PM"."""
    day = _DAY.search(text)
    clock = _CLOCK.search(text, day.end()) if day else None
    if day is None or clock is None:
        return None
    month = _NUMBERS[(day["month"] or day["before"]).lower()]
    hour = int(clock[1])
    if clock[3]:
        hour = hour % _NOON + _NOON * (clock[3].lower() == "p")
    try:
        date = int(day["year"]), month, int(day["day"] or day["after"])
        return datetime(*date, hour, int(clock[2]))
    except ValueError:
        return None


def apply_dates(
    cases: Sequence[Case], dates: Dates, worksheet: Path | None, in_folder: bool
) -> list[str]:
    """Give each case its lateness, and hide its key; return sentences for the instructor."""
    sheet = read_worksheet(worksheet) if worksheet else None
    hidden = dates.key_after is not None and datetime.now() < dates.key_after
    for case in cases:
        if dates.key_after and hidden:
            case.key_after = as_text(dates.key_after)
        if dates.deadline:
            with failure_domain(case, Stage.DECIDE):
                case.late = _late(case, dates, sheet, in_folder)
    return list(_notices(cases)) if dates.deadline else []


def _late(case: Case, dates: Dates, sheet: Worksheet | None, in_folder: bool) -> Late | None:
    said = next((each for each in dates.exception if case.is_of(each.student)), None)
    if said and said.submitted:
        return dates.late(said.submitted, "by your instructor", said)
    time = moodle_time(sheet.submitted(case)) if sheet else None
    if time:
        return dates.late(time, "by Moodle", said)
    if case.hand_in.canvas:
        return Late("", "by Canvas", None if case.hand_in.late else 0)
    if case.hand_in.moodle or case.hand_in.upload or not case.hand_in.time:
        return None
    # A zip's times have no zone, and are read as UTC.
    zone = None if in_folder else UTC
    local = datetime.fromtimestamp(case.hand_in.time, zone).replace(tzinfo=None)
    return dates.late(local, "by the file's time", said)


def _notices(cases: Sequence[Case]) -> Iterator[str]:
    unknown = [case.student for case in cases if case.late is None]
    if unknown:
        remedy = "name Moodle's worksheet, or write `submitted` under [[dates.exception]]"
        yield f"No time is known of the hand-in of {', '.join(unknown)}: {remedy}."
    marked = [case.student for case in cases if case.late and case.late.days is None]
    if marked:
        text = "Canvas marks these as late without a time, and no points are taken off:"
        yield f"{text} {', '.join(marked)}. Write `submitted` under [[dates.exception]]."
