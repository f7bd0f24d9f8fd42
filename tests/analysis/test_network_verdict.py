"""The verdict on a network of known truth: what is wrong is said, and nothing else."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from analysis.measures.captures import DropCauses
from analysis.measures.links import PortTraffic, carried, channels
from analysis.measures.readings import TrialReadings
from analysis.measures.trial_network import TrialNetwork
from analysis.network import counts as counts_module
from analysis.network import findings, spacing
from analysis.network import verdict as verdict_module
from analysis.network.counts import LEVEL, DrawnLoss
from analysis.network.findings import CheckOutcome
from analysis.network.spacing import busy_gaps
from analysis.network.verdict import NetworkVerdict, Usability, judge_network
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.records.trial_files import PortLoss
from tests.analysis import frames
from tests.analysis.made_networks import COUNT, FULL, SHORT, MadeNetwork, MadePacket
from topologies.data import to_data
from topologies.shapes import chain
from topologies.spec import Channel, HostReordering, Port
from topologies.units import Duration, Packets, Rate, Share

GOOD, CARE, UNUSABLE = Usability

TRIAL = "raw/seed-1/only"


def judged(folder: Path) -> NetworkVerdict:
    return judge_network(read_run(folder, Problems()))


def outcomes(verdict: NetworkVerdict) -> dict[str, str]:
    """The checks that are not good."""
    return {check.what: check.outcome for check in verdict.checks if check.outcome != "ok"}


def test_a_network_that_does_what_was_asked_is_good(tmp_path: Path) -> None:
    verdict = judged(MadeNetwork().write(tmp_path))
    assert (verdict.verdict, outcomes(verdict)) == (GOOD, {})
    measured = {check.what: check.measured for check in verdict.checks}
    assert measured[verdict_module.KIND] == "10.12 ms (+0 ns)"
    assert measured[counts_module.BOUND] == "at most 20"
    assert measured[counts_module.FULL].endswith("met a full queue")
    assert measured[spacing.RATE] == "10mbit"
    assert verdict.reasons == ("The network matched the specification.",)


@pytest.mark.parametrize(
    ("rate", "delay", "said"),
    [
        ("984mbit", "5ms", ["At 984mbit, processors, GRO"]),
        ("400mbit", "20us", ["To a round trip of 71.6 us real hosts"]),
        ("10gbit", "0s", ["At 10gbit,", "To a round trip of"]),
        ("400mbit", "100us", []),
    ],
)
def test_what_virtual_time_leaves_out_is_said_where_it_matters(
    rate: str, delay: str, said: list[str], tmp_path: Path
) -> None:
    asked = Channel(Rate.parse(rate), Duration.parse(delay), queue=Packets(20))
    folder = MadeNetwork(asked).write(tmp_path)
    verdict = judged(folder)
    lines = [reason for reason in verdict.reasons if "virtual time" in reason]
    assert len(lines) == len(said)
    assert all(map(str.startswith, lines, said))
    environment = folder / "raw/seed-1/environment.json"
    environment.write_text(environment.read_text().replace("virtual", "real"))
    assert not [reason for reason in judged(folder).reasons if "virtual time" in reason]


WRONG = {
    "a little too fast": (MadeNetwork(rate=1.003), CARE, {spacing.SPACING, spacing.RATE}),
    "too fast": (MadeNetwork(rate=1.03), UNUSABLE, {spacing.SPACING, spacing.RATE}),
    "two at once": (
        MadeNetwork(pairs=True),
        UNUSABLE,
        {spacing.SPACING, spacing.RATE},
    ),
    "too long": (MadeNetwork(delay=10**6), UNUSABLE, {verdict_module.KIND}),
    "too long by 2.5 us": (MadeNetwork(delay=2500), CARE, {verdict_module.KIND}),
    "a place too many": (MadeNetwork(queue=1), CARE, {counts_module.BOUND}),
    "three places too many": (MadeNetwork(queue=3), UNUSABLE, {counts_module.BOUND}),
    "two places too few": (MadeNetwork(queue=-2), UNUSABLE, {counts_module.FULL}),
    "three vanish": (MadeNetwork(vanished=(5, 50, 51)), UNUSABLE, {counts_module.UNASKED}),
    "a buffer": (MadeNetwork(buffer_limited=7.5), CARE, {verdict_module.SENDER_KIND}),
    "tcpdump": (MadeNetwork(dropped={"h1": 0, "h2": 2}), CARE, {findings.CAPTURES}),
    "a host": (MadeNetwork(counters={"TcpExtTCPBacklogDrop": 9}), UNUSABLE, {counts_module.HOSTS}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_and_nothing_else(name: str, tmp_path: Path) -> None:
    network, expected, kinds = WRONG[name]
    verdict = judged(network.write(tmp_path))
    assert verdict.verdict == expected
    wrong = outcomes(verdict)
    assert kinds <= wrong.keys()
    # A wrong delay or rate is seen by what counts the packets at the link, too.
    assert wrong.keys() - kinds <= {counts_module.BOUND, counts_module.FULL, verdict_module.KIND}
    assert len(verdict.reasons) == len(wrong)


@pytest.mark.parametrize(("flow", "expected"), [({}, CARE), ({"traffic": "users"}, GOOD)])
def test_pauses_are_as_asked_only_of_an_application(
    flow: dict[str, str], expected: Usability, tmp_path: Path
) -> None:
    folder = MadeNetwork(flow=flow).write(tmp_path)
    samples = folder / TRIAL / "h1.sockets.jsonl"
    halved = re.sub(
        r'"busy_us": ([\d.]+)',
        lambda found: f'"busy_us": {float(found[1]) / 2}',
        samples.read_text(),
    )
    samples.write_text(halved)
    assert judged(folder).verdict == expected


def test_a_packet_that_is_under_way_as_the_captures_end_is_no_loss(tmp_path: Path) -> None:
    """iperf's server of UDP reports once more as it is ended."""
    folder = MadeNetwork().write(tmp_path)
    capture = folder / TRIAL / "h2-eth0.pcap"
    report = MadePacket("h2", 99, 10**10, SHORT)
    capture.write_bytes(capture.read_bytes() + frames.pcap([report.record(report.sent)])[24:])
    verdict = judged(folder)
    assert (verdict.verdict, outcomes(verdict)) == (GOOD, {})


