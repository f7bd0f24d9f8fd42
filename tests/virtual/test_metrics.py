"""Metrics of a run in the lab kernel, held against its captures and against arithmetic."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import flows
from analysis.flows.columns import KIND, RETRANSMISSIONS
from analysis.measures.expressions import parse
from analysis.measures.results import RunResults, measure_all
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting.studies import with_metrics
from analysis.table import ColumnTable
from experiments.run.request import RunRequest
from experiments.run.session import carry_out
from experiments.spec import Condition, ExperimentSpec, Flow
from experiments.study.grid import with_field
from testbed.lab.ready import Lab
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate, Share

pytestmark = pytest.mark.virtual
RATE, QUEUE, DELAY = Rate.parse("10mbit"), 20, Duration.parse("10ms")
FULL_QUEUE = QUEUE * 1514 * 8 / RATE.base * 1000  # milliseconds that 20 full frames take
PORT = "s1-eth2"  # the port towards h2


def spec(loss: str) -> ExperimentSpec:
    channel = Channel(RATE, DELAY, Share.parse(loss), queue=Packets(QUEUE))
    seconds = Duration.parse("8s")
    return ExperimentSpec(
        "made",
        "A claim.",
        two_hosts(channel),
        (
            Flow("cubic1", "h1", "h2", seconds, port=5001, congestion_control="cubic"),
            Flow("bbr1", "h1", "h2", seconds, port=5002, congestion_control="bbr"),
            Flow("probe", "h1", "h2", seconds, port=5003, rate=Rate.parse("200kbit")),
        ),
        (Condition("only", "only"),),
        ("h1-eth0", "h2-eth0"),
    )


def run(folder: Path, lab: Lab, loss: str) -> Path:
    return carry_out(RunRequest(spec(loss), {}, (1,), "virtual", folder), lab)


@pytest.fixture(scope="module")
def lossy(ready_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("lossy"), ready_lab, "1%")


@pytest.fixture(scope="module")
def clean(ready_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("clean"), ready_lab, "0%")


def results(folder: Path, *texts: str) -> RunResults:
    return measure_all(with_metrics(read_run(folder, Problems()), texts), Problems())


def values(folder: Path, *texts: str) -> list[float]:
    measured = results(folder, *texts).measured[0]
    found = [measured.value(parse(text).metric) for text in texts]
    assert None not in found
    return [value for value in found if value is not None]


def packets(folder: Path, host: str, port: int) -> ColumnTable:
    """All packets of a flow towards h2, as the engine in Rust reads them."""
    reading = flows.read(folder / f"raw/seed-1/only/{host}-eth0.pcap", packets=True)
    table, connections = reading.packet_table, reading.connection_table
    assert table is not None
    of_port = {
        row["connection"]: row["port_b"] == port
        for row in connections.as_rows()
        if port in (row["port_a"], row["port_b"])
    }
    mine = np.isin(table["connection"].values, list(of_port))
    some = table.rows(mine)
    return some.rows(some["forward"].values == next(iter(of_port.values())))


def test_packets_wait_as_long_as_a_full_queue_takes(clean: Path) -> None:
    """A queue of N packets at R makes the last one wait N full frames, and one on the link."""
    of_flow, of_port, probe = values(
        clean, "max queueing[cubic1]", f"max queueing[{PORT}]", "max queueing[probe]"
    )
    one = FULL_QUEUE / QUEUE
    assert FULL_QUEUE - one < of_flow <= FULL_QUEUE + 1.1 * one
    assert of_flow <= of_port <= FULL_QUEUE + 1.1 * one
    assert FULL_QUEUE - 2 * one < probe <= of_port
    lone = DELAY.seconds * 1000 + one
    (delay,) = values(clean, "max delay[cubic1]")
    assert delay == pytest.approx(of_flow + lone, rel=0.02)


def test_a_window_counts_what_captures_have_in_it(lossy: Path) -> None:
    sent = packets(lossy, "h1", 5001)
    came = packets(lossy, "h2", 5001)
    begin = sent.whole("time")[0]
    inside = (came.whole("time") >= begin + 2e9) & (came.whole("time") < begin + 6e9)
    payload = came["payload"].values[inside & ~came_again(came)].sum()
    goodput, loss = values(lossy, "goodput[cubic1]@2s..6s", "loss[cubic1]@2s..6s")
    assert goodput == pytest.approx(payload * 8 / 4 / 1000, rel=0.03)
    whole, early = values(lossy, "loss[cubic1]", "loss[cubic1]@0s..2s")
    assert loss != whole != early


def came_again(table: ColumnTable) -> np.ndarray[Any, Any]:
    """Segments with bytes that the receiver had already."""
    return (
        np.isin(table["kind"].values, [KIND[name] for name in RETRANSMISSIONS])
        & (table["payload"].values > 0)
        & repeated(table)
    )


def repeated(table: ColumnTable) -> np.ndarray[Any, Any]:
    _, first = np.unique(table["sequence"].values, return_index=True)
    again = np.ones(len(table), np.bool_)
    again[first] = False
    return again


def test_ratios_are_those_of_the_captures(lossy: Path) -> None:
    measured = results(lossy).measured[0]
    by_name, rows = measured.by_name, {flow.flow.name: flow.row for flow in measured.flows}
    sent = {name: packets(lossy, "h1", port) for name, port in (("cubic1", 5001), ("bbr1", 5002))}
    again = sum(int(resent(table).sum()) for table in sent.values())
    every = sum(len(table) for table in sent.values())
    assert by_name["metric.resent_percent"] == pytest.approx(100 * again / every)
    for name, table in sent.items():
        payload = table["payload"].values
        share = 100 * payload[resent(table)].sum() / payload.sum()
        # The socket's last sample lacks what was sent in the last interval of sampling.
        assert rows[name]["retransmitted_percent"] == pytest.approx(share, rel=0.05)
        lost = 1 - len(packets(lossy, "h2", 5001 if name == "cubic1" else 5002)) / len(table)
        (loss,) = values(lossy, f"loss[{name}]")
        assert loss == pytest.approx(100 * lost)


def resent(table: ColumnTable) -> np.ndarray[Any, Any]:
    """Segments of data whose bytes were all sent before."""
    payload = table["payload"].values
    end = table["sequence"].values + payload
    before = np.maximum.accumulate(np.concatenate(([0], end[:-1])))
    return (payload > 0) & (end <= before)


def test_shares_of_the_path_name_both_losses_and_add_up_to_what_is_missing(lossy: Path) -> None:
    measured = results(lossy).measured[0].by_name
    (missing,) = values(lossy, "loss[*]@..")
    assert measured["path.share"] > 0.5 and measured["path.drop_share"] > 0.5
    assert measured["path.share"] + measured["path.drop_share"] == pytest.approx(missing, rel=0.01)


def test_a_flow_is_complete_with_its_last_acknowledgement(clean: Path) -> None:
    reading = flows.read(clean / "raw/seed-1/only/h1-eth0.pcap", packets=True)
    (row,) = [
        row for row in reading.connection_table.as_rows() if 5001 in (row["port_a"], row["port_b"])
    ]
    (fct,) = values(clean, "fct[cubic1]")
    assert reading.packet_table is not None
    own = reading.packet_table.rows(reading.packet_table["connection"].values == row["connection"])
    times = own.whole("time")
    assert fct == pytest.approx((times[-1] - times[0]) / 1e9, rel=0.05)
    assert fct > 8


def test_a_probe_leaves_tcps_metrics_in_a_sweep(lossy: Path) -> None:
    """A missing value belongs to the probe and not to the run."""
    rows = {flow.flow.name: flow.row for flow in results(lossy).measured[0].flows}
    assert rows["probe"]["rtt_p95_ms"] is None and rows["cubic1"]["rtt_p95_ms"] is not None
    total = json.dumps(rows["cubic1"]["total_goodput_kbit_s"])
    assert float(total) < 10_000 and rows["probe"]["group"] == "udp to h2"


def test_hosts_have_the_receive_buffer_that_the_manual_states(in_guest) -> None:
    """A field of the conditions sets another, and the window follows it."""
    path = replace(spec("0%"), topology=two_hosts(Channel("1gbit", "50ms", queue="10000")))
    path = replace(path, flows=(Flow("flow1", "h1", "h2", Duration.parse("3s")),))
    larger = with_field(path, "net.ipv4.tcp_rmem", "4096 131072 33554432")
    windows = []
    for made, expected in ((path, 6291456), (larger, 33554432)):
        out, _ = in_guest(made)
        evidence = json.loads((out / "only/evidence.json").read_text())
        assert evidence["sysctls"]["h2"]["net.ipv4.tcp_rmem"] == f"4096 131072 {expected}"
        (row,) = flows.read(out / "only/h2-eth0.pcap").connection_table.as_rows()
        windows.append(max(row["max_win_adv_a2b"], row["max_win_adv_b2a"]))
    assert windows[0] < 6291456 < windows[1]
