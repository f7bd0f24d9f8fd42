"""Marks of ECN by direction: seen as CE, and reported by ECE or by the counter of AccECN."""

from __future__ import annotations

import pytest

from tests.analysis.captures import MadeCapture
from tests.analysis.frames import ACK, CWR, ECE, NS, PSH
from tests.analysis.looking import Look, only_connection

HOSTS = [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")]


@pytest.mark.parametrize("hosts", HOSTS)
def test_the_counter_of_accurate_ecn_reports_marks(look: Look, hosts: tuple[str, str]) -> None:
    flow = MadeCapture().flow(hosts=hosts)
    flow.a.syn(0.0, flags=NS | CWR | ECE)
    flow.b.syn(0.04, flags=CWR)
    flow.a.segment(0.0401, 1, 0, ACK | CWR)
    counter = 5
    for number in range(10):
        flow.a.segment(0.1 + number, 1 + 1000 * number, 1000, ACK | PSH | NS | ECE, ecn=3)
        flow.a.next = 1001 + 1000 * number
        counter = (counter + 1) % 8
        flow.b.segment(0.14 + number, 1, 0, ACK | counter * ECE)
    row = only_connection(look(flow))
    assert (row["ce_packets_a2b"], row["marks_reported_b2a"]) == (10, 10)
    assert (row["ece_packets_b2a"], row["cwr_packets_b2a"], row["marks_reported_a2b"]) == (0, 0, 0)
    assert row["ecn_counter_a2b"] == row["ecn_counter_b2a"] == "accurate"


@pytest.mark.parametrize("hosts", HOSTS)
def test_classic_ecn_is_counted_by_its_flags(look: Look, hosts: tuple[str, str]) -> None:
    flow = MadeCapture().flow(hosts=hosts)
    flow.a.syn(0.0, flags=CWR | ECE)
    flow.b.syn(0.04, flags=ECE)
    flow.a.ack(0.0401)
    for number, ecn in enumerate((1, 2, 2, 3, 3, 3)):
        flow.a.send(0.1 + number, ecn=ecn)
        flow.b.segment(0.14 + number, 1, 0, ACK | (ECE if ecn == 3 else 0))
    row = only_connection(look(flow))
    names = ("ect1_packets_a2b", "ect0_packets_a2b", "ce_packets_a2b", "ece_packets_b2a")
    assert [row[name] for name in names] == [1, 2, 3, 3]
    assert (row["marks_reported_b2a"], row["ecn_counter_b2a"]) == (0, "")