@pytest.mark.parametrize(("errors", "expected"), [(1, GOOD), (0, UNUSABLE)])
def test_a_call_that_an_icmp_error_refuses_is_no_drop(
    errors: int, expected: Usability, tmp_path: Path
) -> None:
    made = MadeNetwork(counters={"IpOutDiscards": 1, "IcmpInDestUnreachs": errors})
    assert judged(made.write(tmp_path)).verdict == expected


TWO_LINKS = chain(1, Channel(Rate.parse("10mbit"), queue=Packets(2), discipline="fq"))


def test_fq_may_let_more_packets_wait_on_each_of_several_links() -> None:
    (first, *_) = lines = [port for port in TWO_LINKS.path("h1", "h2") if port.channel]
    assert first.channel is not None
    packet = carried(first.channel, FULL)
    assert counts_module.longest_wait(channels(tuple(lines)), FULL) == len(lines) * (2 + 8) * packet


@pytest.mark.parametrize(("discipline", "held"), [("fq_codel", 1), ("fifo", 2)])
def test_a_gap_of_a_packet_that_a_later_link_lost_is_not_judged(discipline: str, held: int) -> None:
    """A fair queue lets the third packet go ahead of the second, and the next link loses it."""
    line = Channel(Rate.parse("10mbit"), discipline=discipline)
    ports = tuple(Port(f"r{at}-eth1", f"r{at}", f"r{at + 1}", line) for at in (1, 2))
    packet = carried(line, FULL)
    sent = np.array([0, 1000, 2000, 3000, 20 * packet, 20 * packet + 1000])
    came = np.array([2, 4, -1, 5, 22, 23]) * packet
    came[2] = -1
    traffic = PortTraffic(ports, sent, np.full(6, FULL), came)
    assert busy_gaps(traffic, line).full.sum() == held


def test_a_window_that_was_asked_for_is_not_blamed(tmp_path: Path) -> None:
    made = MadeNetwork(buffer_limited=9.5, flow={"window": "64KiB"})
    assert judged(made.write(tmp_path)).verdict == GOOD


def test_a_buffer_is_not_blamed_for_the_rate_of_a_full_link(tmp_path: Path) -> None:
    for busy, expected in ((0.93, GOOD), (0.8, CARE)):
        made = MadeNetwork(buffer_limited=7.5, busy=busy)
        assert judged(made.write(tmp_path / f"{busy}")).verdict == expected


def test_random_loss_that_was_asked_for_is_no_fault(tmp_path: Path) -> None:
    asked = Channel(
        Rate.parse("10mbit"), Duration.parse("5ms"), Share.parse("2%"), queue=Packets(20)
    )
    numbers = random.Random(4).sample(range(COUNT), 8)
    verdict = judged(MadeNetwork(asked, random=numbers).write(tmp_path))
    assert (verdict.verdict, outcomes(verdict)) == (GOOD, {})


