"""Report of a sweep: sweep.html, comparisons.csv and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.graphs.layers import GraphGroup
from analysis.graphs.stored import board_data
from analysis.measures.metrics import Metric, columns
from analysis.measures.results import NOTHING
from analysis.measures.sweep_folder import SweepRecord, read_sweep
from analysis.pages.published import PublishedNumbers
from analysis.pages.sweep.graphs import graphs
from analysis.records.json_reader import Problems, printable
from analysis.records.published_row import checked_row
from analysis.rendering import page_files
from analysis.reporting.studies import ReportOf, plain
from analysis.reporting.sweeps import SweepStudy, sweep_listings
from analysis.reporting.tables import Listing
from analysis.statistics.comparisons import (
    LevelComparison,
    compare,
    csv_text,
    first_lines,
    question,
    sentence,
    too_few,
)
from analysis.statistics.comparisons import (
    row as comparison_row,
)
from analysis.statistics.published import judge_row
from analysis.statistics.sweep_samples import Place, SweepSamples, read_samples
from analysis.statistics.wording import DifferenceVerdict, decimals, fixed, labelled, signed

_MAIN = (
    "goodput_kbit_s",
    "rtt_median_ms",
    "retransmitted_percent",
    "timeouts",
    "lost_percent",
    "queue_drops",
)
_OF_MANY_FLOWS = ("total_goodput_kbit_s", "jain_index")


def shown_metrics(sweep: SweepRecord, samples: SweepSamples) -> list[Metric]:
    """Return the metrics next to the chosen one that have a column."""
    shown = (*_MAIN, *_OF_MANY_FLOWS) if samples.has_many_flows else _MAIN
    return [
        metric
        for name, metric in columns().items()
        if name in shown and metric != sweep.metric and not np.isnan(samples.medians[name]).all()
    ]


def first(samples: SweepSamples, most: int) -> list[Place]:
    """Return the first `most` cells that have a value, in the order of the grid."""
    return [tuple(map(int, place)) for place in np.argwhere(samples.counts > 0)[:most]]


def cell_head(sweep: SweepRecord, samples: SweepSamples, columns: Sequence[Metric]) -> list[str]:
    """Return the names of the columns."""
    others = (labelled(metric, samples.units[metric.name]) for metric in columns)
    factors = (factor.short for factor in sweep.factors)
    return [
        *factors,
        "Seeds",
        labelled(sweep.metric, samples.unit),
        "95 % interval",
        "\N{PLUS-MINUS SIGN}",
        *others,
    ]


def cell_row(
    sweep: SweepRecord, samples: SweepSamples, place: Place, columns: Sequence[Metric]
) -> list[str]:
    """Return one cell of the grid as text."""
    levels = (factor.values[level] for factor, level in zip(sweep.factors, place, strict=True))
    others = (signed(float(samples.medians[metric.name][place])) for metric in columns)
    return [*levels, str(samples.counts[place]), *_chosen(samples, place), *others]


def _chosen(samples: SweepSamples, place: Place) -> tuple[str, str, str]:
    """Return the median, its interval, and half the interval in percent of the median."""
    interval = samples.intervals.get(place)
    if interval is None or interval.low == interval.high:
        same = NOTHING if interval is None else signed(interval.low)
        return signed(float(samples.median[place])), same, NOTHING if interval is None else "0 %"
    places = decimals(interval.low, interval.high)
    median, low, high = (
        fixed(value, places) for value in (interval.median, interval.low, interval.high)
    )
    half = 50 * (interval.high - interval.low) / abs(interval.median) if interval.median else None
    return median, f"{low} to {high}", NOTHING if half is None else f"{half:.2g} %"


MOST_ROWS = 200
"""Rows of any table of the page; the files have all."""
_COUNTS = ("wanted", "done", "reused", "failed", "unproved")


@dataclass(frozen=True)
class SweepReport:
    """Results of a sweep, and the path of its page."""

    sweep: SweepRecord
    samples: SweepSamples
    comparisons: Sequence[LevelComparison]
    problems: tuple[str, ...]
    page: Path
    published: PublishedNumbers
    study: SweepStudy | None = None
    listings: tuple[Listing, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """First remarks for a reader: failures, unproved points and unreadable files."""
        failed = max(self.sweep.points("failed"), len(self.sweep.failures))
        unproved = self.sweep.points("unproved")
        counted = [
            (
                f"{_points(failed)} failed: what would have been measured there is missing."
                if failed
                else ""
            ),
            f"In {_points(unproved)} a condition was not proved." if unproved else "",
        ]
        return [sentence for sentence in (*counted, *self.problems) if sentence]

    @property
    def sound(self) -> bool:
        """True if everything is complete, readable and proved."""
        return self.sweep.status == "complete" and not self.remarks and not self.samples.is_empty

    @property
    def too_few(self) -> bool:
        """True if no comparison can show anything with so few seeds."""
        return bool(too_few(self.comparisons))

    @property
    def headline(self) -> list[str]:
        """Main result: the first answer of a study, else the differences."""
        if self.study:
            return list(self.study.answers[0].paragraphs)
        counted = [self.published.sentence] if self.published else []
        return first_lines(self.sweep, self.comparisons, self.samples) + counted

    @property
    def title(self) -> str:
        """The question of the study, or of the sweep."""
        return self.study.answers[0].question if self.study else question(self.sweep)


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count:,} points"


def make_sweep_report(
    path: Path, out: Path | None = None, report_of: ReportOf = plain
) -> SweepReport:
    """Analyse the sweep in `path` and writes its page into `out`, by default into `path`.

    Raises UsageError where there is no sweep, TcplabError where sweep.json cannot be used or
    the page cannot be written. The page and `problems` name all else that is missing or broken.
    """
    problems, folder = Problems(), out or path
    sweep = read_sweep(path, problems)
    samples, study = read_samples(sweep, problems), report_of(sweep.experiment)
    comparisons = compare(sweep, samples)
    published = _published(sweep, problems)
    report = SweepReport(
        sweep,
        samples,
        comparisons,
        tuple(problems.found),
        folder / "sweep.html",
        published,
        study.sweep_study(sweep, samples),
        sweep_listings(sweep, study.sweep_listings),
    )
    page_files.write(folder, _files(report), "report FOLDER")
    return report


def _published(sweep: SweepRecord, problems: Problems) -> PublishedNumbers:
    """Return the numbers that were published with the settings of the sweep's points."""
    entries = sweep.facts.published
    rows = (checked_row(entry, sweep.experiment, problems) for entry in entries.rows)
    return PublishedNumbers(tuple(judge_row(row) for row in rows), entries.note)


