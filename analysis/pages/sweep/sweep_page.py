"""Writes sweep.html and comparisons.csv of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.graphs.layers import GraphGroup
from analysis.graphs.stored_graphs import board_data
from analysis.measures.sweep_folder import SweepRecord, read_sweep
from analysis.pages.published.published_table import PublishedNumbers
from analysis.pages.sweep import cells
from analysis.pages.sweep.sweep_graphs import graphs
from analysis.records.problems import Problems, printable
from analysis.records.published_row import checked_row
from analysis.rendering import page_files
from analysis.reporting.study_reports import ReportOf, plain
from analysis.reporting.sweep_summary import SweepStudy
from analysis.reporting.swept_runs import sweep_listings
from analysis.reporting.tables import Listing
from analysis.statistics.comparisons import (
    LevelComparison,
    compare,
    csv_text,
    row,
    too_few,
)
from analysis.statistics.judgement import judge_row
from analysis.statistics.metric_wording import signed
from analysis.statistics.sweep_samples import SweepSamples, read_samples
from analysis.statistics.swept_claims import first_lines, question

MOST_ROWS = 200
"""Rows of any table of the page; the files have all."""
_COUNTS = ("wanted", "done", "reused", "failed", "unproved")


@dataclass(frozen=True)
class SweepReport:
    """What was found, and where its page is."""

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
        """What to know first: points that failed or were not proved, and unreadable files."""
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
        """Whether the sweep is complete and all of it could be read and proved."""
        return self.sweep.status == "complete" and not self.remarks and not self.samples.is_empty

    @property
    def too_few(self) -> bool:
        """Whether no comparison could show anything with so few seeds."""
        return bool(too_few(self.comparisons))

    @property
    def headline(self) -> list[str]:
        """What was found: a study's first answer, else what differs."""
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
    """Analyses the sweep in `path` and writes its page into `out`, by default into `path`.

    Raises UsageError where there is no sweep, TcplabError where sweep.json cannot be used or
    nothing can be written. Whatever else is missing or broken is told on the page and in
    `problems`.
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
    """The numbers that were published with the settings of the sweep's points."""
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
        "comparisons": [row(comparison, report.samples.unit) for comparison in kept],
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
    columns = cells.shown_metrics(report.sweep, report.samples)
    rows = [
        cells.row(report.sweep, report.samples, place, columns)
        for place in cells.first(report.samples, MOST_ROWS)
    ]
    return {
        "cells": rows,
        "cell_head": cells.head(report.sweep, report.samples, columns),
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
    """The seeds, those of a run of numbers by its ends."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds[:12])) + (", ..." if len(seeds) > 12 else "")
