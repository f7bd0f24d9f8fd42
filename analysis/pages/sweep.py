"""Report of a sweep: sweep.html, comparisons.csv and the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from analysis import rendering
from analysis.fmt import NOTHING, counted, decimals, fixed, in_a_row, signed, with_unit
from analysis.graphs.inline import board
from analysis.graphs.layers import GraphGroup
from analysis.measures.sweep_folder import SweepRecord, read_sweep
from analysis.pages.published import PublishedNumbers
from analysis.pages.sweep_differences import other_metrics
from analysis.pages.sweep_graphs import graphs
from analysis.records.json_reader import Problems, printable
from analysis.records.spec_file import checked_row
from analysis.rendering import Terminal, text_table
from analysis.reporting.effects import SweepEffect, swept_cells
from analysis.reporting.studies import ReportOf, plain, setting_words
from analysis.reporting.tables import Listing
from analysis.statistics import comparisons as compared
from analysis.statistics.paired_tests import COPIES, DifferenceVerdict
from analysis.statistics.published import judge_row
from analysis.statistics.sweep_samples import Place, SweepSamples, read_samples

MOST_ROWS = 200  # rows of any table of the page; the files have all
_COUNTS = ("wanted", "done", "reused", "failed", "unproved")


@dataclass(frozen=True)
class SweepReport:
    """Results of a sweep, and the path of its page."""

    sweep: SweepRecord
    samples: SweepSamples
    comparisons: Sequence[compared.LevelComparison]
    problems: tuple[str, ...]
    page: Path
    published: PublishedNumbers
    listings: tuple[Listing, ...] = ()
    effect: SweepEffect | None = None

    @property
    def remarks(self) -> list[str]:
        failed = max(self.sweep.points("failed"), len(self.sweep.facts.failures))
        unproved = self.sweep.points("unproved")
        lost = f"{counted(failed, 'point')} failed: their measurements are missing."
        unclear = f"In {counted(unproved, 'point')} a condition was not proved."
        return [lost] * bool(failed) + [unclear] * bool(unproved) + [*self.problems]

    @property
    def sound(self) -> bool:
        """True if everything is complete, readable and proved."""
        is_whole = self.sweep.facts.status == "complete" and not self.samples.is_empty
        return is_whole and not self.remarks

    @property
    def too_few(self) -> bool:
        return bool(compared.too_few(self.comparisons))

    @property
    def headline(self) -> list[str]:
        """The differences, after the effect if there are few seeds."""
        counted = [self.published.sentence] if self.published else []
        effect = [self.effect.sentence] if self.effect and self.too_few else []
        lines = effect + compared.first_lines(self.sweep, self.comparisons, self.samples) + counted
        return [f"{lines[0]} {compared.unended(self.samples)}".strip(), *lines[1:]]

    @property
    def title(self) -> str:
        return compared.question(self.sweep)


def make_sweep_report(
    path: Path, out: Path | None = None, report_of: ReportOf = plain, metric: str | None = None
) -> SweepReport:
    """Analyse the sweep in `path` and write its page. Raises UsageError, TcplabError."""
    problems, folder = Problems(), out or path
    sweep = read_sweep(path, problems, metric)
    samples, study = read_samples(sweep, problems), report_of(sweep.experiment)
    comparisons, cells = compared.compare(sweep, samples), swept_cells(sweep)
    rows = tuple(
        judge_row(checked_row(entry, sweep.experiment, problems))
        for entry in sweep.facts.published.rows
    )
    report = SweepReport(
        sweep,
        samples,
        comparisons,
        tuple(problems.found),
        folder / "sweep.html",
        PublishedNumbers(rows, sweep.facts.published.note),
        study.sweep_listings(sweep, cells) if study.sweep_listings and cells is not None else (),
        study.sweep_effect(sweep, cells) if study.sweep_effect and cells is not None else None,
    )
    rendering.write(folder, _files(report), "report FOLDER")
    return report


def _files(report: SweepReport) -> Iterator[tuple[str, bytes]]:
    drawn = graphs(report.sweep, report.samples, report.comparisons)
    if report.effect:
        drawn.insert(0, report.effect.picture)
    table = compared.csv_text(report.comparisons, report.sweep, report.samples)
    yield "comparisons.csv", table.encode()
    yield "sweep.html", rendering.render("sweep.html", _context(report, drawn)).encode()


_LEADING = ("metrics", "lines", "runs")
"""Groups that are not folded, with those before them: of the metrics that differ."""


def _context(report: SweepReport, drawn: list[GraphGroup]) -> dict[str, Any]:
    sweep, facts, samples = report.sweep, report.sweep.facts, report.samples
    keys = [group.key for group in drawn]
    leading = 1 + max((keys.index(key) for key in _LEADING if key in keys), default=0)
    # The lab's kernel is that of no row, or of some rows only, if kernels were swept.
    head, cells = cell_table(sweep, samples)
    of_all = not any(factor.name == "kernel" for factor in sweep.factors)
    digests = [item for item in facts.digests.items() if of_all or item[0] != "kernel"]
    return {
        **vars(report),
        "report": report,
        "leading": drawn[:leading],
        "groups": drawn[leading:],
        **board(drawn),
        "identity": facts.id or sweep.path.name,
        "settings": setting_words(sweep.parameters),
        "rows": [compared.row(each, samples.unit) for each in report.comparisons[:MOST_ROWS]],
        "cells": cells,
        "cell_head": head,
        "seeds": in_a_row(samples.seeds, 12),
        "until": None if facts.until is None else signed(100 * facts.until),
        "points": [(name, sweep.points(name)) for name in _COUNTS],
        "kernel": facts.kernel.release if of_all else "",
        "digests": [(printable(name), digest) for name, digest in digests],
        "most": MOST_ROWS,
    }


def _chosen(samples: SweepSamples, place: Place) -> tuple[str, str, str]:
    """Return the median, its interval, and half the interval in percent of the median."""
    interval, median = samples.intervals.get(place), signed(float(samples.median[place]))
    if interval is None or interval.low == interval.high:
        return median, NOTHING if interval is None else COPIES, NOTHING
    places, half = decimals(interval.low, interval.high), NOTHING
    if interval.median:
        half = f"{50 * (interval.high - interval.low) / abs(interval.median):.2g} %"
    ends = f"{fixed(interval.low, places)} to {fixed(interval.high, places)}"
    return fixed(interval.median, places), ends, half


def cell_table(sweep: SweepRecord, samples: SweepSamples) -> tuple[list[str], list[list[str]]]:
    """Return the head, and a row for each cell of the grid that has a value."""
    others = other_metrics(sweep, samples)
    places = [tuple(map(int, place)) for place in np.argwhere(samples.counts > 0)]
    head = [
        *(factor.short for factor in sweep.factors),
        "Seeds",
        with_unit(sweep.metric.title, samples.unit),
        "95 % interval",
        "\N{PLUS-MINUS SIGN}",
        *(with_unit(metric.title, samples.units[metric.name]) for metric in others),
    ]
    rows = [
        [
            *(factor.values[level] for factor, level in zip(sweep.factors, place, strict=True)),
            str(samples.counts[place]),
            *_chosen(samples, place),
            *(signed(float(samples.medians[metric.name][place])) for metric in others),
        ]
        for place in places
    ]
    return head, rows


MOST_LINES = 12  # rows of the table, and sentences; the page and comparisons.csv have more

_MOST_COLUMNS = 6


def print_sweep(report: SweepReport) -> None:
    terminal = Terminal()
    terminal.say(*report.headline)
    remarks = [*report.remarks, *report.sweep.facts.warnings]
    terminal.check(remarks, MOST_LINES, "more to check on the page")
    if not report.samples.is_empty:
        terminal.print(_table(report))
    if report.published:
        terminal.print(report.published.table(MOST_LINES))
    if len(report.comparisons) > 1 and not report.too_few:
        _print_sentences(report, terminal)
    marked = "This sweep is marked {}: it is incomplete."
    terminal.end(report.page, report.sweep.facts.status, marked)


def _print_sentences(report: SweepReport, terminal: Terminal) -> None:
    """Print comparisons in the order of the grid; of too many, those with a difference first."""
    ordered = list(report.comparisons)
    left = len(ordered) - MOST_LINES
    if left > 0:
        ordered.sort(key=lambda comparison: comparison.verdict == DifferenceVerdict.UNSHOWN)
    sentences = (
        compared.sentence(each, report.sweep, report.samples) for each in ordered[:MOST_LINES]
    )
    terminal.say(*(f"- {words}" for words in sentences))
    if left > 0:
        terminal.say(f"... and {left} more in comparisons.csv")


def _table(report: SweepReport) -> Table:
    """Return a column for each compared level, a row for each other combination, or the reverse."""
    sweep, samples, axis = report.sweep, report.samples, report.sweep.compare
    others = tuple(place for place in range(len(sweep.factors)) if place != axis)
    if axis is None:
        corner, columns = "", ["median"]
        places = [[place] for place in samples.places]
    else:
        corner, columns = sweep.factors[axis].short, list(sweep.factors[axis].values)
        places = [
            [(*place[:axis], at, *place[axis + 1 :]) for at in range(len(columns))]
            for place in samples.places
            if place[axis] == 0
        ]
    rows = [sweep.described(cells[0], others) for cells in places]
    if len(columns) > _MOST_COLUMNS and len(rows) <= _MOST_COLUMNS:
        rows, columns = columns, [row or "median" for row in rows]
        places = [list(column) for column in zip(*places, strict=True)]
    lines = [
        [row, *(signed(float(samples.median[cell])) for cell in cells)]
        for row, cells in list(zip(rows, places, strict=True))[:MOST_LINES]
    ]
    if len(rows) > MOST_LINES:
        lines.append([f"... and {len(rows) - MOST_LINES} more rows on the page"])
    metric = with_unit(sweep.metric.title, samples.unit)
    title = f"{sweep.experiment}: {metric}, medians over the seeds"
    return text_table([corner, *columns], lines, title, range(1, len(columns) + 1))
