"""Parsers, on what the real tools printed."""

from __future__ import annotations

import json

import pytest

from analysis.records import output
from analysis.records.json_reader import typed
from analysis.records.trial_files import CountersFile, PortLoss, QdiscsFile
from tests.analysis import xplot

CLIENT = """\
------------------------------------------------------------
Client connecting to 10.0.0.2, TCP port 5001
TCP window size:  256 KByte (WARNING: requested  128 KByte)
------------------------------------------------------------
[  1] local 10.0.0.1 port 35846 connected with 10.0.0.2 port 5001 (icwnd/mss/irtt=14/1448/160027)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-31.2972 sec  1.00 MBytes   268 Kbits/sec
"""
STREAMS = """\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-10.0100 sec  1.25 GBytes  1.07 Gbits/sec
[  2] 0.0000-10.0200 sec  0.25 GBytes   214 Mbits/sec
[SUM] 0.0000-10.0200 sec  1.50 GBytes  1.29 Gbits/sec
"""
DATAGRAMS = """\
[  1] 0.0000-1.0000 sec   125 KBytes  1.02 Mbits/sec   0.101 ms    3/   90 (3.3%)
[  1] 1.0000-2.0000 sec   125 KBytes  1.02 Mbits/sec   0.202 ms    4/   91 (4.4%)
[  1] 0.0000-2.0000 sec   250 KBytes  1.02 Mbits/sec   0.303 ms    7/  181 (3.9%)
"""
GRAPH = """\
timeval double
title
10.0.0.1:37544_==>_10.0.0.2:5001 (time sequence graph)
xlabel
time
ylabel
sequence number
white
orange
diamond 1700000048.469760 2697962152
atext 1700000048.469760 2697962153
SYN
uarrow 1700000048.469760 2697962153
line 1700000048.469760 2697962152 1700000048.469760 2697962153
white
darrow 1700000048.549760 2697962153
diamond 1700000048.549760 2697962213 white
dot 1700000048.549760 2697962213 white
line 1700000048.549760 2697962153 1700000048.549760 2697962213
green
line 1700000048.549760 2697962153 1700000048.629760 2697962153
line 1700000048.629760 2697962153 1700000048.629760 2697962213
yellow
line 1700000048.549760 2698027688 1700000048.629760 2698027688
purple
line 1700000048.655520 2697965109 1700000048.655520 2697969453
htick 1700000048.655520 2697965109
atext 1700000048.655520 2697969453
S
red
atext 1700000048.655520 2697965109
R
white
red
darrow 1700000048.655520 2697963661
uarrow 1700000048.655520 2697965109
line 1700000048.655520 2697963661 1700000048.655520 2697965109
go
"""


def test_only_whole_intervals_are_seconds() -> None:
    """The last write may take longer than the test lasts; iperf 2 prints what is left as a line of
    its own.
    """
    lines = (
        "[  1] 0.0000-1.0000 sec  27.6 MBytes   232 Mbits/sec",
        "[  1] 1.0000-2.0003 sec  49.2 MBytes   413 Mbits/sec",
        "[  1] 2.0003-2.3136 sec   128 KBytes  3.34 Mbits/sec",
        "[  1] 0.0000-2.3136 sec  76.9 MBytes   279 Mbits/sec",
    )
    assert [one.rate for one in output.read_intervals("\n".join(lines))] == [232_000, 413_000]
    assert output.read_intervals(lines[-1]) == []


def test_iperf_prints_binary_kilobytes_and_decimal_kilobits() -> None:
    assert output.read_summary(CLIENT) == output.IperfSummary(
        interval=31.2972, transfer=1024.0, rate=268.0
    )


def test_iperf_of_several_streams_is_their_sum() -> None:
    summary = output.read_summary(STREAMS)
    assert summary is not None
    assert (summary.transfer, summary.rate) == pytest.approx((1.5 * 1024**2, 1.29e6))


def test_the_last_report_of_a_udp_server_counts_all_datagrams() -> None:
    assert output.read_datagrams(DATAGRAMS) == output.Datagrams(jitter=0.303, lost=7, sent=181)


