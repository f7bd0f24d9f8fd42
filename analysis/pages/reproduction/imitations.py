"""Settings of a study's time compared with a kernel of that time."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO

from analysis.pages.published import ends, spanned
from analysis.statistics.published import Imitation, ImitationWord, JudgedStudy, Ours, imitations
from analysis.statistics.wording import numbered, signed, with_unit


@dataclass(frozen=True)
class ImitationLine:
    """One figure: the medians of both with their intervals, and the verdict."""

    where: str
    quantity: str
    settings: str
    settings_range: str
    kernel: str
    kernel_range: str
    word: str
    style: str


def imitation_line(each: Imitation) -> ImitationLine:
    row, shown = each.row, each.word in (ImitationWord.LARGER, ImitationWord.SMALLER)
    by = f" ({signed(each.ratio)} times)" if each.ratio and shown else ""
    return ImitationLine(
        row.where,
        with_unit(row.quantity, row.unit),
        signed(each.settings.center),
        _interval(each.settings),
        signed(each.kernel.center),
        _interval(each.kernel),
        f"{each.word}{by}",
        "apart" if shown else "unrun",
    )


def _interval(ours: Ours) -> str:
    runs = numbered(ours.count, "run")
    return f"{spanned(ours.middle)}, {runs}" if ours.middle else runs


_HEAD = ("study", "kernel", "where", "quantity", "unit", "settings_are", "ratio")
_SAMPLE = ("center", "interval_low", "interval_high", "runs")


def profiles_csv(studies: Iterable[JudgedStudy]) -> str:
    """Return profiles.csv: one line for each figure that both gave, figures in full."""
    with StringIO() as text:
        lines = csv.writer(text, lineterminator="\n")
        both = (f"{way}_{column}" for way in ("settings", "kernel") for column in _SAMPLE)
        lines.writerow([*_HEAD, *both])
        lines.writerows(
            _csv_line(judged, each) for judged in studies for each in imitations(judged.rows)
        )
        return text.getvalue()


def _csv_line(judged: JudgedStudy, each: Imitation) -> list[str | float | None]:
    study, row = judged.study, each.row
    kernel = study.kernel.taken if study.kernel else ""
    return [
        *(study.name, kernel, row.where, row.quantity, row.unit, each.word, each.ratio),
        *(each.settings.center, *ends(each.settings.middle), each.settings.count),
        *(each.kernel.center, *ends(each.kernel.middle), each.kernel.count),
    ]
