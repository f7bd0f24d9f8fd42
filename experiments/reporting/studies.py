"""The reports of studies, which the analysis takes from its caller; figures of runs and sweeps.

As a program this is the analysis with these reports; a run starts it early with `serve`.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

import click

from analysis import flows, rendering
from analysis.__main__ import PageCommand, main, start
from analysis.graphs.layers import PaperSize
from analysis.network.verdict import NetworkVerdict, judge_network
from analysis.pages import run, sweep
from analysis.pages.papers import (
    KINDS,
    FigureRequest,
    Kind,
    PaperFigure,
    PaperTable,
    make_figure,
    require_ending,
)
from analysis.pages.run import RunReport
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting.laws import claimed_report
from analysis.reporting.studies import StudyReport
from experiments.study.catalogue import known
from experiments.study.published import law_file
from experiments.study.reports import law
from topologies.errors import TcplabError


def report_of(experiment: str) -> StudyReport:
    """Return `REPORT` of the study's report, that of its law, or the plain one. Raises TcplabError.

    The name may come from an untrusted folder: only parts of known studies are imported.
    """
    if not (named := known(experiment)):
        return StudyReport()
    module = named.part("report")
    if module is None:
        file = named.file.with_name("law.toml")
        content = law_file(file) if file.exists() else {}
        if "report" not in content:
            return StudyReport()
        return claimed_report(law(str(file)), tuple(content["report"]["assumptions"]))
    report = getattr(module, "REPORT", None)
    if not isinstance(report, StudyReport):
        problem = f"{module.__file__} has no REPORT."
        raise TcplabError(problem, "Write REPORT = StudyReport(...) in it.")
    return report


def make_report(
    path: Path, out: Path | None = None, network: NetworkVerdict | None = None
) -> RunReport:
    """Analyze the run in `path` and write its report into `out`, by default into the run.

    `network` is the verdict on its network, if it is known. Raises UsageError where there is no
    run, TcplabError where it cannot be read or the report cannot be written. What else is missing
    or broken is in the report and in `problems`.
    """
    return run.make_report(path, out, network, report_of)


make_sweep_report = partial(sweep.make_sweep_report, report_of=report_of)
__all__ = ["KINDS", "figure", "require_ending"]


def figure(
    folder: Path | str,
    kind: str = "series",
    *,
    paper: str = "ieee",
    columns: int = 1,
    metric: str | None = None,
    quantities: Sequence[str] = (),
) -> PaperFigure | PaperTable:
    """Return a figure or a table of a run or sweep, which a notebook shows and `save` writes.

    `kind` is series, shares, cdf, box, grid or table; `paper` and `columns` give the width.
    Raises UsageError for a kind that the folder has no data for.
    """
    request = FigureRequest(
        Path(folder),
        cast(Kind, kind),
        PaperSize(paper, columns),
        metric,
        tuple(quantities),
        report_of,
    )
    return make_figure(request)


@main.command(cls=PageCommand, hidden=True)
@click.argument("study")
@click.argument("descriptor", type=int)
def serve(study: str, descriptor: int) -> RunReport:
    """Judge the network of a run, then make its report. Folders come as lines of standard input.

    The verdict goes to DESCRIPTOR as a line of JSON. STUDY is the run's experiment.
    """
    _load(study)
    verdict = judge_network(read_run(_named_on_stdin(), Problems()))
    with open(descriptor, "w", encoding="utf-8") as answers:
        answers.write(f"{json.dumps(verdict.as_data())}\n")
    made = run.make_report(_named_on_stdin(), None, verdict, report_of)
    run.print_report(made)
    return made


def _load(study: str) -> None:
    """Load all that takes time: the run goes on meanwhile."""
    flows.load_engine()
    rendering.load()
    with suppress(TcplabError):  # which comes again when the report is made, and is told then
        report_of(study)


def _named_on_stdin() -> Path:
    if not (name := sys.stdin.readline().rstrip("\n")):
        raise SystemExit(2)
    return Path(name)


if __name__ == "__main__":
    start(report_of)
