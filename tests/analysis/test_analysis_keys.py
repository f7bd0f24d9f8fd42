"""A measure is asked for by a declared name: a misspelt one is an error, not "no value"."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from analysis.flows.columns import OURS, TCPTRACE, table_rows
from analysis.measures.metrics import OF_ACKS, OF_DATA, UnknownMetric, counter, metric
from analysis.measures.results import measure_all, value_of
from analysis.pages.published import published_with_run
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting import tables
from labs.measuring.measures import MeasuredRun
from tests.analysis.made_runs import flow, line, made_run
from topologies.errors import UsageError

ROOT = Path(__file__).parents[2]
MISSPELT = ["client.rates", "nstat.TcpRetransSeg", "sender.rexmt_pkts", "pause.total", "order", ""]


@pytest.fixture
def run_of_one_flow(tmp_path: Path) -> Path:
    published: list[dict[str, Any]] = [
        {"where": "there", "published": 5, "metric": name, "flow": "", "condition": "fifo"}
        for name in ("server.rate", "server.rates")
    ]
    flows = [flow("flow1", "a", 5001)]
    printed = {"fifo": [{"flow1.server.txt": line(5)}]}
    return made_run(tmp_path / "run", "other", {}, flows, printed, published)


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_raises(name: str) -> None:
    with pytest.raises(UnknownMetric):
        metric(name)
    with pytest.raises((UnknownMetric, UsageError)):
        value_of([{"condition": "fifo", "flow": "flow1"}], name)
    with pytest.raises(UnknownMetric):
        MeasuredRun(({"fifo": {name: 1.0}},))("fifo", name)


def test_a_misspelt_counter_or_attribute_of_a_report_raises_when_the_report_is_loaded() -> None:
    with pytest.raises(UnknownMetric, match=r"Is nstat\.TcpExtTCPTimeouts .*meant"):
        metric("nstat.TcpExtTCPTimeout")
    with pytest.raises(UnknownMetric):
        tables.quantity("nstat.TcpExtTCPTimeout")


def test_a_text_is_no_key(run_of_one_flow: Path) -> None:
    problems = Problems()
    results = measure_all(read_run(run_of_one_flow, problems), problems)
    with pytest.raises(TypeError, match="Metric"):
        results.values("server.rate", results.run.conditions[0])  # type: ignore[arg-type]


def test_a_declared_measure_without_a_value_is_none(run_of_one_flow: Path) -> None:
    problems = Problems()
    (measured,) = measure_all(read_run(run_of_one_flow, problems), problems).measured
    assert measured.value(metric("server.rate")) == 5000
    assert measured.value(metric("client.rate")) is None
    assert measured.value(counter("TcpRetransSegs")) is None


def test_a_lab_asks_for_measures_of_its_flows_of_the_run_and_of_witnesses() -> None:
    names = ("udp.goodput_kbit_s", "run.timeouts", "ss.bytes_sent", "nstat.TcpRetransSegs")
    run = MeasuredRun(({"fifo": dict.fromkeys(names, 1.0)},))
    assert [run("fifo", name) for name in names] == [1.0] * 4
    with pytest.raises(KeyError):
        run("fifo", "server.rate")
    for name in ("run.goodput", "run.goodput_kbit_s", "udp.timeouts", "ss.bytes"):
        with pytest.raises(UnknownMetric):
            run("fifo", name)


def test_a_strangers_misspelt_metric_is_told(run_of_one_flow: Path) -> None:
    problems = Problems()
    results = measure_all(read_run(run_of_one_flow, problems), problems)
    rows = published_with_run(results, problems).rows
    assert [judged.row.today for judged in rows] == [(5000.0,), ()]
    assert any("no measure 'server.rates'" in sentence for sentence in problems.found)


def test_every_counter_of_a_lab_kernel_can_be_asked_for(run_directory: Path) -> None:
    path = run_directory / "raw/seed-5/sack_on/counters.json"
    names = json.loads(path.read_text())["after"]["h1"]
    assert len([name for name in names if name.startswith("Tcp")]) > 5
    assert all(counter(name) == metric(f"nstat.{name}") for name in names)


def test_the_error_survives_the_way_between_processes() -> None:
    error = UnknownMetric("client.rates")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == str(copy.copy(error))


def test_each_metric_of_a_capture_is_a_column_that_is_read() -> None:
    known = {column.name for column in (*OURS, *TCPTRACE)}
    rows = table_rows(ROOT / "analysis/measures/metrics.csv")
    named = {row["value"].split(".")[-1] for row in rows if row["value"].startswith("sender.")}
    assert {*OF_DATA, *OF_ACKS} <= known
    assert named & known == {*OF_DATA, *OF_ACKS}
