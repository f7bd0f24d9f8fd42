"""Metrics as expressions: what they read, what they are, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.measures.expressions import Term, Window, parse
from analysis.measures.readings import TrialReadings
from analysis.measures.results import RunResults, measure_all
from analysis.measures.selection import chosen, groups_of
from analysis.network.verdict import judge_network
from analysis.pages.run import make_report
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.records.spec_file import RunFlow
from analysis.reporting.studies import with_metrics
from tests.analysis.made_networks import ASKED, COUNT, FULL, MadeNetwork
from tests.analysis.made_runs import HEAD, made_run
from topologies.errors import TcplabError, UsageError
from topologies.shapes import dumbbell
from topologies.units import Packets

BBR, CUBIC, PROBE = "bbr1", "cubic1", "probe"


def flow(name: str, port: int, start: str = "0s", **more: Any) -> dict[str, Any]:
    ends = {"sender": "h1", "receiver": "h2", "duration": "60s"}
    return {"name": name, "port": port, "start": start, **ends, **more}


def server(rate: float, seconds: float) -> str:
    """What iperf's server prints; `rate` in kbit/s."""
    kbyte = rate * seconds / 8.192
    return f"{HEAD}[  1] 0.0000-{seconds:.4f} sec  {kbyte:.3f} KBytes  {rate:.1f} Kbits/sec\n"


def lines(*flows: tuple[int, list[float]]) -> str:
    """Samples of sockets: for each port the bytes that were acknowledged, second by second."""
    seconds = max(len(acked) for _, acked in flows)
    instants = [
        {
            "time": 1_700_000_000.0 + at,
            "sockets": [
                {
                    "remote": f"10.0.0.2:{port}",
                    "cwnd": 10,
                    "rtt_us": 1000 * (10 + at),
                    "min_rtt_us": 10_000,
                    "bytes_acked": acked[at],
                    "bytes_sent": 2 * acked[at],
                    "bytes_retrans": acked[at] / 10,
                    "total_retrans": at,
                }
                for port, acked in flows
                if at < len(acked)
            ],
        }
        for at in range(seconds)
    ]
    return "\n".join(map(json.dumps, instants)) + "\n"


def results(folder: Path, *texts: str, flows: Any = None, files: Any = None) -> RunResults:
    """A run of BBR and CUBIC next to a UDP probe, with these metrics."""
    flows = flows or [
        flow(BBR, 5001, congestion_control="bbr"),
        flow(CUBIC, 5002, congestion_control="cubic"),
        flow(PROBE, 5003, rate="100kbit"),
    ]
    acked = [100_000.0 * at for at in range(61)]
    files = files or {
        f"{BBR}.server.txt": server(2000, 60),
        f"{CUBIC}.server.txt": server(6000, 60),
        f"{PROBE}.server.txt": server(100, 60),
        "h1.sockets.jsonl": lines((5001, acked), (5002, [3 * each for each in acked])),
    }
    made = made_run(folder, "made", {}, flows, {"only": [files]})
    return measure_all(with_metrics(read_run(made, Problems()), texts), Problems())


def value(folder: Path, text: str, **more: Any) -> float | None:
    found = results(folder, text, **more)
    return found.measured[0].value(parse(text).metric)


