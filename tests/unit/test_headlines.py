"""The claim of an experiment as data: what it names exists, and it changes no packet."""

from dataclasses import replace

import pytest

from analysis.measures.expressions import parse
from analysis.measures.metrics import is_metric, metric
from analysis.reporting.answers import claim_of_run
from experiments.reporting.studies import report_of
from experiments.spec import ExperimentSpec, Headline, Subject
from experiments.study.catalogue import catalogue, find
from experiments.study.grid import single
from tests.style.test_studies import UNPUBLISHED
from topologies.data import from_data, to_data
from topologies.errors import UsageError

STUDIES = [named.name for named in catalogue()]


def spec_of(study: str, *settings: str) -> ExperimentSpec:
    return single(find(study), settings).spec


@pytest.mark.parametrize("study", [study for study in STUDIES if study not in UNPUBLISHED])
def test_every_study_asks_a_question_and_names_a_measure_that_is_declared(study: str) -> None:
    headline = spec_of(study).headline
    if headline is None:  # then its report judges the run, as those of laws do
        assert report_of(study).verdict is not claim_of_run
        return
    assert headline.question.endswith("?")
    if is_metric(headline.metric):
        assert metric(headline.metric).key == headline.metric
    else:
        parse(headline.metric)


@pytest.mark.parametrize("study", STUDIES)
def test_a_claim_survives_the_way_to_a_file_and_back(study: str) -> None:
    spec = spec_of(study)
    assert from_data(ExperimentSpec, to_data(spec)) == spec


def test_a_claim_changes_no_point_of_a_sweep() -> None:
    run = single(find("sack"), ())
    other = replace(run, spec=run.spec.for_guest())
    assert run.spec.headline is not None and other.spec.headline is None
    assert run.digest == other.digest


def test_a_claim_about_what_is_not_measured_is_refused() -> None:
    spec = spec_of("sack")
    assert spec.headline is not None
    for subject in (Subject("nobody"), Subject("sack_on", "flow9")):
        with pytest.raises(UsageError, match="which is not measured"):
            replace(spec, headline=replace(spec.headline, subject=subject))


def test_a_claim_that_nothing_could_refute_is_refused() -> None:
    with pytest.raises(UsageError, match="has no value to compare"):
        Headline("Is it?", "server.rate", "the rate", Subject("sack_on"), "larger")
    with pytest.raises(UsageError, match="holds for any value"):
        Headline("Is it?", "server.rate", "the rate", Subject("sack_on"), "within")


@pytest.mark.parametrize(
    ("study", "settings", "direction"),
    [
        ("cubic_vs_reno", ("delay=300ms",), "larger"),
        ("cubic_vs_reno", (), "equal"),
        ("udp_fairness", ("queueing=sfq",), "within"),
    ],
)
def test_a_claim_is_about_the_path_that_is_asked_for(study, settings, direction) -> None:
    headline = spec_of(study, *settings).headline
    assert headline is not None and headline.direction == direction


@pytest.mark.parametrize(
    ("study", "setting"),
    [("cubic_vs_reno", "cc=bbr"), ("reordering", "jitter=0s"), ("wan_reordering", "case=baseline")],
)
def test_settings_that_leave_nothing_to_decide_declare_no_claim(study: str, setting: str) -> None:
    assert spec_of(study, setting).headline is None
