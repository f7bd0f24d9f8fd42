"""The studies' own tables, verdicts and answers, from small runs whose truth is known."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.measures.metrics import columns, metric
from analysis.measures.sweep_folder import read_sweep
from analysis.pages.run import RunReport, print_report
from analysis.pages.sweep import make_sweep_report
from analysis.records import output
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting.effects import swept_cells
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing, Q, published_rows
from experiments.packet_dropper import report as packet_dropper
from experiments.reporting.studies import make_report, report_of
from experiments.study.catalogue import catalogue
from experiments.udp_fairness import report as udp_fairness
from tests.analysis.made_runs import UDP_CLIENT, UDP_SERVER, client, flow, line, made_run

FIFO = {"bw": "100mbit", "queueing": "fifo", "udp": "20mbit", "streams": "2"}
LONG = {"bw": "100mbit", "delay": "300ms", "loss": "0%", "duration": "8s", "streams": "1"}
_SIDES = ("client", "server")
SECONDS = "0.459 2.56 5.24 22.4 29.9 30.6 31.1 30.7"


def published(condition: str, **more: Any) -> dict[str, Any]:
    """A published number as a run's spec.json holds it."""
    row = {"where": "300 ms", "quantity": "rate", "unit": "Mbit/s", "published": 29.7}
    ways = {"condition": condition, "period_condition": f"{condition}_period"}
    how = {"metric": "client_kbit_s", "flow": "", "scale": 1e-3, "command": "./tcplab run it"}
    return {**row, **ways, **how, "published_note": "", **more}


def cells(listing: Listing, row: str) -> tuple[str, ...]:
    (found,) = [one[1:] for one in listing.rows if one[0] == row]
    return found


def udp_report(folder: Path, tcp: int, **files: str) -> RunReport:
    """The report of a UDP flow beside `tcp` flows; of files, _ is a point in the name."""
    flows = [flow("udp", "top", 6001, "20mbit")]
    flows += [flow(f"tcp{number}", "right", 5000 + number) for number in range(1, tcp + 1)]
    texts = {"udp_client_txt": UDP_CLIENT, "udp_server_txt": UDP_SERVER} | files
    found = {name.replace("_", "."): text for name, text in texts.items()}
    return make_report(made_run(folder, "udp_fairness", FIFO, flows, {"together": [found]}))


@pytest.fixture
def fair(tmp_path: Path) -> RunReport:
    """A UDP flow with 8.84 of the 20 Mbit/s that it sends, beside TCP flows with 10 and 8."""
    first = {f"tcp1_{side}_txt": line(10) for side in _SIDES}
    return udp_report(tmp_path, 2, **first, **{f"tcp2_{side}_txt": line(8) for side in _SIDES})


def test_a_udp_clients_rate_is_what_it_sent() -> None:
    sent = output.read_summary(UDP_CLIENT.partition("Server Report:")[0])
    assert sent is not None and sent.rate == 20_000
    counted = output.read_datagrams(UDP_SERVER)
    assert counted == output.Datagrams(jitter=0.217, lost=56822, sent=102044)


def test_udp_beside_tcp_is_told_apart(fair: RunReport) -> None:
    both, tcp = fair.listings
    found = " ".join(cells(both, "fifo, together"))
    assert found == "20 8.84 56,822 102,044 55.7 0.217 18 0.988"
    assert cells(tcp, "together") == ("2", "18", "0.988", "8", "10", "10  8")
    values = fair.results.measured[0].values
    assert values[metric("flows.total")] == 18_000, "UDP is another transport"


def test_a_udp_flow_has_its_own_sources_and_no_counters_of_tcp(tmp_path: Path) -> None:
    after = {"top": {"TcpRetransSegs": 0}, "right": {"TcpRetransSegs": 7}}
    made = udp_report(tmp_path, 1, counters_json=json.dumps({"before": {}, "after": after}))
    sources = {row.name: row.source for row in made.table.rows}
    assert sources["iperf server, udp"] == "udp.server.txt, last line"
    assert not any(name.startswith("Retransmitted segments") for name in sources)


