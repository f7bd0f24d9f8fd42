"""Writes report.html, answers.md and the graphs of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.graphs.layers import GraphGroup
from analysis.graphs.stored_graphs import board_data
from analysis.measures.results import Measured, RunResults, measure_all
from analysis.network.network_verdict import NetworkVerdict, judge_network
from analysis.pages.published.published_table import PublishedNumbers
from analysis.pages.published.run_values import published_beside
from analysis.pages.run import page_sentences
from analysis.pages.run.claim_lines import claim_file, first_lines, title, verdict_on_claim
from analysis.records.evidence import Evidence, read_evidence
from analysis.records.problems import Problems
from analysis.records.run_directory import RunRecord, read_run
from analysis.rendering import page_files
from analysis.reporting.answers import Answer, in_comparison
from analysis.reporting.repeat_command import repeat_command
from analysis.reporting.study_reports import ReportOf, StudyReport, plain
from analysis.reporting.tables import Listing, ReportTable
from analysis.statistics.claims import ClaimVerdict

TEMPLATES = ("answers.md", "report.html")


@dataclass(frozen=True)
class RunReport:
    """What was found, and where its page is."""

    run: RunRecord
    results: RunResults
    study: StudyReport
    claim: ClaimVerdict | None
    published: PublishedNumbers
    table: ReportTable
    listings: tuple[Listing, ...]
    answers: tuple[Answer, ...]
    evidence: Evidence
    problems: tuple[str, ...]
    page: Path
    network: NetworkVerdict

    @property
    def sound(self) -> bool:
        """Whether the run is complete and all of it could be read and proved."""
        return (
            self.run.status == "complete"
            and self.evidence.held
            and not (self.problems or self.run.failures)
        )


def make_report(
    path: Path,
    out: Path | None = None,
    network: NetworkVerdict | None = None,
    report_of: ReportOf = plain,
) -> RunReport:
    """Analyses the run in `path` and writes the report into `out` (by default into the run itself).

    `network` is the verdict on its network, if it is known; `report_of` finds the report of its
    study.

    Raises UsageError where there is no run, TcplabError where it cannot be read at all or
    nothing can be written. Whatever else is missing or broken is told in the report and in
    `problems`.
    """
    problems, folder = Problems(), out or path
    run = read_run(path, problems)
    evidence = read_evidence(run, problems)
    results = measure_all(run, problems)
    if not results.measured:
        problems.add("The run holds no repetition: nothing was measured.")
    study = report_of(run.experiment)
    table = study.table(results)
    published = (
        PublishedNumbers(()) if table.compares else published_beside(results, problems)
    )  # its table has them
    network = network or judge_network(run)
    report = RunReport(
        run,
        results,
        study,
        verdict_on_claim(study.verdict(results), run, evidence, network),
        published,
        table,
        study.listings(results),
        study.answers(results),
        evidence,
        tuple(problems.found),
        folder / "report.html",
        network,
    )
    write_report(report, folder)
    return report


def write_report(report: RunReport, folder: Path) -> None:
    """Writes all files. Raises TcplabError with a remedy where the folder takes none."""
    page_files.write(folder, _files(report), "report RUN_DIR")


def _files(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Names and contents one by one: the graphs of a fast flow are too big to hold twice."""
    yield from _packet_graphs(report)
    yield from report.study.extra_files(report.run)
    yield "claim.json", claim_file(report.run, report.claim)
    context = _context(report, _groups(report))
    yield from ((name, page_files.render(name, context).encode()) for name in TEMPLATES)


def _groups(report: RunReport) -> list[GraphGroup]:
    return report.study.graphs(report.results)


def _packet_graphs(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Of the first seed: a page for each condition, and the files for xplot."""
    from analysis.reporting import packet_graphs

    for trial in report.results.first:
        if trial.ends:
            title = (
                f"{report.run.experiment}: {trial.trial.condition.label}, seed {trial.trial.seed}"
            )
            yield _page_name(trial), packet_graphs.page(title, trial).encode()
        place = f"graphs/seed-{trial.trial.seed}/{trial.trial.condition.name}"
        yield from ((f"{place}/{name}", content) for name, content in packet_graphs.xplot(trial))


def _page_name(trial: Measured) -> str:
    return f"graphs/seed-{trial.trial.seed}/{trial.trial.condition.name}/graphs.html"


def _context(report: RunReport, groups: list[GraphGroup]) -> dict[str, Any]:
    run = report.run
    manifest = run.manifest
    return {
        "report": report,
        "run": run,
        "table": report.table,
        "answers": report.answers,
        "listings": report.listings,
        "published": report.published,
        "title": title(run, report.claim),
        "first_lines": first_lines(run, report.claim),
        "verdict": report.claim.word.replace(" ", "-") if report.claim else "undeclared",
        "network": report.network,
        "groups": groups,
        "graphs": board_data(groups),
        "claim": manifest.claim or run.spec.claim,
        "identity": manifest.id or run.path.name,
        "diagram": run.spec.topology.diagram,
        "started": manifest.started,
        "kernel": manifest.kernel.release,
        "kernel_digest": manifest.kernel.digest or "",
        "image_digest": manifest.image.digest if manifest.image else "",
        "testbed": manifest.testbed,
        "durations": manifest.durations,
        "command": repeat_command(run),
        "version": manifest.tcplab,
        "packet_pages": [
            (trial.trial.condition.label, _page_name(trial))
            for trial in report.results.first
            if trial.ends
        ],
        "says": _sentences(report),
        "comparison": _comparison(report.results),
        "labels": [condition.label for condition in run.conditions],
    }


def _sentences(report: RunReport) -> dict[str, Any]:
    """Those that hold for some runs only, by the names of the functions that make them."""
    run, results = report.run, report.results
    return {
        "asked": page_sentences.asked(run),
        "shared_luck": page_sentences.shared_luck(run, report.evidence),
        "kind_of_link": page_sentences.kind_of_link(report.evidence),
        "of_an_old_kernel": page_sentences.of_an_old_kernel(report.evidence),
        "packets_to_see": page_sentences.packets_to_see(results),
        "no_graph": page_sentences.no_graph(results),
        "how_figures_are_written": page_sentences.how_figures_are_written(run),
        "same_again": page_sentences.same_again(run),
        "files_beside": page_sentences.files_beside(results),
    }


def _comparison(results: RunResults) -> str:
    """What heads the column of differences."""
    conditions = in_comparison(results)
    return f"{conditions[1].label} against {conditions[0].label}" if conditions else ""