ECT_0, ECT_1, CE, DSCP = 0b10, 0b01, 0b11, 0b100


@pytest.mark.parametrize("capable", [ECT_0, ECT_1, DSCP | ECT_0])
def test_a_mark_of_congestion_is_no_fault(capable: int, tmp_path: Path) -> None:
    verdict = judged(MadeNetwork(service=(capable, capable | CE)).write(tmp_path))
    assert (verdict.verdict, outcomes(verdict)) == (GOOD, {})
    (check,) = [check for check in verdict.checks if check.what == counts_module.MARKS]
    assert check.asked.split()[0] == check.measured.split()[0] != "0"
    assert check.measured_at == 2


def test_a_network_without_marks_has_no_check_of_them(tmp_path: Path) -> None:
    verdict = judged(MadeNetwork().write(tmp_path))
    assert counts_module.MARKS not in {check.what for check in verdict.checks}


@pytest.mark.parametrize("uncounted", [1, -1])
def test_marks_that_counters_and_captures_count_differently_are_a_fault(
    uncounted: int, tmp_path: Path
) -> None:
    made = MadeNetwork(service=(ECT_0, CE), uncounted=uncounted)
    verdict = judged(made.write(tmp_path))
    assert (verdict.verdict, [*outcomes(verdict)]) == (UNUSABLE, [counts_module.MARKS])


def test_packets_that_leave_marked_may_be_counted(tmp_path: Path) -> None:
    """A queue counts a packet that has a mark already (INET_ECN_set_ce in inet_ecn.h)."""
    verdict = judged(MadeNetwork(service=(CE, CE)).write(tmp_path))
    assert (verdict.verdict, outcomes(verdict)) == (GOOD, {})


@pytest.mark.parametrize(
    ("left", "came"),
    [
        pytest.param(0, CE, id="marked without ECN"),
        pytest.param(ECT_0, 0, id="ECN removed"),
        pytest.param(ECT_0, DSCP | ECT_0, id="another DSCP"),
    ],
)
def test_any_other_change_of_that_byte_is_another_packet(
    left: int, came: int, tmp_path: Path
) -> None:
    assert judged(MadeNetwork(service=(left, came)).write(tmp_path)).verdict == UNUSABLE


def test_too_much_loss_is_used_with_care_and_any_is_too_much_where_none_was_asked(
    tmp_path: Path,
) -> None:
    asked = Channel(
        Rate.parse("10mbit"), Duration.parse("5ms"), Share.parse("2%"), queue=Packets(20)
    )
    numbers = random.Random(4).sample(range(COUNT), 25)
    verdict = judged(MadeNetwork(asked, random=numbers).write(tmp_path / "more"))
    assert (verdict.verdict, [*outcomes(verdict)]) == (CARE, [counts_module.LOSSES])
    assert "of good runs this is said of 1%" in verdict.reasons[0]
    verdict = judged(MadeNetwork(random=(7,)).write(tmp_path / "any"))
    assert (verdict.verdict, [*outcomes(verdict)]) == (UNUSABLE, [counts_module.LOSSES])


@pytest.mark.parametrize(("share", "offered"), [("10%", 900), ("0.1%", 4000), ("1%", 150)])
def test_right_loss_is_doubted_in_at_most_one_of_a_hundred(share: str, offered: int) -> None:
    draw, asked = random.Random(1), Share.parse(share)
    counts = [sum(draw.random() < asked.fraction for _ in range(offered)) for _ in range(400)]
    doubted = [DrawnLoss("", "", asked, lost, offered).chance < LEVEL for lost in counts]
    assert sum(doubted) <= 0.01 * len(doubted) + 6  # three standard deviations


def test_what_is_missing_is_not_measured_and_not_good(tmp_path: Path) -> None:
    run = MadeNetwork().write(tmp_path)
    for host in ("h1", "h2"):
        (run / TRIAL / f"{host}-eth0.pcap").unlink()
    verdict = judged(run)
    assert verdict.verdict == GOOD  # sockets tell the round trip, counters what was lost
    assert outcomes(verdict)[spacing.SPACING] == "not measured"
    assert verdict.reasons[1].startswith("Not measured, because not every host has a whole capture")
    (run / TRIAL / "counters.json").unlink()
    verdict = judged(run)
    assert (verdict.verdict, outcomes(verdict)[counts_module.UNASKED]) == (CARE, "not measured")
    assert verdict.reasons[0].endswith("needs: Unspecified packet losses.")


