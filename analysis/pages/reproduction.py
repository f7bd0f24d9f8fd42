"""Report of a reproduction: reproduction.html, its CSV files and the terminal."""

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.table import Table

from analysis import rendering
from analysis.fmt import counted
from analysis.graphs.inline import board
from analysis.graphs.layers import GraphGroup
from analysis.pages.published import csv_text, groups, headline, mechanisms, parts, reasons
from analysis.pages.reproduction_graphs import graphs
from analysis.records.json_reader import Problems, printable
from analysis.records.spec_file import ReproductionFile, read_reproduction
from analysis.rendering import Terminal, text_table
from analysis.statistics import published
from analysis.statistics.paired_tests import FEWEST

MOST_ROWS = 400  # rows of a study's table on the page, and failures of its list; the files have all
MOST_OPEN = 40  # rows of a study that are shown without a click


@dataclass(frozen=True)
class ReproductionReport:
    """Results of a reproduction, and the path of its page."""

    facts: ReproductionFile
    identity: str
    studies: tuple[published.JudgedStudy, ...]
    problems: tuple[str, ...]
    page: Path

    @cached_property
    def counts(self) -> published.Counts:
        return published.count([judged for study in self.studies for judged in study.rows])

    @cached_property
    def setting_counts(self) -> published.SettingCounts:
        """The sums over all studies, which share no setting."""
        return sum((study.setting_counts for study in self.studies), Counter())

    @property
    def remarks(self) -> list[str]:
        """Rows without a verdict, failed runs and unreadable files, in sentences."""
        counts, failed = self.counts, self.facts.failures
        unrun, few = counts[published.Word.UNRUN] - counts["later"], counts[published.Word.FEW]
        remarks = [
            (unrun, f"{counted(unrun, 'row was', 'rows were')} not run: no verdict there."),
            (few, f"{counted(few, 'row has', 'rows have')} fewer than {FEWEST} runs: not judged."),
            (failed, f"{counted(failed, 'run')} failed, without a value."),
        ]
        return [*(sentence for amount, sentence in remarks if amount), *self.problems]

    @property
    def sound(self) -> bool:
        """True if every row of this form was run and read; a row that differs is a result."""
        return self.facts.status == "complete" and not self.remarks

    @property
    def headline(self) -> str:
        """The numbers of settings by verdict, if any is judged, and those of numbers."""
        counts, numbers = self.setting_counts, headline(self.counts, self.facts.mode)
        judged = counts["settings"] - counts["unjudged"]
        if not judged:
            return numbers
        links = counts["line_rate"]
        full = f" (a full link makes {links:,} of them)" if links else ""
        hold = counted(counts["hold"], "holds", "hold")
        differ = counted(counts["differ"], "differs", "differ")
        return (
            f"Of {counted(judged, 'published setting')} {hold}{full}, {counts['in_part']:,} in"
            f" part, and {differ}. {numbers}"
        )

    @property
    def how_whole(self) -> str:
        facts, later = self.facts, self.counts["later"]
        only = [*facts.only, *(f"rows with {text}" for text in facts.rows)]
        chosen = f" Selected: {', '.join(map(printable, only))}." if only else ""
        if facts.status != "complete":
            whole = f"not complete (status: {facts.status}). It shows what was finished."
            return f"This reproduction is {whole}{chosen}"
        if self.remarks:
            return f"Not everything could be run or read.{chosen}"
        if later:
            return f"Every row of the short form was run; {later:,} more are in --full.{chosen}"
        return f"Every row of this page that a run can give was run.{chosen}"

    @property
    def repeat(self) -> str:
        mode, facts = self.facts.mode, self.facts
        words = ["./tcplab reproduce", *[f"--{mode}"] * (mode in ("quick", "full"))]
        words += [f"--only {shlex.quote(printable(one))}" for one in facts.only]
        return " ".join([*words, *(f"--rows {shlex.quote(printable(one))}" for one in facts.rows)])


