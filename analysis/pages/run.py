"""Report of a run: report.html, answers.md and the terminal."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from analysis import rendering
from analysis.fmt import counted, in_a_row, spread
from analysis.graphs.inline import board
from analysis.graphs.inline_stage import stage_frames
from analysis.graphs.layers import GraphGroup, without_zeros
from analysis.graphs.network_picture import network_picture
from analysis.graphs.stored import stage_data
from analysis.measures.evidence import Evidence, read_evidence
from analysis.measures.results import Measured, RunResults, expressions, measure_all
from analysis.network.verdict import NetworkVerdict, Usability, judge_network
from analysis.pages.published import PublishedNumbers, published_with_run
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, read_run
from analysis.rendering import BROKEN, CHECK, Terminal, text_table
from analysis.reporting import endings, over_seeds, run_graphs, studies
from analysis.reporting.answers import Answer, enough, in_comparison, repeat_command
from analysis.reporting.effects import RunEffect, claim_picture, effect_of, goodput
from analysis.reporting.flows import responding, waiting
from analysis.reporting.run_distributions import responses
from analysis.reporting.run_graphs import run_stage
from analysis.reporting.tables import Listing, Q, ReportQuantity, ReportTable
from analysis.statistics.claims import ClaimVerdict, ClaimWord, withheld
from analysis.statistics.paired_tests import FEWEST

UNDECLARED = (
    "No claim is declared, so this page judges none. A spec declares one as its headline"
    " (docs/guides/own-studies.md)."
)


def verdict_on_claim(
    verdict: ClaimVerdict | None, results: RunResults, evidence: Evidence, network: NetworkVerdict
) -> ClaimVerdict | None:
    """Return the verdict, withheld if run, proof, network or a flow failed."""
    run, reason = results.run, ""
    if not run.is_complete:
        reason = f"this run is marked {run.manifest.status}, and its figures are not evidence."
    elif not evidence.held:
        reason = "no proof that the conditions held."
    elif died := endings.died(results):
        reason = died
    elif network.verdict == Usability.UNUSABLE:
        reason = "the network did not match the specification."
    return withheld(verdict, reason) if verdict and reason else verdict


PAGES = ("answers.md", "report.html")
SHARED = "stage.html"  # the stage alone, to hand on


@dataclass(frozen=True)
class RunReport:
    """Results of a run, and the path of its page."""

    run: RunRecord
    results: RunResults
    study: studies.StudyReport
    claim: ClaimVerdict | None
    published: PublishedNumbers
    table: ReportTable
    listings: tuple[Listing, ...]
    answers: tuple[Answer, ...]
    evidence: Evidence
    problems: tuple[str, ...]
    page: Path
    network: NetworkVerdict
    effect: RunEffect | None = None

    @property
    def title(self) -> str:
        declared = self.run.spec.headline or self.claim
        return (declared and declared.question) or f"What happened in {self.run.experiment}?"

    @property
    def first_lines(self) -> list[str]:
        """The verdict, the effect if the verdict does not say it, and the command for enough."""
        claim, run = self.claim, self.run
        verdict = UNDECLARED if claim is None else claim.line
        lines = [*filter(None, [verdict, self._effect_sentence()])]
        lines[0] = f"{lines[0]} {endings.sentence(self.results)}".strip()
        if claim is None:
            return lines
        too_few = claim.repetitions < max(FEWEST, enough(run))
        if run.is_complete and claim.word == ClaimWord.NOT_SHOWN and too_few:
            lines.append(f"Enough repetitions: {repeat_command(run, enough(run))}")
        return lines

    def _effect_sentence(self) -> str:
        """Return a sentence on the effect where a verdict alone would hide it."""
        if not self.run.is_complete:
            return ""
        if own := self.study.effect(self.results):
            return own
        if self.claim is None:
            return goodput(self.results)
        is_decided = self.claim.word != ClaimWord.NOT_SHOWN
        if not self.effect or (is_decided and self.effect.differs(self.results)):
            return ""
        return self.effect.sentence(self.results)

    @property
    def sound(self) -> bool:
        """True if the run is complete, readable and proved."""
        return self.run.is_complete and self.evidence.held and not self.problems


def make_report(
    path: Path,
    out: Path | None = None,
    network: NetworkVerdict | None = None,
    report_of: studies.ReportOf = studies.plain,
    metrics: Sequence[str] = (),
) -> RunReport:
    """Analyse the run in `path` and write the report into `out`, by default into the run.

    `network` is the verdict if it is known; `metrics` are shown in addition. Raises UsageError
    without a run, TcplabError; `problems` names all else that is missing or broken.
    """
    problems, folder = Problems(), out or path
    run = studies.with_metrics(read_run(path, problems), metrics)
    evidence = read_evidence(run, problems)
    results = measure_all(run, problems)
    expressions(run, problems)
    if not results.measured:
        problems.add("The run holds no repetition.")
    study = report_of(run.experiment)
    table = studies.with_rows(study.table(results), results)
    # A table of a study has its published numbers.
    compared = not table.compares
    published = published_with_run(results, problems) if compared else PublishedNumbers(())
    network = network or judge_network(run)
    report = RunReport(
        run,
        results,
        study,
        verdict_on_claim(study.verdict(results), results, evidence, network),
        published,
        table,
        (*study.listings(results), *waiting(results), *responding(results)),
        study.answers(results),
        evidence,
        tuple(problems.found),
        folder / "report.html",
        network,
        effect_of(results, study.short or _usual(run)),
    )
    rendering.write(folder, _files(report), "report RUN_DIR")
    return report


def _files(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents one by one: two graphs of a fast flow do not fit into memory."""
    run, trials = report.run, [each for each in report.results.first if each.ends]
    for measured in trials:
        title = f"{run.experiment}: {measured.trial.condition.label}, seed {measured.trial.seed}"
        yield _page_name(measured), run_graphs.page(title, measured).encode()
    yield "claim.json", _claim_file(report).encode()
    context = _context(report)
    yield from ((name, rendering.render(name, context).encode()) for name in PAGES)
    if context["stage"]:
        made = f"Made with tcplab: {context['command']}"
        stages = {name: context[name] for name in ("stage", "stage_first")}
        shared = {"title": report.title, "answer": report.first_lines[0], "made": made}
        yield SHARED, rendering.render("share.html", {**shared, **stages}).encode()


