"""Short forms of the studies in the lab kernel: what each is about must show."""

from pathlib import Path
from types import SimpleNamespace

import polars
import pytest

from analysis.reporting.tables import Q
from experiments.reporting.studies import make_report
from experiments.run.session import RunRequest, carry_out
from experiments.spec import CONGESTION_CONTROLS
from experiments.study import points
from experiments.study.catalogue import find
from experiments.study.grid import single
from experiments.study.points import combinations
from experiments.study.published import chosen
from experiments.sweep.point import carry_rows
from experiments.sweep.results import sweep
from testbed.lab.kernel.recipe import KERNEL_TOOLS
from testbed.lab.ready import Lab
from topologies.disciplines import disciplines

pytestmark = pytest.mark.virtual


def run(name: str, out: Path, settings: str, seeds: int = 1) -> polars.DataFrame:
    """The results of a sweep over settings such as `loss=1%,2% duration=5s`."""
    pairs = (word.split("=", 1) for word in settings.split())
    levels = {field: values.split(",") for field, values in pairs}
    return sweep(name, levels, seeds=seeds, out=out).table


def test_a_fair_queue_cuts_the_udp_flow_down_to_its_share(ready_lab: Lab, tmp_path: Path) -> None:
    """Six flows share 10 Mbit/s and the UDP flow sends 4: more than its sixth."""
    table = run(
        "udp_fairness",
        tmp_path,
        "bw=10mbit udp=4mbit streams=5 duration=5s queue=100 queueing=fifo,sfq",
    )
    udp = {row["queueing"]: row for row in table.filter(flow="udp").to_dicts()}
    assert udp["fifo"]["goodput_kbit_s"] > 3000
    assert udp["sfq"]["goodput_kbit_s"] == pytest.approx(10_000 / 6, rel=0.2)
    assert udp["sfq"]["udp_lost_percent"] > 40 > 20 > udp["fifo"]["udp_lost_percent"]
    jain = {row["queueing"]: row["jain_index"] for row in table.to_dicts()}
    assert jain["sfq"] > 0.97 > jain["fifo"]


def test_packets_of_a_scalable_flow_wait_less_in_two_coupled_queues_than_in_one(
    ready_lab: Lab, tmp_path: Path
) -> None:
    settings = "duration=5s bw=40mbit link.discipline=dualpi2,fifo"
    table = run("l4s_coexistence", tmp_path, settings)
    scalable = table.filter(polars.col("flow").str.starts_with("dctcp")).to_dicts()
    waits = {row["link.discipline"]: row["queueing_p95_ms"] for row in scalable}
    assert waits["dualpi2"] < waits["fifo"]
    (coupled,) = table.filter(polars.col("link.discipline") == "dualpi2")["marks"].unique()
    assert coupled > 0


def test_every_discipline_is_what_the_kernel_then_has(ready_lab: Lab, tmp_path: Path) -> None:
    """A difference between what was asked for and found would fail the point."""
    settings = "bw=10mbit streams=1 udp=2mbit duration=1s queue=20,1000 queueing="
    table = run("udp_fairness", tmp_path, settings + ",".join(disciplines()))
    assert table.select("queueing", "queue").unique().height == 2 * len(disciplines())


def test_the_dropper_delivers_all_requests_and_takes_longer(ready_lab: Lab, tmp_path: Path) -> None:
    table = run("packet_dropper", tmp_path, "requests=2000 loss=0%,10% period=today+period")
    kept = table.filter(loss="0%", condition="dropping").to_dicts()[0]
    assert kept["transfer_kbyte"] == pytest.approx(2000 * 1448 / 1024, rel=0.01)
    assert kept["client_seconds"] == pytest.approx(2000 * 1514 * 8 / 100e6, rel=0.1)
    lossy = table.filter(loss="10%")
    assert lossy["condition"].to_list() == ["dropping", "dropping_period"]
    assert lossy["client_seconds"].min() > 3 * kept["client_seconds"]


def test_varying_delay_is_taken_for_loss(ready_lab: Lab, tmp_path: Path) -> None:
    table = run("reordering", tmp_path, "cc=cubic duration=5s jitter=0s,75ms")
    steady, varied = (table.filter(jitter=value).to_dicts()[0] for value in ("0s", "75ms"))
    assert (steady["reorderings"], steady["dsacks"], steady["lost_percent"]) == (0, 0, 0)
    assert varied["lost_percent"] == 0
    assert varied["reorderings"] > 10
    assert varied["dsacks"] > 10
    assert varied["goodput_kbit_s"] < steady["goodput_kbit_s"] / 5


def test_a_threshold_above_the_kernels_highest_is_set(ready_lab: Lab, tmp_path: Path) -> None:
    table = run("reordering", tmp_path, "cc=reno duration=1s threshold=2147483647")
    assert table.height == 1


def test_with_sack_only_what_was_lost_is_sent_again(ready_lab: Lab, tmp_path: Path) -> None:
    settings = "bw=100mbit delay=1ms loss=2% duration=5s tso=off period=today+period"
    table = run("sack_loss_sweep", tmp_path, settings)
    rows = {row["condition"]: row for row in table.to_dicts()}
    assert set(rows) == {"sack_off", "sack_off_period", "sack_on", "sack_on_period"}
    assert rows["sack_off"]["resent_percent"] > rows["sack_on"]["resent_percent"]
    assert rows["sack_on"]["resent_percent"] == pytest.approx(2, rel=0.3)
    assert rows["sack_on"]["slowest_second_kbit_s"] <= rows["sack_on"]["mean_second_kbit_s"]


