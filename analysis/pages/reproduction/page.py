"""Report of a reproduction: reproduction.html, its CSV files and the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.graphs.layers import GraphGroup
from analysis.graphs.stored import board_data
from analysis.pages.published import csv_text, groups, numbered, parts, reasons
from analysis.pages.reproduction.graphs import graphs
from analysis.pages.reproduction.imitations import imitation_line, profiles_csv
from analysis.records.json_reader import Problems, printable
from analysis.records.reproduction_folder import Reproduction, read_reproduction
from analysis.rendering import page_files
from analysis.statistics.paired_tests import FEWEST
from analysis.statistics.published import (
    TOLERANCE,
    Counts,
    JudgedStudy,
    count,
    imitation_sentence,
    imitations,
    judge_study,
)

MOST_ROWS = 400
"""Rows of a study's table on the page, and failures of its list; the files have all."""
MOST_OPEN = 40
"""Rows of a study that are shown without a click."""


@dataclass(frozen=True)
class ReproductionReport:
    """Results of a reproduction, and the path of its page."""

    reproduction: Reproduction
    studies: tuple[JudgedStudy, ...]
    problems: tuple[str, ...]
    page: Path

    @cached_property
    def counts(self) -> Counts:
        return count([judged for study in self.studies for judged in study.rows])

    @property
    def remarks(self) -> list[str]:
        """First remarks for a reader: failures, unproved points and unreadable files."""
        counts, failed = self.counts, self.reproduction.failures
        unrun, few = counts.unrun - counts.later, counts.few
        told = [
            (
                unrun,
                f"{numbered(unrun, 'row was', 'rows were')} not run: no verdict there.",
            ),
            (few, f"{numbered(few, 'row has', 'rows have')} fewer than {FEWEST} runs: not judged."),
            (failed, f"{numbered(failed, 'run failed', 'runs failed')}, without a value."),
        ]
        return [*(sentence for amount, sentence in told if amount), *self.problems]

    @property
    def sound(self) -> bool:
        """True if every row of this form was run and all could be read; rows may differ.

        A row that differs is a result, no failure.
        """
        return self.reproduction.status == "complete" and not self.remarks

    @property
    def headline(self) -> str:
        return headline(self.counts, self.reproduction.mode)

    @property
    def how_whole(self) -> str:
        """Completeness of the page, as a sentence."""
        facts, later = self.reproduction.facts, self.counts.later
        only = [*facts.only, *(f"rows with {text}" for text in facts.rows)]
        chosen = (
            f" Only what was chosen is on it: {', '.join(map(printable, only))}." if only else ""
        )
        if self.reproduction.status != "complete":
            return (
                f"This reproduction is not complete (status: {self.reproduction.status}). It shows"
                f" what was finished.{chosen}"
            )
        if self.remarks:
            return f"Not everything could be run or read.{chosen}"
        if later:
            return f"Every row of the short form was run; {later:,} more are in --full.{chosen}"
        return f"Every row of this page that a run can give was run.{chosen}"

    @property
    def repeat(self) -> str:
        """The command that makes it again."""
        mode, only = self.reproduction.mode, self.reproduction.facts.only
        words = [f"--{mode}"] if mode in ("quick", "full") else []
        return " ".join(
            [
                "./tcplab reproduce",
                *words,
                *(f"--only {shlex.quote(printable(one))}" for one in only),
                *(f"--rows {shlex.quote(printable(one))}" for one in self.reproduction.facts.rows),
            ]
        )


def headline(counts: Counts, mode: str) -> str:
    """Main result: the first answer of a study, else the differences."""
    if not counts.rows:
        return "No published number is listed: no comparison is possible."
    those = "" if counts.later == counts.unrun else f"{counts.later:,} of them "
    later = f" ({those}only in --full)" if counts.later else ""
    listed = [
        numbered(counts.agree, "agrees with ours", "agree with ours"),
        numbered(counts.within, "lies within", "lie within") + " what a further run could give",
        numbered(counts.differ, "differs", "differ"),
    ]
    others = (
        (counts.few, "is not judged", "are not judged"),
        (counts.unrun, f"was not run{later}", f"were not run{later}"),
        (counts.unstated, "is not stated in the source", "are not stated in the source"),
        (counts.listed, "is listed only", "are listed only"),
    )
    listed += [numbered(*each) for each in others if each[0]]
    counted = f"{', '.join(listed[:-1])}, and {listed[-1]}"
    return (
        f"Of {numbered(counts.rows, 'published number', 'published numbers')}"
        f" {counted}{f' ({mode} mode)' * bool(mode)}."
    )