def test_iperf_that_was_killed_has_no_summary() -> None:
    assert output.read_summary(CLIENT.split("[ ID]")[0]) is None


def test_time_sequence_graph_tells_first_sending_from_second() -> None:
    sequence = xplot.time_sequence(xplot.read_xplot(GRAPH))
    assert [(line[1], line[3]) for line in sequence.data] == [(1, 61)]
    assert [(line[1], line[3]) for line in sequence.resent] == [(1509, 2957)]
    assert [(line[1], line[3]) for line in sequence.sacks] == [(2957, 7301)]
    assert sequence.acks[-1][3] == 61
    assert sequence.resent[0][0] == pytest.approx(0.18576, abs=1e-6)


def test_letters_belong_to_the_text_before_them() -> None:
    texts = [shape.text for shape in xplot.read_xplot(GRAPH) if shape.kind == "atext"]
    assert texts == ["SYN", "S", "R"]


@pytest.mark.parametrize(
    "broken", ["title\nx\nline 1 2 3", "title\nx\nspiral 1 2", "title\nx\ndot 1 two"]
)
def test_broken_graph_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        list(xplot.read_xplot("timeval double\n" + broken))


def test_sequence_numbers_run_on_across_their_turn() -> None:
    turned = "timeval double\nline 1 4294967290 1 4294967296\nline 2 100 2 200\n"
    assert [line[3] for line in xplot.time_sequence(xplot.read_xplot(turned)).data] == [6, 206]


SAMPLE = {
    "time": 1700000048.6,
    "sockets": [
        {
            "local": "10.0.0.1:37544",
            "remote": "10.0.0.2:5001",
            "state": "ESTAB",
            "rtt_us": 84859,
            "ssthresh": 9,
            "cwnd": 12,
            "bytes_acked": 1509,
            "bytes_sent": 24676,
            "bytes_retrans": 1448,
        },
        {"local": "10.0.0.2:5001", "remote": "10.0.0.1:37544", "state": "SYN-RECV"},
    ],
}


def test_socket_samples_are_the_senders() -> None:
    (sample,) = output.by_port([json.dumps(SAMPLE), ""])["5001"]
    assert (sample.cwnd, sample.ssthresh, sample.rtt, sample.bytes_retrans) == (
        12,
        9,
        0.084859,
        1448,
    )


def test_socket_samples_cut_short_are_an_error() -> None:
    with pytest.raises(ValueError, match=r".+"):
        output.by_port([json.dumps(SAMPLE)[:50]])


@pytest.mark.parametrize(
    ("kernel", "counted"),
    [("Linux 4.4.121", False), ("Linux 5.0.21", False), ("Linux 5.1.0", True), ("", True)],
)
def test_time_outs_are_left_out_if_a_kernel_counts_but_a_part(kernel: str, counted: bool) -> None:
    hosts = {"h1": {"TcpExtTCPTimeouts": 3.0, "TcpRetransSegs": 5.0}}
    grown = CountersFile({}, hosts).on_kernel(kernel).growth("h1")
    assert grown["TcpRetransSegs"] == 5.0
    assert ("TcpExtTCPTimeouts" in grown) == counted


def test_counters_grow_from_what_they_were() -> None:
    counted = {
        "before": {"h1": {"TcpRetransSegs": 96}},
        "after": {"h1": {"TcpRetransSegs": 183, "TcpOutRsts": 2}},
    }
    growth = typed(CountersFile, counted).growth("h1")
    assert growth == {"TcpRetransSegs": 87, "TcpOutRsts": 2}


def test_netem_counts_the_drops_of_its_queue_as_its_own() -> None:
    ports = {
        "s1-eth2": [
            {"kind": "netem", "handle": "1:", "bytes": 1114714, "packets": 757, "drops": 89},
            {"kind": "tbf", "handle": "2:", "drops": 9},
            {"kind": "pfifo", "handle": "3:", "drops": 9},
        ],
        "s1-eth1": [{"kind": "netem", "handle": "1:", "bytes": 40130, "packets": 605, "drops": 63}],
    }
    qdiscs = typed(QdiscsFile, {"before": {}, "after": ports})
    assert qdiscs.data_port() == PortLoss("s1-eth2", 80, 9, 757)