def make_reproduction_report(path: Path, out: Path | None = None) -> ReproductionReport:
    """Judge the reproduction in `path` and write its page. Raises UsageError, TcplabError."""
    problems, folder = Problems(), out or path
    facts = read_reproduction(path, problems)
    studies = tuple(published.judge_study(study) for study in facts.studies)
    page = folder / "reproduction.html"
    report = ReproductionReport(facts, facts.id or path.name, studies, tuple(problems.found), page)
    rendering.write(folder, _files(report), "report FOLDER")
    return report


def _files(report: ReproductionReport) -> Iterator[tuple[str, bytes]]:
    drawn = [graphs(one, number) for number, one in enumerate(report.studies, 1)]
    context = {
        "report": report,
        "with_period": [one.study.name for one in report.studies if one.study.profile],
        "with_kernel": [one.study.name for one in report.studies if one.has("period_kernel")],
        "drawn": any(drawn),
        **board(drawn),
        "studies": [_shown(*pair) for pair in zip(report.studies, drawn, strict=True)],
        "tolerance": f"{100 * published.TOLERANCE:g} %",
        "digests": [(printable(name), digest) for name, digest in report.facts.digests.items()],
        "most": MOST_ROWS,
        "most_open": MOST_OPEN,
    }
    yield "reproduction.csv", csv_text(report.studies).encode()
    yield "reproduction.html", rendering.render("reproduction.html", context).encode()


def _shown(judged: published.JudgedStudy, drawn: GraphGroup | None) -> dict[str, Any]:
    study, listed = judged.study, reasons(judged.rows)
    has_other = study.profile or judged.has("period_kernel")
    return {
        "judged": judged,
        "today": published.count(judged.rows, "today") if has_other else None,
        "sentence": ", ".join(parts(judged.counts)),
        "graphs": drawn,
        "mechanisms": mechanisms(judged.rows),
        "groups": groups(judged.rows[:MOST_ROWS], listed),
        "source": study.source if study.year in study.source else f"{study.source} ({study.year})",
    }


MOST_REMARKS = 12  # remarks that are printed; the page has all


def print_reproduction(report: ReproductionReport) -> None:
    terminal = Terminal()
    terminal.say(report.headline)
    terminal.check(report.remarks, MOST_REMARKS)
    terminal.print(_table(report))
    for judged in report.studies:
        if judged.has("period_kernel") and (kernel := judged.study.kernel):
            name, linux, taken = map(printable, (judged.study.name, kernel.linux, kernel.taken))
            terminal.say(f"{name} had Linux {linux}, repeated on {taken}.")
    terminal.end(report.page, report.facts.status, "This is marked {}: it is incomplete.")


def _table(report: ReproductionReport) -> Table:
    whole = (report.setting_counts, report.counts)
    named = [(one.study.name, (one.setting_counts, one.counts)) for one in report.studies]
    columns = {
        title: (which, name)
        for title, (which, name) in _COLUMNS.items()
        if title in _ALWAYS or whole[which][name]  # so many columns need a wide terminal
    }
    rows = [
        [study, *(str(both[which][name]) for which, name in columns.values())]
        for study, both in (*named, ("all", whole))
    ]
    title = "Published settings, and their numbers, measured"
    table = text_table(["study", *columns], rows, title, range(1, len(columns) + 1))
    table.columns[0].no_wrap = True
    table.rows[len(named) - 1].end_section = bool(named)
    return table


_COLUMNS = {
    "settings": (0, "settings"),
    "hold": (0, "hold"),
    "full link": (0, "line_rate"),
    "in part": (0, "in_part"),
    "differ": (0, "differ"),
    "numbers": (1, "rows"),
    "agree": (1, published.Word.AGREES),
    "lie within": (1, published.Word.WITHIN),
    "differ ": (1, published.Word.DIFFERS),
    "not judged": (1, published.Word.FEW),
    "not run": (1, published.Word.UNRUN),
    "not stated": (1, published.Word.UNSTATED),
    "listed": (1, published.Word.LISTED),
}
"""The table's columns: counts of settings (0) or of numbers (1), and the key."""
_ALWAYS = ("settings", "hold", "numbers", "agree")