def test_an_even_share_is_not_called_unfair(fair: RunReport) -> None:
    assert "The queue enforces it" in " ".join(fair.answers[1].paragraphs)
    assert "| UDP jitter (ms) | 0.217 |" in (fair.page.parent / "answers.md").read_text()
    assert 'id="shares_together"' in fair.page.read_text()


def test_a_run_without_conditions_has_no_effect_of_udp(fair: RunReport) -> None:
    assert udp_fairness.effect(fair.results).startswith("UDP gets 8.84 of the 20 Mbit/s")
    run = replace(fair.results.run, conditions=())
    assert udp_fairness.effect(replace(fair.results, run=run)) == ""


def test_a_udp_flow_with_more_than_its_share_is_called_favoured(tmp_path: Path) -> None:
    server = UDP_SERVER.replace("8.84 Mbits", "19.9 Mbits")
    report = udp_report(tmp_path, 1, udp_server_txt=server, tcp1_server_txt=line(5))
    answer = " ".join(report.answers[1].paragraphs)
    assert "1.6 times as much. The queue does not enforce fairness" in answer


@pytest.fixture
def long_path(tmp_path: Path) -> RunReport:
    """Under the profile the published rate, today twice as much, both with eight seconds of
    lines.
    """
    seconds = [1, 10, 30, 30, 30, 30, 30, 30]
    period = {"flow1.client.txt": client(*seconds, rate=29.6), "flow1.server.txt": line(29.6)}
    today = {
        "flow1.client.txt": client(*(2 * one for one in seconds), rate=59.4),
        "flow1.server.txt": line(59.4),
    }
    number = published("cubic", published_note=f"first seconds: {SECONDS}")
    flows = [flow("flow1", "right", 5001)]
    said = {"cubic": [today], "cubic_period": [period]}
    return make_report(made_run(tmp_path, "cubic_vs_reno", LONG, flows, said, [number]))


def test_a_published_number_stands_beside_ours_and_one_run_is_no_verdict(
    long_path: RunReport, capsys: pytest.CaptureFixture[str]
) -> None:
    (judged,) = long_path.published.rows
    assert (judged.row.period, judged.row.today) == ((29.6,), (59.4,))
    assert {verdict.word for verdict in judged.verdicts.values()} == {"not run", "not judged"}
    print_report(long_path)
    files = [long_path.page, long_path.page.parent / "answers.md"]
    for text in (capsys.readouterr().out, *(file.read_text() for file in files)):
        assert "29.7" in text and "not judged" in text


def test_a_way_that_was_not_run_has_no_column(tmp_path: Path) -> None:
    files = {"flow1.client.txt": client(1, 2, rate=29.6), "flow1.server.txt": line(29.6)}
    number = published("cubic", period_condition=None)
    flows = [flow("flow1", "right", 5001)]
    run = made_run(tmp_path, "cubic_vs_reno", LONG, flows, {"cubic": [files]}, [number])
    report = make_report(run)
    assert [report.published.has(way) for way in ("today", "period")] == [True, False]
    assert "settings of its time" not in report.page.read_text()


def test_the_first_seconds_stand_beside_the_published_ones(long_path: RunReport) -> None:
    (early,) = long_path.listings
    assert " ".join(cells(early, "published, cubic")) == SECONDS
    assert " ".join(cells(early, "ours, cubic, as it was")) == "1 10 30 30 30 30 30 30"
    assert 'id="first_seconds"' in long_path.page.read_text()
    assert "second 3" in " ".join(long_path.answers[2].paragraphs)


def test_many_connections_get_a_row_and_an_answer(tmp_path: Path) -> None:
    rates = {"flow1": 3.0, "flow2": 1.0, "flow3": 2.0}
    files = {f"{name}.client.txt": client(rate, rate, rate=rate) for name, rate in rates.items()}
    files |= {f"{name}.server.txt": line(rate) for name, rate in rates.items()}
    flows = [flow(name, "right", 5001 + at) for at, name in enumerate(rates)]
    report = make_report(
        made_run(tmp_path, "cubic_vs_reno", LONG | {"streams": "3"}, flows, {"reno": [files]})
    )
    (row,) = report.listings
    assert cells(row, "reno") == ("3", "6", "0.857", "1", "3", "3  2  1")
    asked = [answer.question for answer in report.answers]
    assert any("3 connections, and how do they share" in question for question in asked)
    assert not any("loss do" in question for question in asked)