def _claim_file(report: RunReport) -> str:
    """Return the verdict for programs; its `word` is null if no claim is declared."""
    run, verdict = report.run, report.claim
    data = verdict.data if verdict else {"word": None, "sentence": UNDECLARED}
    metric = run.spec.headline.metric if run.spec.headline else None
    content = {"format": 1, "experiment": run.experiment, "metric": metric, **data}
    content |= {"endings": endings.data(report.results)}
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _groups(report: RunReport) -> list[GraphGroup]:
    """Return the study's graphs, which have the first seed over time, then those of all seeds."""
    results = report.results
    several = len(report.run.seeds) > 1 or len(report.run.flows) > 1
    of_all = (
        responses(results),
        over_seeds.series(results) if several else None,
        over_seeds.shares(results),
        over_seeds.delays(results),
        over_seeds.boxes(results),
    )
    groups = [*report.study.graphs(results), *(group for group in of_all if group)]
    return [kept for group in groups if (kept := without_zeros(group)).graphs]


def _page_name(trial: Measured) -> str:
    return f"graphs/seed-{trial.trial.seed}/{trial.trial.condition.name}/graphs.html"


_CLAIM_WIDE = 340  # pixels of a picture of the claim


def _context(report: RunReport) -> dict[str, Any]:
    run, first = report.run, report.results.first
    groups, conditions = _groups(report), in_comparison(report.results)
    claim_group = claim_picture(report.results, report.effect) or next(iter(groups), None)
    every = {group.key: group for group in (claim_group, *groups) if group}
    asked = run.spec.topology.network()
    staged = run_stage(report.results)
    return {
        **vars(report),
        "report": report,
        "claim_group": claim_group,
        "stage": stage_data(staged) if staged else "",
        "stage_first": stage_frames(staged),
        **board(every.values(), claim_group, _CLAIM_WIDE),
        "network_svg": network_picture(asked) if asked else "",
        "verdict": report.claim.word.replace(" ", "-") if report.claim else "undeclared",
        "groups": [group for group in groups if group is not claim_group],
        "identity": run.manifest.id or run.path.name,
        "settings": studies.setting_words(run.spec.parameters),
        "command": repeat_command(run),
        "packet_pages": [
            (trial.trial.condition.label, _page_name(trial)) for trial in first if trial.ends
        ],
        "comparison": f"{conditions[1].label} against {conditions[0].label}" if conditions else "",
        "labels": [condition.label for condition in run.conditions],
        "seeds": in_a_row(run.seeds, 12),
    }


_WIDEST = 40  # characters of a cell that still fits next to others
_MOST_LINES = 10
_BETWEEN = 3  # characters of the frame next to each column


def print_report(report: RunReport) -> None:
    terminal, run = Terminal(), report.run
    first, *others = report.first_lines
    terminal.say(first, style="bold")
    terminal.say(*others)
    remarks = (*run.manifest.failures, *run.manifest.warnings, *report.problems)
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
    terminal.end(report.page, run.manifest.status, "This run is marked {}: do not use its figures.")


def _table(report: RunReport) -> Table:
    run, usual = report.run, report.study.short or _usual(report.run)
    lines = []
    for quantity in (*usual, *studies.expressions_of(report.results)):
        found = [quantity.of(report.results, condition) for condition in run.conditions]
        if any(found) or not report.study.short:
            lines.append([quantity.scoped(run).title, *map(spread, found)])
    labels = [condition.label for condition in run.conditions]
    title = f"{run.experiment}, {counted(len(run.seeds), 'repetition')}"
    return text_table(["Quantity", *labels], lines, title, range(1, len(labels) + 1))


def _usual(run: RunRecord) -> tuple[ReportQuantity, ...]:
    if len(run.flows) == 1:
        return Q.group("SHORT")
    return (*Q.group("FLOWS"), Q["RESENT"], Q["ALL_TIMEOUTS"])


def _listing(listing: Listing, width: int) -> Table | None:
    """Return the listing without columns of long cells; None if it is too large for `width`."""
    first, *others = zip(listing.head, *listing.rows, strict=True)
    kept = [first, *(column for column in others if max(map(len, column)) <= _WIDEST)]
    used = sum(max(map(len, column)) + _BETWEEN for column in kept)
    if used >= width or len(listing.rows) > _MOST_LINES:
        return None
    head, *rows = zip(*kept, strict=True)
    return text_table(head, rows, listing.title, range(1, len(kept)))
