"""Captures whose truth is known, because they are built here, read by us and by tcptrace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.measures.captures import End, pauses, read_end, resent
from analysis.measures.metrics import OF_DATA
from analysis.records.json_reader import Problems
from analysis.records.run_directory import run_of
from tests.tools import tcptrace
from topologies.errors import CommandError, TcplabError

Build = Callable[[list[tuple[float, int, int, int, int]]], bytes]
FIRST = 2**32 - 1500
"""A sequence number that turns within the second segment."""
SENT_TWICE = [
    (1.0, 40000, 5001, FIRST, 1000),
    (1.1, 40000, 5001, FIRST + 1000, 1000),
    (1.2, 5001, 40000, 1, 0),
    (1.9, 40000, 5001, FIRST, 1000),
    (2.0, 40000, 5001, FIRST + 2000, 1000),
]


@pytest.fixture
def end(tmp_path: Path) -> Callable[[bytes], tuple[End | None, list[str]]]:
    """What is read of a capture at the sender, and the problems."""

    def read(content: bytes) -> tuple[End | None, list[str]]:
        spec = {
            "conditions": [{"name": "any", "label": "any"}],
            "captures": ["h1-eth0"],
            "flows": [{"name": "flow1", "sender": "h1", "receiver": "h2", "port": 5001}],
        }
        (tmp_path / "any").mkdir()
        (tmp_path / "any" / "h1-eth0.pcap").write_bytes(content)
        run, problems = run_of(tmp_path, spec), Problems()
        return read_end(run, run.trials[0], "sender", "h1", problems), problems.found

    return read


Read = Callable[[bytes], tuple[End | None, list[str]]]


def test_a_known_retransmission_is_counted_across_the_sequence_turn(
    build_capture: Build, end: Read
) -> None:
    found, problems = end(build_capture(SENT_TWICE))
    assert found is not None
    assert found.data["payload"].to_list() == [1000] * 4
    assert resent(found.data) == 1
    assert not problems


def test_pauses_are_gaps_between_data(build_capture: Build, end: Read) -> None:
    found, _ = end(build_capture(SENT_TWICE))
    assert found is not None
    assert pauses(found.data, 0.25) == pytest.approx([0.8])


def test_the_values_are_of_the_data_and_of_the_acks(build_capture: Build, end: Read) -> None:
    found, _ = end(build_capture(SENT_TWICE))
    assert found is not None
    values = found.values()
    assert (
        values["rexmt_data_pkts"],
        values["rexmt_data_bytes"],
    ) == (1, 1000)
    assert (
        values["total_packets"],
        values["back.total_packets"],
    ) == (4, 1)
    assert values["both.total_packets"] == 5


def test_data_that_the_connection_s_second_end_sent_is_found(
    build_capture: Build, end: Read
) -> None:
    """The capture begins with an ACK."""
    found, _ = end(build_capture([(0.0, *SENT_TWICE[2][1:]), *SENT_TWICE]))
    assert found is not None
    assert (found.by_a, len(found.data), found.values()["total_packets"]) == (
        False,
        4,
        4,
    )


def test_of_several_connections_the_largest_counts_and_the_others_are_told(
    build_capture: Build, end: Read
) -> None:
    found, problems = end(build_capture([(0.5, 39999, 5001, 1, 500), *SENT_TWICE]))
    assert found is not None
    assert len(found.data) == 4
    assert "there are 2 connections at port 5001, not one" in problems[0]


def test_tcptrace_agrees_on_a_known_retransmission(build_capture: Build, tmp_path: Path) -> None:
    path = tmp_path / "known.pcap"
    path.write_bytes(build_capture(SENT_TWICE))
    (row,) = tcptrace.long_report(path)
    names = (
        "rexmt_data_pkts_a2b",
        "rexmt_data_bytes_a2b",
        "unique_bytes_sent_a2b",
        "total_packets_b2a",
    )
    assert [row[name] for name in names] == ["1", "1000", "3000", "1"]


@pytest.mark.parametrize("host", ["h1", "h2"])
@pytest.mark.parametrize("condition", ["sack_on", "sack_off"])
def test_the_values_are_tcptraces_in_a_real_capture(
    run_directory: Path, end: Read, host: str, condition: str
) -> None:
    """But for RTT_min, of which tcptrace takes 0 for none."""
    path = run_directory / "raw" / "seed-5" / condition / f"{host}-eth0.pcap"
    found, _ = end(path.read_bytes())
    assert found is not None
    (row,) = tcptrace.long_report(path)
    assert row["port_b"] == "5001"
    values = found.values()
    for name in {*OF_DATA} - {"ce_packets", "cwr_packets"}:  # tcptrace counts no marks
        if name != "RTT_min" or values["RTT_min"]:
            assert values[name] == pytest.approx(float(row[f"{name}_a2b"]), abs=0.51, rel=1e-3), (
                name
            )
    assert host == "h2" or resent(found.data) == int(row["rexmt_data_pkts_a2b"]) != 0


@pytest.mark.parametrize("missing", [1, 20, 1000])
def test_a_cut_capture_is_noticed_and_the_rest_kept(
    build_capture: Build, end: Read, missing: int
) -> None:
    found, problems = end(build_capture(SENT_TWICE)[:-missing])
    assert found is not None
    assert found.reading.file.packets == 4
    assert "cut short: the last record is not whole, after 4 packets" in problems[0]


@pytest.mark.parametrize("content", [b"", b"\0" * 10, b"not a capture, but longer than a header"])
def test_what_is_no_capture_is_one_problem(content: bytes, end: Read) -> None:
    found, problems = end(content)
    assert found is None
    assert len(problems) == 1
    assert "h1-eth0.pcap" in problems[0]


def test_tcptrace_failing_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "text.pcap"
    path.write_text("this is no capture\n" * 10)
    with pytest.raises(CommandError, match="exit status 1"):
        tcptrace.long_report(path)


def test_a_tcptracerc_in_the_callers_home_changes_nothing(
    build_capture: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".tcptracerc").write_text("-q\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "known.pcap"
    path.write_bytes(build_capture(SENT_TWICE))
    assert len(tcptrace.long_report(path)) == 1


_HEADING = (
    "conn_#,host_a,host_b,port_a,port_b,first_packet,last_packet,total_packets_a2b,"
    "total_packets_b2a,max_owin_a2b,max_owin_b2a,"
)
REPORT = f"""\
#1 arg remaining, starting with 'x.pcap'
#TCP connection info:
{_HEADING}

1,10.0.0.1,10.0.0.2,35846,5001,1700000012.131917 , 1700000043.42 ,  826,  588,   42496,  162447,
"""


def test_columns_are_as_printed_and_times_are_put_right() -> None:
    (row,) = tcptrace.rows(REPORT)
    assert (row["total_packets_a2b"], row["total_packets_b2a"]) == ("826", "588")
    assert tcptrace.seconds(row["last_packet"]) == pytest.approx(1700000043.000042, abs=1e-6)


def test_a_report_that_does_not_parse_is_one_clear_error() -> None:
    with pytest.raises(TcplabError, match=r"does not parse"):
        tcptrace.rows(REPORT.replace("35846,", ""))
