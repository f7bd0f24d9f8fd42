"""Report of a run: report.html, answers.md and the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from analysis.graphs.layers import GraphGroup
from analysis.graphs.stored import board_data
from analysis.measures.results import Measured, RunResults, measure_all, spread
from analysis.network.verdict import NetworkVerdict, Usability, judge_network
from analysis.pages.published import PublishedNumbers, published_with_run
from analysis.pages.terminal import BROKEN, CHECK, Terminal, text_table
from analysis.records.evidence import Evidence, read_evidence
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, read_run
from analysis.rendering import page_files
from analysis.reporting import quantities
from analysis.reporting.answers import Answer, in_comparison
from analysis.reporting.claims import enough, repeat_command
from analysis.reporting.studies import ReportOf, StudyReport, plain
from analysis.reporting.tables import Listing, ReportQuantity, ReportTable
from analysis.statistics.claims import ClaimVerdict, withheld
from analysis.statistics.paired_tests import FEWEST
from analysis.statistics.wording import numbered


def conditions_and_seeds(run: RunRecord) -> str:
    """Name the conditions, the number of repetitions and the seeds."""
    labels = ", ".join(condition.label for condition in run.conditions)
    count = len(run.seeds)
    seeds = ", ".join(map(str, run.seeds[:12])) + (", ..." if count > 12 else "")
    which = f" (seed{'s' if count > 1 else ''} {seeds})" if count else ""
    return f"Conditions: {labels}. Repetitions: {count}{which}."


def shared_draws(run: RunRecord, evidence: Evidence) -> str:
    """Say that the conditions of one seed lose the same packets, if the kernel could do that."""
    if len(run.conditions) < 2 or not evidence.same_draws:
        return ""
    return "Every condition of a seed has the same random draws, so pairs are compared."


def kind_of_link(evidence: Evidence) -> str:
    """Name the kind of link if it was no line."""
    if not evidence.has_buckets:
        return ""
    return (
        "Links were token buckets, as timers of real time need them: a lone packet and short bursts"
        " pass at once."
    )


def of_an_old_kernel(evidence: Evidence) -> str:
    """Name the settings that an old kernel shares between hosts or lacks."""
    shared, absent = evidence.shared_sysctls, evidence.absent_sysctls
    sentences = []
    if shared:
        sentences.append(f"This kernel has one value for all hosts of: {', '.join(shared)}.")
    if absent:
        sentences.append(f"It does not have: {', '.join(absent)}.")
    if evidence.has_bridges:
        sentences.append("Switches were bridges: it has no Open vSwitch.")
    return " ".join(sentences)


def packets_to_see(results: RunResults) -> str:
    """Describe the pages of packets, by the captures and samples that exist."""
    ends = max((len(trial.ends) for trial in results.first), default=0)
    if not ends:
        return ""
    windows = ", windows" if any(trial.samples for trial in results.first) else ""
    exchange, source = (" and what both ends saw", "captures") if ends > 1 else ("", "capture")
    seed = results.first[0].trial.seed
    shown = f"Sequence numbers, throughput, round trips{windows}{exchange}"
    return f"{shown}, from the {source} of seed {seed}."


def no_graph(results: RunResults) -> str:
    """Explain why there is no graph."""
    if not results.measured:
        return "No graph: the run has no measurement."
    if any(trial.ends or trial.samples for trial in results.first):
        return "There is no graph of these flows: only TCP's are drawn."
    return "No graph could be drawn: there is neither a capture nor a sample of a socket."


def how_figures_are_written(run: RunRecord) -> list[str]:
    """Explain a cell and the column of differences."""
    if len(run.seeds) < 2:
        return ["Figures are those of the one repetition."]
    medians = "Figures are medians over the repetitions, with the range in brackets."
    differences = (
        "The column of differences compares pairs of one seed: the ratio, or the difference if"
        " a value is not above zero, after Hodges and Lehmann. From six repetitions on it has"
        " its 95 % interval, and if there are enough for all figures of a table together also"
        " a verdict, by Wilcoxon's signed-rank test with Holm's correction"
        " (docs/concepts/statistics.md)."
    )
    return [medians, differences] if len(run.conditions) > 1 else [medians]


def same_again(run: RunRecord) -> str:
    """Name what the same seeds reproduce, which only virtual time can promise."""
    if run.manifest.testbed != "virtual":
        return ""
    what = "captures" if run.captures else "packets"
    return f"The same seeds, kernel and image give the same {what}, byte for byte."


UNDECLARED = (
    "No claim is declared, so this page judges none. A spec declares one as its `headline`:"
    " docs/guides/own-studies.md, *A claim*."
)


def title(run: RunRecord, verdict: ClaimVerdict | None) -> str:
    """Return the question that the run is about."""
    declared = run.spec.headline or verdict
    return (declared and declared.question) or f"What happened in {run.experiment}?"


def verdict_on_claim(
    verdict: ClaimVerdict | None, run: RunRecord, evidence: Evidence, network: NetworkVerdict
) -> ClaimVerdict | None:
    """Return the verdict, withheld if the run is incomplete or unproved or its network unusable."""
    if verdict is None:
        return None
    if not _is_complete(run):
        return withheld(
            verdict, f"this run is marked {run.status}, and its figures are not evidence."
        )
    if not evidence.held:
        return withheld(verdict, "no proof that the conditions held.")
    if network.verdict == Usability.UNUSABLE:
        return withheld(verdict, "the network did not match the specification.")
    return verdict


def _is_complete(run: RunRecord) -> bool:
    return run.status == "complete" and not run.failures


def first_lines(run: RunRecord, verdict: ClaimVerdict | None) -> list[str]:
    """Return the verdict, and the command for more repetitions if they are too few for one."""
    if verdict is None:
        return [UNDECLARED]
    too_few = verdict.repetitions < max(FEWEST, enough(run))
    if _is_complete(run) and verdict.word == "not shown" and too_few:
        return [verdict.line, f"Enough repetitions: {repeat_command(run, enough(run))}"]
    return [verdict.line]


def claim_file(run: RunRecord, verdict: ClaimVerdict | None) -> bytes:
    """Return claim.json, the verdict for programs; its `word` is null if no claim is declared."""
    data = verdict.data if verdict else {"word": None, "sentence": UNDECLARED}
    metric = run.spec.headline.metric if run.spec.headline else None
    content = {"format": 1, "experiment": run.experiment, "metric": metric, **data}
    return (json.dumps(content, indent=1) + "\n").encode()


TEMPLATES = ("answers.md", "report.html")


@dataclass(frozen=True)
class RunReport:
    """Results of a run, and the path of its page."""

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
        """True if the run is complete, readable and proved."""
        return _is_complete(self.run) and self.evidence.held and not self.problems


def make_report(
    path: Path,
    out: Path | None = None,
    network: NetworkVerdict | None = None,
    report_of: ReportOf = plain,
) -> RunReport:
    """Analyse the run in `path` and write the report into `out` (by default into the run itself).

    `network` is the verdict on its network, if it is known; `report_of` finds the report of its
    study.

    Raises UsageError where there is no run, TcplabError where it cannot be read at all or
    the report cannot be written. All else that is missing or broken is named in the report and in
    `problems`.
    """
    problems, folder = Problems(), out or path
    run = read_run(path, problems)
    evidence = read_evidence(run, problems)
    results = measure_all(run, problems)
    if not results.measured:
        problems.add("The run holds no repetition.")
    study = report_of(run.experiment)
    table = study.table(results)
    published = (
        PublishedNumbers(()) if table.compares else published_with_run(results, problems)
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
    """Write all files. Raises TcplabError with a remedy where the folder takes none."""
    page_files.write(folder, _files(report), "report RUN_DIR")


def _files(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents one by one: two graphs of a fast flow do not fit into memory."""
    yield from _packet_graphs(report)
    yield from report.study.extra_files(report.run)
    yield "claim.json", claim_file(report.run, report.claim)
    context = _context(report)
    yield from ((name, page_files.render(name, context).encode()) for name in TEMPLATES)