def _files(report: SweepReport) -> Iterator[tuple[str, bytes]]:
    drawn = graphs(report.sweep, report.samples, report.comparisons)
    if report.study:
        drawn.insert(0, report.study.graphs)
        yield "summary.csv", report.study.summary.csv.encode()
    yield "comparisons.csv", csv_text(report.comparisons, report.sweep, report.samples).encode()
    yield "sweep.html", page_files.render("sweep.html", _context(report, drawn)).encode()


def _context(report: SweepReport, drawn: list[GraphGroup]) -> dict[str, Any]:
    sweep, facts = report.sweep, report.sweep.facts
    kept = report.comparisons[:MOST_ROWS]
    return {
        "report": report,
        "study": report.study,
        "sweep": sweep,
        "metric": sweep.metric,
        "published": report.published,
        "headline": report.headline,
        "groups": drawn,
        "graphs": board_data(drawn),
        "title": report.title,
        "identity": facts.id or sweep.path.name,
        "claim": facts.claim,
        "started": facts.started,
        "comparisons": [comparison_row(comparison, report.samples.unit) for comparison in kept],
        "comparison_count": len(report.comparisons),
        "comparisons_left": len(report.comparisons) - len(kept),
        "has_places": any(comparison.where for comparison in kept),
        "failures": sweep.failures[:MOST_ROWS],
        "failures_left": len(sweep.failures[MOST_ROWS:]),
        "listings": report.listings,
        **_cells(report),
        **_making(sweep, report.samples),
    }


def _cells(report: SweepReport) -> dict[str, Any]:
    columns = shown_metrics(report.sweep, report.samples)
    rows = [
        cell_row(report.sweep, report.samples, place, columns)
        for place in first(report.samples, MOST_ROWS)
    ]
    return {
        "cells": rows,
        "cell_head": cell_head(report.sweep, report.samples, columns),
        "cells_left": int((report.samples.counts > 0).sum()) - len(rows),
        "factor_count": len(report.sweep.factors),
    }


def _making(sweep: SweepRecord, samples: SweepSamples) -> dict[str, Any]:
    facts, until = sweep.facts, sweep.facts.until
    # The lab's own kernel is that of no row, or of some rows only, if kernels were swept.
    of_all = not any(factor.name == "kernel" for factor in sweep.factors)
    digests = [item for item in facts.digests.items() if of_all or item[0] != "kernel"]
    return {
        "command": facts.command,
        "seeds": _seeds(samples.seeds),
        "workers": facts.workers,
        "until": None if until is None else signed(100 * until),
        "durations": facts.durations,
        "points": [(name, sweep.points(name)) for name in _COUNTS],
        "kernel": facts.kernel.release if of_all else "",
        "version": facts.tcplab,
        "digests": [(printable(name), digest) for name, digest in digests],
    }


