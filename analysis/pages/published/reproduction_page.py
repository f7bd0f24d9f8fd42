"""Writes reproduction.html, reproduction.csv and the plots of a reproduction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.pages.published.reproduction_pictures import picture
from analysis.pages.published.reproduction_rows import csv_text, line, reasons
from analysis.records.problems import Problems, printable
from analysis.records.reproduction_folder import Reproduction, read_reproduction
from analysis.rendering import page_files
from analysis.reporting.run_pictures import Picture
from analysis.statistics.judgement import Counts, JudgedStudy, count, judge_study
from analysis.statistics.verdict import TOLERANCE

MOST_ROWS = 400
"""Rows of a study's table on the page, and failures of its list; the files have all."""


@dataclass(frozen=True)
class ReproductionReport:
    """What was found, and where its page is."""

    reproduction: Reproduction
    studies: tuple[JudgedStudy, ...]
    problems: tuple[str, ...]
    page: Path

    @cached_property
    def counts(self) -> Counts:
        return count([judged for study in self.studies for judged in study.rows])

    @property
    def remarks(self) -> list[str]:
        """What a reader must know before all: what could not be run, and what could not be read."""
        unrun, failed = self.counts.unrun, self.reproduction.failures
        counted = [
            (
                f"{_numbered(unrun, 'row was', 'rows were')} not run: no claim is made there."
                if unrun
                else ""
            ),
            (
                f"{_numbered(failed, 'run failed and gives', 'runs failed and give')} no value."
                if failed
                else ""
            ),
        ]
        return [sentence for sentence in (*counted, *self.problems) if sentence]

    @property
    def sound(self) -> bool:
        """Whether every row was run and all could be read; rows may differ.

        A row that differs is a result, no failure.
        """
        return self.reproduction.status == "complete" and not self.remarks

    @property
    def headline(self) -> str:
        return headline(self.counts, self.reproduction.mode)


def _numbered(count: int, single: str, several: str) -> str:
    return f"1 {single}" if count == 1 else f"{count} {several}"


def headline(counts: Counts, mode: str) -> str:
    """The one sentence on top, whose numbers add up to all rows."""
    if not counts.rows:
        return "No published number is listed: there is nothing to compare."
    settings = (
        f"{counts.agree_period} under the settings of their time, {counts.agree_today} under"
        " today's"
    )
    parts = [
        f"{_numbered(counts.agree, 'agrees', 'agree')} with ours ({settings})",
        f"{_numbered(counts.within, 'more lies', 'more lie')} within the range of our runs",
        _numbered(counts.differ, "differs", "differ"),
        _numbered(counts.unrun, "was not run", "were not run"),
    ]
    if counts.unstated:
        parts.append(f"{_numbered(counts.unstated, 'is', 'are')} not stated in the source")
    counted = f"{', '.join(parts[:-1])}, and {parts[-1]}"
    return (
        f"Of {_numbered(counts.rows, 'published number', 'published numbers')}"
        f" {counted}{f' ({mode} mode)' * bool(mode)}."
    )


def make_reproduction_report(path: Path, out: Path | None = None) -> ReproductionReport:
    """Judges the reproduction in `path` and writes its page into `out`, by default into `path`.

    Raises UsageError where there is none, TcplabError where reproduction.json cannot be used or
    nothing can be written. Whatever else is missing or broken is told on the page and in
    `problems`.
    """
    problems, folder = Problems(), out or path
    reproduction = read_reproduction(path, problems)
    studies = tuple(judge_study(study) for study in reproduction.studies)
    report = ReproductionReport(
        reproduction, studies, tuple(problems.found), folder / "reproduction.html"
    )
    page_files.write(folder, _files(report), "reproduction FOLDER")
    return report


def _files(report: ReproductionReport) -> Iterator[tuple[str, bytes]]:
    drawn = [picture(one, number) for number, one in enumerate(report.studies, 1)]
    yield from ((f"plots/{one.name}", one.png) for one in drawn if one)
    yield "reproduction.csv", csv_text(report.studies).encode()
    yield (
        "reproduction.html",
        page_files.render("reproduction.html", _context(report, drawn)).encode(),
    )


def _context(report: ReproductionReport, drawn: list[Picture | None]) -> dict[str, Any]:
    reproduction, facts = report.reproduction, report.reproduction.facts
    return {
        "report": report,
        "status": reproduction.status,
        "mode": reproduction.mode,
        "headline": report.headline,
        "remarks": report.remarks,
        "studies": [_shown(*pair) for pair in zip(report.studies, drawn, strict=True)],
        "total": report.counts,
        "tolerance": f"{100 * TOLERANCE:g} %",
        "identity": facts.id or reproduction.path.name,
        "started": facts.started,
        "durations": facts.durations,
        "kernel": facts.kernel.release,
        "version": facts.tcplab,
        "digests": [(printable(name), digest) for name, digest in facts.digests.items()],
    }


def _shown(judged: JudgedStudy, drawn: Picture | None) -> dict[str, Any]:
    study, listed = judged.study, reasons(judged.rows)
    return {
        "study": study,
        "counts": judged.counts,
        "picture": drawn,
        "reasons": listed,
        "lines": [line(row, listed) for row in judged.rows[:MOST_ROWS]],
        "left": len(judged.rows[MOST_ROWS:]),
        "has_period": judged.has_period,
        "has_today": judged.has_today,
        "source": study.source if study.year in study.source else f"{study.source} ({study.year})",
        "failures": study.failures[:MOST_ROWS],
        "failures_left": len(study.failures[MOST_ROWS:]),
    }