def test_with_segmentation_on_losses_come_together_and_cost_less(ready_lab: Lab, tmp_path) -> None:
    """The same share is lost, in fewer events."""
    table = run("sack_loss_sweep", tmp_path, "loss=0.5% duration=3s tso=off,on")
    off, on = (table.filter(tso=word, condition="sack_on").to_dicts()[0] for word in ("off", "on"))
    assert on["mean_second_kbit_s"] > 1.4 * off["mean_second_kbit_s"]
    assert on["lost_percent"] is None


def test_only_the_way_to_the_receiver_is_delayed(ready_lab: Lab, tmp_path: Path) -> None:
    table = run("cubic_vs_reno", tmp_path, "bw=10mbit delay=50ms duration=2s queue=20")
    assert table["condition"].to_list() == ["cubic", "reno"]
    assert all(50 <= value < 90 for value in table["rtt_median_ms"])


def test_sack_can_be_off_under_any_congestion_control(ready_lab: Lab, tmp_path: Path) -> None:
    settings = "bw=10mbit delay=5ms duration=2s cc=cubic sack=off+on loss=5%"
    table = run("cubic_vs_reno", tmp_path, settings)
    assert table["condition"].to_list() == ["cubic_sack_off", "cubic"]


def test_every_congestion_control_of_the_lab_can_be_chosen(ready_lab: Lab, tmp_path: Path) -> None:
    """The kernel restricts most of them to the first namespace; hosts are others."""
    settings = f"bw=10mbit delay=5ms duration=1s cc={'+'.join(CONGESTION_CONTROLS)}"
    table = run("cubic_vs_reno", tmp_path, settings)
    assert table["condition"].to_list() == list(CONGESTION_CONTROLS)


def test_a_delay_line_holds_so_many_packets_at_once(ready_lab: Lab, tmp_path: Path) -> None:
    """20 packets of 1500 bytes in 100 ms are 2.4 Mbit/s, at which UDP does not slow down."""
    settings = "bw=20mbit udp=10mbit delay=100ms streams=1 spread=0s duration=3s"
    table = run("udp_fairness", tmp_path, f"{settings} topology.links.0.rightward.line=20,1000")
    short, long = table.filter(flow="udp")["goodput_kbit_s"]
    assert short < 2400 * 1.1 < 8000 < long


@pytest.mark.needs(*KERNEL_TOOLS)
def test_only_the_way_to_the_receiver_loses_under_a_module(ready_lab: Lab, tmp_path: Path) -> None:
    settings = "bw=10mbit delay=50ms loss=5% duration=3s period=today+period"
    table = run("custom_cc", tmp_path, settings)
    assert table["condition"].to_list() == ["reno", "reno_period", "exp", "exp_period"]
    assert all(50 <= value < 90 for value in table["rtt_median_ms"])


def test_what_captures_tell_is_kept_with_the_point(ready_lab: Lab, tmp_path: Path) -> None:
    target, *_ = chosen(True, ["sack"])
    (point,) = combinations([target])[target].values()
    record = carry_rows(point.data, 1, 100.0, ready_lab, lambda phase, elapsed: None, captured=True)
    assert record["status"] == "complete"
    for row in record["rows"]:
        assert {quantity.key.name for quantity in Q.group("TRANSFER")} <= row.keys()
        there, back = row["receiver.total_packets"], row["receiver.back.total_packets"]
        assert there + back == row["receiver.both.total_packets"]
        sent = 1024 * row["client.transfer"]
        assert row["receiver.unique_bytes_sent"] == pytest.approx(sent, rel=0.02)


def test_a_report_tells_the_order_of_packets_and_the_published_number(
    ready_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delay varies by 20 ms around 30: none is lost, or later than two delays differ."""
    options = {"bw": "10mbit", "delay": "30ms", "jitter": "20ms", "duration": "3s", "cc": "cubic"}
    point = single(find("reordering"), [f"{name}={value}" for name, value in options.items()])
    number = {"where": "here", "unit": "Mbit/s", "published": 1.0, "condition": "cubic"}
    match = SimpleNamespace(described=lambda: number | {"metric": "client_kbit_s"})
    monkeypatch.setattr(points, "published_with_run", lambda spec: [match])
    made = point.spec, point.parameters, (1,), "virtual", tmp_path
    report = make_report(carry_out(RunRequest(*made, with_published=True), ready_lab))
    values = report.results.measured[0].by_name
    assert values["order.lost"] == 0
    assert values["order.sent"] == values["order.arrived"] > 100
    least, most = (values[f"order.delay_{end}"] for end in ("least", "most"))
    assert 10 <= least < 50 < most
    assert 0 < values["order.time_most"] <= most - least
    assert values["order.late"] > 10 and values["nstat.TcpExtTCPDSACKRecv"] > 0
    assert len(report.published.rows[0].row.today) == 1
    assert 'id="late_by_packets"' in report.page.read_text()


def test_without_rack_the_threshold_says_what_is_lost(ready_lab: Lab, tmp_path: Path) -> None:
    """With SACK on, nothing is lost, but packets are late.

    If duplicate ACKs are counted, a threshold above the packets on their way lets TCP wait for all
    of them, and 3 does not. RACK takes late ones for lost, whatever the threshold.
    """
    settings = "cc=cubic duration=5s threshold=3,100 net.ipv4.tcp_recovery=0,1"
    table = run("reordering", tmp_path, settings, seeds=3)
    resent = {
        keys: rows["retransmitted_segments"]
        for keys, rows in table.group_by("net.ipv4.tcp_recovery", "threshold")
    }
    assert table["lost_percent"].max() == 0 and table["out_of_order"].min() > 100
    assert resent["0", "100"].max() == 0 < resent["0", "3"].max()
    assert min(resent["1", "100"].min(), resent["1", "3"].min()) > 20
