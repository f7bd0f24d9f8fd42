"""Our columns are tcptrace's if tcptrace is right; the comparison shows if they are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis import flows
from analysis.flows.columns import TCPTRACE
from tests.analysis.captures import MadeCapture
from tests.analysis.conversations import by_chance
from tests.tools import tcptrace
from tests.tools.agreement import compare


def transfer(count: int = 40) -> MadeCapture:
    """Segments and ACKs, one of them lost and repaired."""
    flow = MadeCapture().flow().open()
    for number in range(count):
        at = 0.1 + number * 0.05
        flow.a.send(at)
        flow.b.ack(at + 0.04) if number != 7 else flow.a.send(at + 0.02, seq=1 + 7000)
    flow.a.fin(9.0)
    flow.b.fin(9.04)
    flow.a.ack(9.05)
    return flow.capture


@pytest.mark.parametrize(
    "name", ["sack_on/h1-eth0", "sack_on/h2-eth0", "sack_off/h1-eth0", "sack_off/h2-eth0"]
)
def test_real_captures_agree(run_directory: Path, name: str) -> None:
    comparison = compare(run_directory / "raw" / "seed-5" / f"{name}.pcap")
    assert [
        (field.name, field.way, field.theirs, field.ours, field.faults)
        for field in comparison.disagreements
    ] == []
    assert comparison.sound


def test_all_147_fields_of_tcptrace_are_compared(tmp_path: Path) -> None:
    path = transfer().write(tmp_path)
    comparison = compare(path)
    assert len(comparison.fields) == 147
    assert comparison.sound, comparison.disagreements
    assert {(field.name, field.way != "") for field in comparison.fields} == {
        (column.name, column.directed) for column in TCPTRACE
    }


@pytest.mark.parametrize("seed", range(40))
def test_tcptraces_definitions_give_tcptraces_values(tmp_path: Path, seed: int) -> None:
    """Of conversations by chance."""
    comparison = compare(by_chance(seed, decent=True).write(tmp_path))
    wrong = [
        (disagreement.name, disagreement.way, disagreement.theirs, disagreement.compatible)
        for disagreement in comparison.disagreements
        if "defin" in disagreement.faults[0]
    ]
    assert (wrong, comparison.strangers) == ([], ())


def test_a_jumbo_mss_is_negative_for_tcptrace(tmp_path: Path) -> None:
    flow = MadeCapture().flow(mss=65495).open()
    flow.a.send(1.0)
    comparison = compare(flow.capture.write(tmp_path))
    assert comparison.sound, comparison.disagreements
    field = next(field for field in comparison.fields if field.name == "mss_requested")
    assert (field.theirs, field.compatible, field.ours) == ("4294967255", "4294967255", "65495")


@pytest.mark.parametrize("hosts", [("::1", "::2"), ("fe80::1", "1::"), ("2001:db8::1", "::")])
def test_the_addresses_of_tcptrace_are_understood(tmp_path: Path, hosts: tuple[str, str]) -> None:
    """It prints `:0001` for ::1."""
    flow = MadeCapture().flow(hosts=hosts).open()
    flow.a.send(1.0)
    assert compare(flow.capture.write(tmp_path)).sound


def test_every_deviation_from_tcptrace_says_why() -> None:
    for column in TCPTRACE:
        assert bool(column.why) == (column.agreement != "exact"), column.name
        assert column.allowed > 0 or column.agreement != "tolerance"
    assert next(c for c in TCPTRACE if c.name == "unique_bytes_sent").agreement == "exact"


@pytest.mark.parametrize("column", ["unique_bytes_sent_a2b", "rexmt_data_pkts_a2b"])
def test_a_wrong_exact_field_is_a_disagreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    path, read = transfer().write(tmp_path), flows.read

    def wrong(*words: object, **settings: object) -> flows.Reading:
        reading = read(*words, **settings)  # type: ignore[arg-type]
        table = reading.connection_table
        more = {column: table[column].values + np.uint64(1)}
        return replace(reading, connection_table=table.having(**more))

    monkeypatch.setattr(flows, "read", wrong)
    (field,) = compare(path).disagreements
    assert f"{field.name}_{field.way}" == column


def test_the_report_of_tcptrace_is_whole(tmp_path: Path) -> None:
    (row,) = tcptrace.long_report(transfer().write(tmp_path))
    assert len([name for name in row if name]) == 147
    assert "max_owin_a2b" in row
