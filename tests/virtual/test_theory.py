"""The studies against theory in the lab kernel: the law is shown, and a wrong one contradicted."""

from dataclasses import replace
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import experiments
from analysis.measures.results import RunResults
from analysis.pages.run import RunReport
from analysis.reporting.laws import LawComparison, verdict_of
from experiments.reporting.studies import make_report
from experiments.run.session import RunRequest, carry_out
from experiments.study.catalogue import find
from experiments.study.grid import single
from testbed.lab.ready import Lab

pytestmark = pytest.mark.virtual
WRONG = 1.5  # times the right value, which no study's tolerance bears


def compared(study: str, results: RunResults) -> LawComparison:
    comparison: LawComparison = import_module(f"{experiments.__name__}.{study}.report").compare(
        results
    )
    return comparison


def with_parameter(results: RunResults, name: str, value: str) -> RunResults:
    """The same run, as if its path had been another."""
    run = results.run
    parameters = {**run.spec.parameters, name: value}
    return replace(results, run=replace(run, spec=_with(run.spec, parameters)))


def _with(spec: Any, parameters: dict[str, str]) -> Any:
    from msgspec.structs import replace as changed

    return changed(spec, parameters=parameters)


def report_of_run(
    study: str, lab: Lab, out: Path, settings: dict[str, str], seeds: tuple[int, ...] = (1,)
) -> RunReport:
    point = single(find(study), [f"{name}={value}" for name, value in settings.items()])
    request = RunRequest(point.spec, point.parameters, seeds, "virtual", out)
    return make_report(carry_out(request, lab))


@pytest.mark.parametrize(
    ("study", "settings", "other_path"),
    [
        ("slow_start", {}, None),
        ("reno_sawtooth", {"duration": "65s"}, ("bw", "15mbit")),
        ("cubic_curve", {"duration": "30s"}, None),
        ("loss_formula", {}, None),
        ("fair_shares", {"duration": "80s"}, ("bw", "30mbit")),
        ("window_limit", {"duration": "5s"}, ("delay", "75ms")),
    ],
)
def test_a_run_shows_the_law_and_contradicts_a_wrong_one(
    ready_lab: Lab,
    tmp_path: Path,
    study: str,
    settings: dict[str, str],
    other_path: tuple[str, str] | None,
) -> None:
    # Under random losses one of six points of a single seed may lie outside by chance.
    seeds = (1, 2, 3, 4, 5, 6) if study == "loss_formula" else (1,)
    report = report_of_run(study, ready_lab, tmp_path, settings, seeds)
    assert report.sound
    assert report.claim is not None and report.claim.word == "shown", report.claim
    assert report.claim.question in unescape(report.page.read_text())
    assert '<section class="graph" id="law">' in report.page.read_text()
    comparison = compared(study, report.results)
    wrong = [replace(point, theory=WRONG * point.theory) for point in comparison.points]
    assert verdict_of(comparison.law, wrong).word == "contradicted"
    if other_path:
        elsewhere = compared(study, with_parameter(report.results, *other_path))
        assert verdict_of(elsewhere.law, elsewhere.points).word == "contradicted"


def test_time_outs_are_what_the_square_root_law_leaves_out(ready_lab: Lab, tmp_path: Path) -> None:
    """At 5 % it gives far more than the sender reaches; at 0.5 % it is near."""
    settings = {"duration": "60s", "losses": "0.5%+5%"}
    report = report_of_run("loss_formula", ready_lab, tmp_path, settings)
    assert report.claim is not None and report.claim.word == "not shown"  # two points only
    _, facts = report.listings
    low, high = (float(row[facts.head.index("measured / square root law")]) for row in facts.rows)
    assert high < 0.8 < low < 1.2
