"""The reports of studies, which the analysis takes from its caller."""

from __future__ import annotations

from pathlib import Path

from analysis.network.verdict import NetworkVerdict
from analysis.pages import run
from analysis.pages.run import RunReport
from analysis.pages.sweep import page
from analysis.pages.sweep.page import SweepReport
from analysis.reporting.studies import StudyReport
from experiments.harness.definition.catalogue import part
from topologies.foundation.errors import TcplabError


def report_of(experiment: str) -> StudyReport:
    """Return `REPORT` of the study's module `report`, or the plain report without one.

    The name may come from an untrusted folder: only parts of known studies are imported. Raises
    TcplabError for a module `report` without `REPORT`.
    """
    module = part(experiment, "report")
    if module is None:
        return StudyReport()
    report = getattr(module, "REPORT", None)
    if not isinstance(report, StudyReport):
        raise TcplabError(
            f"{module.__file__} has no REPORT.", "Write REPORT = StudyReport(...) in it."
        )
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


def make_sweep_report(path: Path, out: Path | None = None) -> SweepReport:
    """Analyze the sweep in `path` and write its page into `out`, by default into `path`.

    Raises UsageError where there is no sweep, TcplabError where it cannot be read or the page
    cannot be written.
    """
    return page.make_sweep_report(path, out, report_of)