@pytest.mark.parametrize(
    ("sent_again", "acknowledged", "expected"),
    [
        pytest.param(2, 1, "not measured", id="the answer may be to an earlier SYN"),
        pytest.param(2, 1449, "not as asked", id="data was acknowledged too"),
        pytest.param(0, 1, "not as asked", id="there was only this SYN"),
    ],
)
def test_the_answer_to_a_repeated_syn_tells_no_round_trip(
    sent_again: int, acknowledged: int, expected: str, tmp_path: Path
) -> None:
    run = MadeNetwork().write(tmp_path)
    (run / TRIAL / "h1-eth0.pcap").unlink()
    sockets = run / TRIAL / "h1.sockets.jsonl"
    instants = [json.loads(line) for line in sockets.read_text().splitlines()]
    told = {"min_rtt_us": 1.1e6, "total_retrans": sent_again, "bytes_acked": acknowledged}
    for instant in instants:
        instant["sockets"][0] |= told
    sockets.write_text("\n".join(map(json.dumps, instants)))
    assert outcomes(judged(run))[verdict_module.KIND] == expected


@pytest.mark.parametrize(("delay", "expected"), [("2ms", None), ("1ms", "not as asked")])
def test_a_host_that_reorders_may_hold_the_handshake_back(
    delay: str, expected: str | None, tmp_path: Path
) -> None:
    run = MadeNetwork(delay=10**6).write(tmp_path)
    spec = json.loads((run / "spec.json").read_text())
    held = HostReordering("h1", "h2", Duration.parse(delay), Share.parse("75%"))
    spec["topology"]["reordering"] = [to_data(held)]
    (run / "spec.json").write_text(json.dumps(spec))
    assert outcomes(judged(run)).get(verdict_module.KIND) == expected


FILES = (
    "raw/seed-1/environment.json",
    *(f"{TRIAL}/{name}" for name in ("evidence.json", "qdiscs.json", "counters.json")),
    *(f"{TRIAL}/h1{name}" for name in ("-eth0.pcap", ".sockets.jsonl", "-eth0.tcpdump.txt")),
)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"\0" * 40, b'{"after": {"x": [{"drops": "many"}]}}'])
def test_a_damaged_file_is_no_error(name: str, content: bytes, tmp_path: Path) -> None:
    run = MadeNetwork().write(tmp_path)
    (run / name).write_bytes(content)
    assert judged(run).verdict in (GOOD, CARE)


def test_a_capture_that_is_cut_short_is_not_measured(tmp_path: Path) -> None:
    run = MadeNetwork().write(tmp_path)
    path = run / TRIAL / "h2-eth0.pcap"
    path.write_bytes(path.read_bytes()[:-7])
    assert outcomes(judged(run))[spacing.RATE] == "not measured"


STRANGE: list[Any] = [
    None,
    {"nodes": [], "links": []},
    {"nodes": [{"name": "h1", "kind": "host"}], "links": [{"left": "h1", "right": "h9"}]},
    {"nodes": [[]], "links": "all"},
    {"name": 3, "nodes": [{"name": "h1", "kind": "bridge"}], "mtu": "1km"},
]


@pytest.mark.parametrize("topology", STRANGE)
def test_a_spec_of_a_stranger_without_a_network_is_used_with_care(
    topology: object, tmp_path: Path
) -> None:
    run = MadeNetwork().write(tmp_path)
    spec = json.loads((run / "spec.json").read_text())
    (run / "spec.json").write_text(json.dumps(spec | {"topology": topology}))
    verdict = judged(run)
    assert verdict.verdict == CARE
    assert len(verdict.reasons) == 1


def test_late_timers_of_real_time_are_said_and_widen_what_may_be(tmp_path: Path) -> None:
    run = MadeNetwork(delay=200_000).write(tmp_path)
    _make_real(run, late=0.0002)
    assert judged(run).verdict == GOOD
    _make_real(run, late=0.003)
    verdict = judged(run)
    assert (verdict.verdict, [*outcomes(verdict)]) == (CARE, ["Timers and processors"])


def _make_real(run: Path, late: float) -> None:
    seed = run / "raw" / "seed-1"
    facts = {"seconds": 10, "waited_seconds": 0.1, "timer_late_seconds": {"one_in_a_hundred": late}}
    (seed / "realtime.json").write_text(json.dumps(facts))
    environment = json.loads((seed / "environment.json").read_text())
    (seed / "environment.json").write_text(json.dumps(environment | {"clock": "real"}))