def make_reproduction_report(path: Path, out: Path | None = None) -> ReproductionReport:
    """Judges the reproduction in `path` and writes its page into `out`, by default into `path`.

    Raises UsageError where there is none, TcplabError where reproduction.json cannot be used or
    the page cannot be written. The page and `problems` name all else that is missing or broken.
    """
    problems, folder = Problems(), out or path
    reproduction = read_reproduction(path, problems)
    studies = tuple(judge_study(study) for study in reproduction.studies)
    report = ReproductionReport(
        reproduction, studies, tuple(problems.found), folder / "reproduction.html"
    )
    page_files.write(folder, _files(report), "report FOLDER")
    return report


def _files(report: ReproductionReport) -> Iterator[tuple[str, bytes]]:
    drawn = [graphs(one, number) for number, one in enumerate(report.studies, 1)]
    yield "reproduction.csv", csv_text(report.studies).encode()
    yield "profiles.csv", profiles_csv(report.studies).encode()
    yield (
        "reproduction.html",
        page_files.render("reproduction.html", _context(report, drawn)).encode(),
    )


def _context(report: ReproductionReport, drawn: list[GraphGroup | None]) -> dict[str, Any]:
    reproduction, facts = report.reproduction, report.reproduction.facts
    return {
        "report": report,
        "status": reproduction.status,
        "mode": reproduction.mode,
        "headline": report.headline,
        "remarks": report.remarks,
        "how_whole": report.how_whole,
        "repeat": report.repeat,
        "with_period": [one.study.name for one in report.studies if one.study.profile],
        "with_kernel": [one.study.name for one in report.studies if one.has_period_kernel],
        "drawn": any(drawn),
        "graphs": board_data([group for group in drawn if group]),
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


def _shown(judged: JudgedStudy, drawn: GraphGroup | None) -> dict[str, Any]:
    study, listed = judged.study, reasons(judged.rows)
    imitated, kernel = imitations(judged.rows), study.kernel.taken if study.kernel else ""
    return {
        "kernel": study.kernel,
        "has_period_kernel": judged.has_period_kernel,
        "imitated": [imitation_line(each) for each in imitated[:MOST_ROWS]],
        "imitation": imitation_sentence(imitated, kernel),
        "study": study,
        "counts": judged.counts,
        "today": judged.today_counts if study.profile or judged.has_period_kernel else None,
        "sentence": ", ".join(parts(judged.counts)),
        "graphs": drawn,
        "reasons": listed,
        "groups": groups(judged.rows[:MOST_ROWS], listed),
        "is_long": len(judged.rows) > MOST_OPEN,
        "left": len(judged.rows[MOST_ROWS:]),
        "has_period": judged.has_period,
        "has_today": judged.has_today,
        "source": study.source if study.year in study.source else f"{study.source} ({study.year})",
        "failures": study.failures[:MOST_ROWS],
        "failures_left": len(study.failures[MOST_ROWS:]),
    }


MOST_REMARKS = 12
"""Remarks that are printed; the page has all."""


def print_reproduction(report: ReproductionReport) -> None:
    """Print how many rows agree, of each study too, what to check, and the page's path."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(report.headline))
    for remark in report.remarks[:MOST_REMARKS]:
        console.print(Text(f"Check: {remark}", style="yellow"))
    if len(report.remarks) > MOST_REMARKS:
        console.print(
            Text(f"... and {len(report.remarks) - MOST_REMARKS} more on the page", style="yellow")
        )
    console.print(_table(report))
    for line in _kernels(report):
        console.print(Text(line))
    if report.reproduction.status != "complete":
        console.print(
            Text(f"This is marked {report.reproduction.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _kernels(report: ReproductionReport) -> Iterator[str]:
    """For each study that ran on the kernel of its time: which it is, and if settings do for it."""
    for judged in report.studies:
        if judged.has_period_kernel and (kernel := judged.study.kernel):
            own = f"had Linux {printable(kernel.linux)}, repeated on {printable(kernel.taken)}."
            settings = imitation_sentence(imitations(judged.rows), printable(kernel.taken))
            asked = f" Settings of its time on the lab's kernel: {settings}" if settings else ""
            yield f"{printable(judged.study.name)} {own}{asked}"


def _table(report: ReproductionReport) -> Table:
    table = Table(title=Text("Published and measured numbers"))
    table.add_column("study", no_wrap=True)
    for name in (
        "rows",
        "agree",
        "lie within",
        "differ",
        "not judged",
        "not run",
        *["not stated"] * bool(report.counts.unstated),
        *["listed"] * bool(report.counts.listed),
    ):
        table.add_column(name, justify="right")
    for one in report.studies:
        table.add_row(Text(one.study.name), *_cells(one.counts, report.counts))
    table.add_section()
    table.add_row("all", *_cells(report.counts, report.counts))
    return table


def _cells(counts: Counts, total: Counts) -> list[str]:
    """Return the numbers of a line; the last two columns are there if any row is in them."""
    numbers = [counts.rows, counts.agree, counts.within, counts.differ, counts.few, counts.unrun]
    numbers += [counts.unstated] * bool(total.unstated) + [counts.listed] * bool(total.listed)
    return [str(number) for number in numbers]