def _groups(report: RunReport) -> list[GraphGroup]:
    return report.study.graphs(report.results)


def _packet_graphs(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Yield a page for each condition of the first seed, and the files for xplot."""
    from analysis.reporting import run_graphs

    for measured in report.results.first:
        trial = measured.trial
        if measured.ends:
            title = f"{report.run.experiment}: {trial.condition.label}, seed {trial.seed}"
            yield _page_name(measured), run_graphs.page(title, measured).encode()
        place = f"graphs/seed-{trial.seed}/{trial.condition.name}"
        yield from ((f"{place}/{name}", content) for name, content in run_graphs.xplot(measured))


def _page_name(trial: Measured) -> str:
    return f"graphs/seed-{trial.trial.seed}/{trial.trial.condition.name}/graphs.html"


def _context(report: RunReport) -> dict[str, Any]:
    run, manifest = report.run, report.run.manifest
    groups, conditions = _groups(report), in_comparison(report.results)
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
        "comparison": f"{conditions[1].label} against {conditions[0].label}" if conditions else "",
        "labels": [condition.label for condition in run.conditions],
    }


def _sentences(report: RunReport) -> dict[str, Any]:
    """Return the sentences that hold for some runs only."""
    run, results = report.run, report.results
    return {
        "conditions_and_seeds": conditions_and_seeds(run),
        "shared_draws": shared_draws(run, report.evidence),
        "kind_of_link": kind_of_link(report.evidence),
        "of_an_old_kernel": of_an_old_kernel(report.evidence),
        "packets_to_see": packets_to_see(results),
        "no_graph": no_graph(results),
        "how_figures_are_written": how_figures_are_written(run),
        "same_again": same_again(run),
        "xplot_files": (
            "Graphs for xplot are in graphs/." if any(trial.ends for trial in results.first) else ""
        ),
    }


SHORT = (
    quantities.THROUGHPUT,
    quantities.RETRANSMISSIONS,
    quantities.TIMEOUTS,
    quantities.PAUSED,
    quantities.LOSS_SHARE,
)

_WIDEST = 40
"""Characters of a cell that still fits next to others."""
_MOST_LINES = 10
_BETWEEN = 3
"""Characters of the frame next to each column."""


def print_report(report: RunReport) -> None:
    """Print the verdict, five quantities and the report's path to standard output."""
    terminal, run = Terminal(), report.run
    first, *others = first_lines(run, report.claim)
    terminal.say(first, style="bold")
    terminal.say(*others)
    remarks = (*run.failures, *run.warnings, *report.problems)
    terminal.check(remarks, len(remarks))
    if report.results.measured:
        terminal.print(_table(report))
    if report.listings and (listing := _listing(report.listings[0], terminal.width)):
        terminal.print(listing)
    if report.published:
        terminal.print(report.published.table(_MOST_LINES))
    network = report.network
    style = {Usability.GOOD: "green", Usability.CARE: CHECK}.get(network.verdict, BROKEN)
    terminal.say(f"The network of this run: {network.verdict}.", style=style)
    terminal.say(*(f"  {reason}" for reason in network.reasons))
    terminal.end(report.page, run.status, "This run is marked {}: do not use its figures.")


def _table(report: RunReport) -> Table:
    run, quantities_shown = report.run, report.study.short or _usual(report)
    lines = []
    for quantity in quantities_shown:
        found = [quantity.of(report.results, condition) for condition in run.conditions]
        if any(found) or not report.study.short:
            lines.append([quantity.title, *map(spread, found)])
    labels = [condition.label for condition in run.conditions]
    title = f"{run.experiment}, {numbered(len(run.seeds), 'repetition')}"
    return text_table(["Quantity", *labels], lines, title, range(1, len(labels) + 1))


def _usual(report: RunReport) -> tuple[ReportQuantity, ...]:
    if len(report.run.flows) == 1:
        return SHORT
    return (*quantities.FLOWS, quantities.RESENT, quantities.ALL_TIMEOUTS)


def _listing(listing: Listing, width: int) -> Table | None:
    """Return the listing without columns of long cells; None if it is too large for `width`."""
    columns = list(zip(listing.head, *listing.rows, strict=True))
    kept = [column for column in columns[1:] if max(map(len, column)) <= _WIDEST]
    kept.insert(0, columns[0])
    used = sum(max(map(len, column)) + _BETWEEN for column in kept)
    if used >= width or len(listing.rows) > _MOST_LINES:
        return None
    head, *rows = zip(*kept, strict=True)
    return text_table(head, rows, listing.title, range(1, len(kept)))