@pytest.mark.parametrize(
    "row",
    published_rows(Path(packet_dropper.__file__).with_name("published.csv")),
    ids=lambda row: f"{row['drop_percent']} %",
)
def test_the_droppers_columns_are_the_originals(row: dict[str, str]) -> None:
    """From the ten published times follow the average, the spread and the throughput that were
    published.
    """
    network = {"bw": "100mbit", "delay": "50us", "jitter": "0s", "requests": "100000"}
    times = packet_dropper.published_times(network | {"loss": f"{row['drop_percent']}%"})
    found = packet_dropper.cells(times, 100_000)
    average, spread, share, throughput = (cell.replace(",", "").rstrip(" %") for cell in found[-4:])
    assert float(average) == pytest.approx(float(row["elapsed_avg_s"]), abs=6e-4)
    assert float(spread) == pytest.approx(float(row["elapsed_spread_s"]), abs=6e-4)
    assert round(float(share)) == float(row["spread_over_avg_percent"])
    assert float(throughput) == pytest.approx(float(row["throughput_byte_s"]), rel=1e-4)


@pytest.mark.parametrize(("requests", "rows"), [("100000", 2), ("10000", 1)])
def test_published_times_are_shown_for_the_same_requests_only(
    tmp_path: Path, requests: str, rows: int
) -> None:
    parameters = {"bw": "100mbit", "delay": "50us", "jitter": "0s", "loss": "1%"}
    parameters["requests"] = requests
    said = {"dropping": [{"flow1.client.txt": line(90, seconds)} for seconds in (12.0, 13.0, 14.0)]}
    flows = [{"name": "flow1", "sender": "h1", "receiver": "h2", "port": 5001}]
    (times,) = make_report(made_run(tmp_path, "packet_dropper", parameters, flows, said)).listings
    assert len(times.rows) == rows
    assert cells(times, "dropping")[:4] == ("12.00", "13.00", "14.00", "\N{EN DASH}")
    assert cells(times, "dropping")[10:12] == ("13.000", "0.6667")


def swept(
    folder: Path, experiment: str, rows: list[dict[str, Any]], parameters: dict[str, str]
) -> tuple[Listing, ...]:
    """The own tables of a sweep over `level` with these rows."""
    blank = dict.fromkeys((metric.name for metric in columns().values()), None)
    whole = [{"condition": "only", **blank, **row} for row in rows]
    pl.DataFrame(whole, infer_schema_length=None).write_csv(folder / "rows.csv")
    levels = list(dict.fromkeys(row["level"] for row in rows))
    facts = {
        "format": 1,
        "experiment": experiment,
        "metric": "goodput_kbit_s",
        "parameters": parameters,
        "factors": [{"name": "level", "kind": "word", "values": levels, "column": "level"}],
        "conditions": [{"name": "only", "label": "only"}],
        "status": "complete",
    }
    (folder / "sweep.json").write_text(json.dumps(facts))
    sweep, make = read_sweep(folder, Problems()), report_of(experiment).sweep_listings
    cells = swept_cells(sweep)
    assert make and cells
    return make(sweep, cells)


def test_a_sweep_of_queues_has_a_row_for_each(tmp_path: Path) -> None:
    all_of_them = {"client_kbit_s": 20_000.0, "total_goodput_kbit_s": 4e4, "jain_index": 0.8}
    rows = [
        {"level": level, "seed": seed, "flow": name, "goodput_kbit_s": rate, **all_of_them}
        | ({"udp_jitter_ms": 0.1 * seed, "udp_lost_percent": 50.0} if name == "udp" else {})
        for level in ("sfq", "fifo")
        for seed in (1, 2, 3)
        for name, rate in (("udp", 9e3), ("tcp1", 1e4), ("tcp2", 3e4))
    ]
    (listing,) = swept(tmp_path, "udp_fairness", rows, {})
    assert [row[0] for row in listing.rows] == ["sfq", "fifo"]
    assert cells(listing, "sfq") == ("20", "9", "50", "0.2 (0.1 to 0.3)", "40", "0.8", "10", "30")