@pytest.mark.parametrize(
    ("text", "expected", "unit"),
    [
        ("goodput", 8000, "kbit/s"),
        ("goodput[bbr*]", 2000, "kbit/s"),
        ("goodput[cubic]", 6000, "kbit/s"),
        ("goodput[udp]", 100, "kbit/s"),
        ("goodput[bbr1,cubic1]", 8000, "kbit/s"),
        ("goodput[bbr*] / goodput", 0.25, ""),
        ("100 * goodput[bbr*] / goodput", 25, ""),
        ("mean goodput", 4000, "kbit/s"),
        ("goodput max", 6000, "kbit/s"),
        ("jain goodput", 0.8, ""),
        ("goodput[bbr1:only] / goodput[cubic1]", 1 / 3, ""),
        ("rtt_p95_ms[cubic*]", 67.95, "ms"),
        ("p95 rtt[cubic1]", 67, "ms"),
        ("max rtt - min rtt", 60, "ms"),
        ("rtt@20s..31s", 35, "ms"),
        ("goodput[bbr1]@20s..60s", 800, "kbit/s"),
        ("(goodput[bbr*] / goodput)@20s..", 0.25, ""),
        ("retransmitted_percent[bbr1]", 5, "%"),
        ("retransmitted_segments[bbr1]@10s..20.5s", 11, ""),
    ],
)
def test_a_metric_is_a_calculation_over_flows_and_time(
    tmp_path: Path, text: str, expected: float, unit: str
) -> None:
    assert value(tmp_path, text) == pytest.approx(expected, rel=1e-3)
    assert parse(text).metric.unit == unit


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("goodputt", "There is no measure 'goodputt'. Is goodput"),
        ("goodput[brb*]", "There is no flow 'brb*'. Is bbr"),
        ("goodput[bbr1:none]", "There is no condition 'none'"),
        ("goodput[tcp,udp]", "adds up flows of tcp to h2 and udp to h2"),
        (
            "goodput@20s..90s",
            "The window from 20 s to 90 s is outside the run, which ends at 60 s.",
        ),
        ("goodput@60s..", "The window from 60 s to the end is outside the run"),
        ("goodput@20s..20s", "The window from 20 s to 20 s is empty."),
        ("goodput[bbr*]@20s.. / goodput", "some terms have a window and others have none"),
        ("timeouts@1s..2s", "timeouts is known of the whole run only."),
        ("timeouts[bbr1]", "timeouts belongs to the whole run and not to a flow."),
        ("goodput + rtt", "A metric cannot add kbit/s and ms."),
        ("rtt[probe]", "rtt is known of TCP flows only."),
        ("p95 delay[probe]", "delay needs a capture at h1, and the run has none."),
        ("goodput[bbr*", "cannot be read at '[bbr*'"),
        ("p95", "cannot be read at its end"),
        ("7", "names no measurement"),
    ],
)
def test_what_a_run_cannot_have_is_refused_in_a_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(TcplabError) as error:
        results(tmp_path, text)
    assert sentence in str(error.value)


@pytest.mark.parametrize("text", ["(" * 200, "(" * 10_000, "goodput*" + "9" * 190 + "*rtt"])
def test_a_strange_metric_in_a_file_is_a_problem_or_without_value(
    tmp_path: Path, text: str
) -> None:
    results(tmp_path)
    spec = json.loads((tmp_path / "spec.json").read_text()) | {"metrics": [text]}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    report = make_report(tmp_path, tmp_path / "out")
    noted = [problem for problem in report.problems if "metric" in problem.lower()]
    assert noted or len(text) < 200


def test_conditions_are_compared_seed_by_seed(tmp_path: Path) -> None:
    text = "goodput[:new] / goodput[:old]"
    ends = {"new": 8000, "old": 2000}
    files = {name: [{"flow1.server.txt": server(rate, 60)}] for name, rate in ends.items()}
    made = made_run(tmp_path, "made", {}, [flow("flow1", 5001)], files)
    run = with_metrics(read_run(made, Problems()), [text])
    found = measure_all(run, Problems()).measured
    assert [trial.value(parse(text).metric) for trial in found] == pytest.approx([4, 4], rel=1e-3)


def test_titles_state_statistic_flows_and_window() -> None:
    share = parse("(goodput[bbr*] / goodput)@20s..60s").metric
    assert share.title == "Goodput of bbr* / goodput, from 20 s to 60 s"
    assert parse("p95 delay[probe]").metric.title == (
        "95th percentile of the one-way delay of probe"
    )
    (term,) = parse("rtt[flow1:sack_on]@20s..").terms
    assert isinstance(term, Term)
    assert (term.flows, term.condition, term.window) == ("flow1", "sack_on", Window(20.0))