def test_drops_by_cause_are_measures_of_the_trial(tmp_path: Path) -> None:
    made = MadeNetwork(random=(3, 4), vanished=(5,), counters={"UdpRcvbufErrors": 2})
    run = read_run(made.write(tmp_path), Problems())
    values = TrialReadings(run, run.trials[0]).drops
    assert values["random"] == 2
    assert values["full_queue"] > 0
    assert values["hosts"] == 2
    assert values["unasked"] == 1
    assert values["active_queue_management"] == 0


@pytest.mark.parametrize(
    ("unasked", "outcome", "said"),
    [
        (0.0, CheckOutcome.GOOD, ""),
        (1.0, CheckOutcome.CARE, "1 packets vanished"),
        (2.0, CheckOutcome.UNUSABLE, "2 packets vanished"),
        (-1.0, CheckOutcome.CARE, "Links and queues lost 1 packets more"),
    ],
)
def test_one_loss_of_ten_thousand_is_used_with_care(
    unasked: float, outcome: CheckOutcome, said: str
) -> None:
    network = cast(TrialNetwork, SimpleNamespace(label="on", host_ports=(), whole=False))
    causes = DropCauses(10_000, 3, 20, 4, 0, {}, unasked)
    found = counts_module._unasked(network, causes)
    assert found.outcome == outcome and found.sentence.startswith(said)
    assert bool(found.sentence) == bool(said)
    assert found.measured == f"{unasked:,.0f}; 3 at random, 24 by queues"
    assert found.excess == abs(unasked) / 10_000


def test_full_queues_drain_in_the_time_of_their_packets_and_what_a_packet_varies_by() -> None:
    line = Channel(Rate.parse("8mbit"), Duration.parse("5ms"), queue=Packets(10))
    drained = 10 * carried(line, 1000)
    assert counts_module.longest_wait([line], 1000) == drained
    varying = replace(line, jitter=Duration.parse("2ms"))
    assert counts_module.longest_wait([line, varying], 1000) == 2 * drained + 2_000_000


def test_random_losses_are_counted_with_their_share() -> None:
    found = counts_module._finding(
        DrawnLoss("s1-eth2", "s1-eth2", Share.parse("2%"), 25, 1000), LEVEL
    )
    assert found.measured.startswith("25 of 1,000 (2.5 %); chance ")
    assert found.outcome == CheckOutcome.GOOD


@pytest.mark.parametrize(("share", "chance"), [("0%", 1.0), ("2%", 0.8)])
def test_no_loss_is_certain_only_where_none_was_asked(share: str, chance: float) -> None:
    """Of 20 packets at 2 % none is lost in 0.98^20 = 67 % of runs, twice of which is capped."""
    found = DrawnLoss("", "", Share.parse(share), 0, 20).chance
    assert found == 1.0 and found >= chance


def test_the_level_is_shared_by_all_ports_with_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Either of two ports is doubted at half of LEVEL; a port without loss takes no part of it."""
    lost = {"a": 2, "b": 2, "c": 0}
    levels: list[tuple[str, float]] = []
    monkeypatch.setattr(
        counts_module, "_finding", lambda loss, level: levels.append((loss.port, level))
    )
    shares = {"a": "1%", "b": "1%", "c": "0%"}
    line = Channel(Rate.parse("1mbit"))
    ports = [
        Port(name, "s1", "h2", replace(line, loss=Share.parse(share)))
        for name, share in shares.items()
    ]
    counted = {name: PortLoss(name, lost[name] + 0.4, 0.0, 100.0) for name in lost}
    qdiscs = SimpleNamespace(port_loss=counted.__getitem__)
    network: Any = SimpleNamespace(segmented=True, label="on", ports=ports, qdiscs=qdiscs)
    counts_module.drawn_loss([network])
    assert levels == [("a", LEVEL / 2), ("b", LEVEL / 2), ("c", LEVEL / 2)]


@pytest.mark.parametrize(
    ("dropped", "sent", "outcome", "excess"),
    [
        (0, 0, CheckOutcome.GOOD, 0.0),
        (1, 10_000, CheckOutcome.CARE, 1e-4),
        (2, 10_000, CheckOutcome.UNUSABLE, 2e-4),
    ],
)
def test_drops_in_hosts_are_named_with_their_counter(
    dropped: int, sent: int, outcome: CheckOutcome, excess: float
) -> None:
    network: Any = SimpleNamespace(label="on")
    hosts = {("h2", "TCPBacklogDrop"): float(dropped)} if dropped else {}
    found = counts_module._of_hosts(network, DropCauses(sent, 0, 0, 0, 0, hosts, 0))
    assert (found.outcome, found.excess) == (outcome, excess)
    assert found.measured == (f"h2 {dropped} (TCPBacklogDrop)" if dropped else "none")