def _seeds(seeds: Sequence[int]) -> str:
    """Return the seeds, those of a run of numbers by its ends."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds[:12])) + (", ..." if len(seeds) > 12 else "")


MOST_LINES = 12
"""Rows of the table, and sentences; the page and comparisons.csv have more."""

_MOST_COLUMNS = 6


def print_sweep(report: SweepReport) -> None:
    """Print what to check, the medians, the verdicts and the page's path to standard output."""
    console = Console(highlight=False, soft_wrap=True)
    for line in report.headline:
        console.print(Text(line))
    _print_remarks([*report.remarks, *report.sweep.warnings], console)
    if report.study:
        _print_study(report.study, console)
    elif not report.samples.is_empty:
        console.print(_table(report))
    if report.published and not report.study:
        console.print(report.published.table(MOST_LINES))
    if len(report.comparisons) > 1 and not report.study and not report.too_few:
        _print_sentences(report, console)
    if report.sweep.status != "complete":
        console.print(
            Text(f"This sweep is marked {report.sweep.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _print_remarks(remarks: Sequence[str], console: Console) -> None:
    for remark in remarks[:MOST_LINES]:
        console.print(Text(f"Check: {remark}", style="yellow"))
    if len(remarks) > MOST_LINES:
        more = f"... and {len(remarks) - MOST_LINES} more to check on the page"
        console.print(Text(more, style="yellow"))


def _print_study(study: SweepStudy, console: Console) -> None:
    """The whole table of the study, as long as it is, and its answers."""
    table = Table(box=None)
    for name in study.summary.head:
        table.add_column(Text(name))
    for row in study.summary.rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for answer in study.answers:
        console.print(Text(answer.question, style="bold"))
        for paragraph in answer.paragraphs:
            console.print(Text(f"  {paragraph}"))


def _print_sentences(report: SweepReport, console: Console) -> None:
    """All in the order of the grid; of too many, first those that show a difference."""
    ordered = list(report.comparisons)
    if len(ordered) > MOST_LINES:
        ordered.sort(key=lambda comparison: comparison.verdict == DifferenceVerdict.UNSHOWN)
    for comparison in ordered[:MOST_LINES]:
        console.print(Text(f"- {sentence(comparison, report.sweep, report.samples)}"))
    more = len(report.comparisons) - MOST_LINES
    if more > 0:
        console.print(Text(f"... and {more} more in comparisons.csv"))


def _table(report: SweepReport) -> Table:
    """Return a table: a column for each compared level, a row for each other combination.

    Of more levels than combinations each has a row: more columns than rows seldom fit a terminal.
    """
    sweep, samples, levels = report.sweep, report.samples, _levels(report.sweep)
    axis = sweep.compare
    others = tuple(place for place in range(len(sweep.factors)) if place != axis)
    first = [place for place in samples.places if axis is None or place[axis] == 0]
    places = [
        [
            place if axis is None else (*place[:axis], at, *place[axis + 1 :])
            for at in range(len(levels))
        ]
        for place in first
    ]
    rows, columns, corner = [sweep.described(place, others) for place in first], list(levels), ""
    if len(columns) > _MOST_COLUMNS and len(rows) <= _MOST_COLUMNS:
        rows, columns, places = (
            columns,
            [row or "median" for row in rows],
            [list(column) for column in zip(*places, strict=True)],
        )
        corner = sweep.factors[axis].short if axis is not None else ""
    title = f"{sweep.experiment}: {labelled(sweep.metric, samples.unit)}, medians over the seeds"
    table = Table(title=Text(title))
    table.add_column(Text(corner))
    for column in columns:
        table.add_column(Text(column), justify="right")
    for row, cells in list(zip(rows, places, strict=True))[:MOST_LINES]:
        table.add_row(Text(row), *(signed(float(samples.median[cell])) for cell in cells))
    if len(rows) > MOST_LINES:
        table.add_row(
            Text(f"... and {len(rows) - MOST_LINES} more rows on the page"), *[""] * len(columns)
        )
    return table


def _levels(sweep: SweepRecord) -> tuple[str, ...]:
    return ("median",) if sweep.compare is None else sweep.factors[sweep.compare].values