def test_a_sweep_of_the_dropper_has_the_originals_lines(tmp_path: Path) -> None:
    rows = [
        {"level": "a", "loss": "1%", "seed": seed, "flow": "flow1", "client_seconds": 10.0 + seed}
        for seed in (1, 3)
    ]
    fixed = {"bw": "100mbit", "delay": "50us", "jitter": "0s", "requests": "100000"}
    (listing,) = swept(tmp_path, "packet_dropper", rows, fixed)
    assert [row[0] for row in listing.rows] == ["published, 1%", "all runs"]
    assert cells(listing, "all runs")[:2] == ("11.00", "13.00")
    assert cells(listing, "all runs")[-1] == f"{1526 * 100_000 / 12:,.0f}"


def test_broken_rows_give_no_table(tmp_path: Path) -> None:
    assert swept(tmp_path, "udp_fairness", [{"level": "a", "seed": 1, "flow": "udp"}], {})
    (tmp_path / "rows.csv").write_text("level,seed\na\n")
    assert swept_cells(read_sweep(tmp_path, Problems())) is None


def test_a_fault_of_a_study_is_not_taken_for_broken_rows(tmp_path: Path) -> None:
    def broken(*_: object) -> tuple[Listing, ...]:
        raise ValueError("a fault of the study")

    swept(tmp_path, "udp_fairness", [{"level": "a", "seed": 1, "flow": "udp"}], {})
    with pytest.raises(ValueError, match="a fault of the study"):
        make_sweep_report(tmp_path, None, lambda _: StudyReport(sweep_listings=broken))


@pytest.mark.parametrize(
    "name", ["", "no_such", "cli", "published", "__main__", "sack.report", "../sack", "custom_cc"]
)
def test_a_strangers_name_gets_the_plain_report_and_imports_nothing_else(name: str) -> None:
    before = set(sys.modules)
    assert report_of(name) == StudyReport()
    assert {
        new
        for new in set(sys.modules) - before
        if not new.startswith(("experiments.custom", "topologies."))
    } <= ({"experiments.study.catalogue"})


def test_a_study_under_other_conditions_has_the_plain_table(tmp_path: Path) -> None:
    flows = [{"name": "flow1", "sender": "h1", "receiver": "h2", "port": 5001}]
    made = make_report(made_run(tmp_path, "sack", {}, flows, {"reno": [{}]}))
    assert (made.table.title, made.answers) == ("What was measured", ())


SCOPE = re.compile(
    r", (flow1|right|busiest port|all (flows|senders|ports|hosts))\b"
    r"|flow|sender|port|host|UDP|TCP",
    re.IGNORECASE,
)


@pytest.mark.parametrize("study", [each.name for each in catalogue()])
def test_each_row_of_each_study_names_its_scope(tmp_path: Path, study: str) -> None:
    """Counters of one host stood next to rates of all flows: 6 resent next to 101 dropped."""
    flows = [flow("flow1", "right", 5001), flow("beside", "top", 5002)]
    run = read_run(made_run(tmp_path, "made", LONG, flows, {"c": [{}]}), Problems())
    groups = ("FLOWS", "CAUSES", "KERNEL", "TRANSFER", "ROUND_TRIPS")
    others = (Q[name] for name in ("RESENT", "ALL_TIMEOUTS", "LOSS_SHARE"))
    shown = [*report_of(study).short, *chain(others, *map(Q.group, groups))]
    names = [each.scoped(run).name for each in shown]
    assert [name for name in names if not SCOPE.search(name)] == []
    alone = replace(run, flows=run.flows[:1])
    assert [each.scoped(alone) for each in shown] == shown


def test_counters_of_one_host_and_drops_of_all_ports_are_told_apart(tmp_path: Path) -> None:
    flows = [flow("flow", "right", 5001), flow("beside", "top", 5002)]
    files = {f"{name}.{side}.txt": line(5) for name in ("flow", "beside") for side in _SIDES}
    made = make_report(made_run(tmp_path, "cubic_vs_reno", LONG, flows, {"cubic": [files]}))
    facts = [fact.what for answer in made.answers for fact in answer.facts]
    rows = [row.name for row in made.table.rows]
    assert any(name.endswith(", all flows") or "all flows" in name for name in facts + rows)
    assert not {"Retransmitted segments", "iperf server"} & {*facts, *rows}
    assert "iperf server, flow" in rows