def late_flows(count: int, seconds: float) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Flows one after the other, each of which has the whole link of 10 Mbit/s."""
    flows = [flow(f"flow{at}", 5001 + at, f"{seconds * at:g}s") for at in range(count)]
    files = {f"flow{at}.server.txt": server(9990, seconds) for at in range(count)}
    return flows, {**files, "h1.sockets.jsonl": lines((5001, [0.0]))}


def test_flows_that_never_overlap_are_no_faster_together_than_the_link(tmp_path: Path) -> None:
    """A sum of their rates is 469 Mbit/s on a link of 10."""
    flows, files = late_flows(47, 1.25)
    found = results(tmp_path, "goodput", "sum goodput", flows=flows, files=files).measured[0]
    assert found.value(parse("sum goodput").metric) == pytest.approx(469_530)
    assert found.value(parse("goodput").metric) == pytest.approx(9990, rel=1e-3)
    by_name = found.by_name
    assert by_name["metric.total_goodput_kbit_s"] == pytest.approx(9990, rel=1e-3)
    assert by_name["flows.total"] == pytest.approx(9990, rel=1e-3)


def test_a_share_counts_bytes_of_one_time(tmp_path: Path) -> None:
    """A short flow that has the whole link for a tenth of the time carries a tenth."""
    flows = [flow("short", 5001), flow("long", 5002, "6s")]
    files = {"short.server.txt": server(9000, 6), "long.server.txt": server(9000, 54)}
    assert value(tmp_path, "goodput[short] / goodput", flows=flows, files=files) == pytest.approx(
        0.1
    )


def test_two_directions_and_two_transports_are_not_added_up(tmp_path: Path) -> None:
    back = flow("back", 5003, sender="h2", receiver="h1")
    flows = [flow(BBR, 5001), back, flow(PROBE, 5004, rate="1mbit"), flow(CUBIC, 5002)]
    rates = {BBR: 3000, CUBIC: 3000, "back": 9000, PROBE: 1000}
    files = {f"{name}.server.txt": server(rate, 60) for name, rate in rates.items()}
    measured = results(tmp_path, "goodput", flows=flows, files=files).measured[0]
    assert measured.value(parse("goodput").metric) == pytest.approx(6000)
    names = ("total_goodput_kbit_s", "jain_index")
    assert [measured.by_name[f"metric.{name}"] for name in names] == pytest.approx([6000, 1.0])
    with pytest.raises(UsageError, match="adds up flows of tcp to h2 and tcp to h1"):
        results(tmp_path / "both", "goodput[tcp]", flows=flows, files=files)


def test_a_claim_about_a_window_states_it(tmp_path: Path) -> None:
    results(tmp_path)
    spec = json.loads((tmp_path / "spec.json").read_text())
    subject, against = ({"condition": "only", "flow": name} for name in (CUBIC, BBR))
    spec["headline"] = {
        "question": "Does CUBIC have more?",
        "metric": "goodput@20s..60s",
        "what": "the goodput",
        "subject": subject,
        "against": against,
        "direction": "larger",
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    raw = tmp_path / "raw"
    for seed in range(2, 7):
        (raw / f"seed-{seed}").symlink_to(raw / "seed-1")
    manifest = json.loads((tmp_path / "manifest.json").read_text()) | {"seeds": [*range(1, 7)]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    claim = make_report(tmp_path, tmp_path / "out").claim
    assert claim is not None
    assert "the goodput from 20 s to 60 s" in claim.claim and claim.estimate == pytest.approx(3)


@pytest.mark.parametrize("queue", [5, 20])
def test_a_full_queue_makes_packets_wait_as_long_as_it_takes_to_send_it(
    tmp_path: Path, queue: int
) -> None:
    """h1 sends faster than the link; after 40 queues' time each packet finds the queue full."""
    asked = type(ASKED)(ASKED.bandwidth, ASKED.delay, queue=Packets(queue))
    made = MadeNetwork(asked).write(tmp_path)
    texts = ["queueing p99", "queueing[s1-eth2] p99", "max delay", "loss", "p50 delay_under_load"]
    run = with_metrics(read_run(made, Problems()), texts)
    found = measure_all(run, Problems()).measured[0]
    full = queue * FULL * 8 / 10_000
    of_flow, of_port, delay, loss, loaded = (found.value(parse(text).metric) for text in texts)
    assert of_flow == pytest.approx(full, rel=0.1) and of_port == pytest.approx(full, rel=0.1)
    lone = 5 + FULL * 8 / 10_000
    assert delay == pytest.approx(full + lone, rel=0.1) and loaded is not None
    assert loss is not None and 0 < loss < 100
    assert found.queues.keys() == {"s1-eth2", "s1-eth1"}
    assert judge_network(run).good


def test_flows_that_meet_at_a_port_have_one_direction() -> None:
    """Pairs of hosts share the bottleneck of a dumbbell; what goes back crosses another port."""
    ways = [("h1", "r1"), ("h2", "r2"), ("r1", "h1"), ("r2", "h2")]
    flows = [RunFlow(f"{sender}{receiver}", sender, receiver) for sender, receiver in ways]
    flows.append(RunFlow("probe", "h1", "r2", 6000, "1mbit"))
    groups = groups_of(flows, dumbbell(2, ASKED))
    assert groups["h1r1"] == groups["h2r2"] == "tcp to r1"
    assert groups["r1h1"] == groups["r2h2"] == "tcp to h1"
    assert groups["probe"] == "udp to r2"
    assert [flow.name for flow in chosen(flows, "", groups)] == ["h1r1", "h2r2"]


def test_random_loss_is_lost_packets_over_packets_sent(tmp_path: Path) -> None:
    made = MadeNetwork(random=(3, 30, 300)).write(tmp_path)
    run = with_metrics(read_run(made, Problems()), ["loss@.."])
    found = measure_all(run, Problems()).measured[0].value(parse("loss@..").metric)
    traffic = TrialReadings(run, run.trials[0]).traffic
    assert traffic is not None
    (port,) = [each for each in traffic.crossing if each.ports[0].name == "s1-eth2"]
    assert found == pytest.approx(100 * (port.came < 0).sum() / (COUNT + 1))
