"""Traces of packet opportunities: the packaged ones, rates by hand, and what is refused."""

import os
from math import cos, tau
from pathlib import Path

import pytest

from experiments.study.catalogue import find
from experiments.study.grid import single
from experiments.study.link import LinkTrace, read_delays, read_trace
from testbed.guest.namespaces import network_namespace
from topologies.errors import UsageError
from topologies.units import Duration

FRAME = 8 * 1514


def test_the_slow_sine_is_its_formula() -> None:
    """From 20 packets a second to 380 and back in ten seconds."""

    def sent(second: float) -> float:
        return 200 * second - 180 * 10 / tau * cos(tau * (second / 10 - 0.25))

    counted = [int(sent(ms / 1000) - sent(0) + 1e-6) for ms in range(10_001)]
    stamps = [ms for ms in range(1, 10_001) for _ in range(counted[ms] - counted[ms - 1])]
    assert read_trace("slow_sine").stamps == tuple(stamps)
    assert len(stamps) == 2000 and stamps[-1] == 10_000


def test_on_and_off_is_its_formula() -> None:
    """A second without packets, then one with a packet every 2 ms."""
    assert read_trace("on_off").stamps == tuple(range(1002, 2001, 2))


def test_a_bin_has_the_rate_of_its_packets_and_the_trace_repeats() -> None:
    trace = LinkTrace((50, 100, 150, 150, 250))
    expected = (2, 2, 2, 3, 1)  # 50, 100 | 150, 150 | 250, 300 | 350, 400, 400 | 500
    assert [rate.base for rate in trace.rates(5)] == [10 * FRAME * each for each in expected]
    assert trace.mean.base == 5 * FRAME * 4


def test_a_packet_of_an_outage_ends_with_it() -> None:
    rates = [rate.base for rate in LinkTrace((400,)).rates(4)]
    assert rates == [1000 * FRAME // left // 8 * 8 for left in (300, 200, 100, 100)]


def write(folder: Path, text: str) -> str:
    file = folder / "cell.trace"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no time above 0"),
        ("0\n", "no time above 0"),
        ("10\n\n20\n", "trace:2: '' is no time"),
        ("10\n1.5\n", "trace:2: '1.5' is no time"),
        ("10\n-3\n", "'-3' is no time"),
        ("10\n9\n", "9 comes after 10"),
        ("9" * 13, "is no time"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_trace(write(tmp_path, text))


def test_a_link_follows_a_trace_towards_receivers_alone(tmp_path: Path) -> None:
    file = write(tmp_path, "".join(f"{ms}\n" for ms in range(150, 250)))
    spec = single(find("sack"), [f"link.trace={file}", "duration=1s", "link.queue=50"]).spec
    assert {change.port for change in spec.changes} == {"s1-eth2"}
    assert {change.channel.queue.base for change in spec.changes} == {50}
    (there,), (back,) = (
        [port.channel for port in spec.topology.path(*way) if port.channel]
        for way in (("h1", "h2"), ("h2", "h1"))
    )
    assert there.bandwidth == LinkTrace(tuple(range(150, 250))).mean
    assert back.bandwidth.base == 10**6  # the study's
    assert spec.changes[-1].at == Duration.parse("1s")
    assert spec.changes[-1].channel == there


def test_each_direction_follows_a_file(tmp_path: Path) -> None:
    file = write(tmp_path, "0s 40ms\n# a hand-over\n1s 80ms\n1500ms 20ms # back\n")
    settings = ["duration=1s", "link.queue=50"]
    back = single(find("sack"), [*settings, "link.back_trace=on_off"]).spec
    assert {change.port for change in back.changes} == {"s1-eth1"}
    delays = single(find("sack"), [*settings, f"link.delay_file={file}"]).spec
    found = [
        (str(change.at), str(change.channel.delay))
        for change in delays.changes
        if change.port == "s1-eth1"
    ]
    assert found == [("0s", "40ms"), ("1s", "80ms"), ("1.5s", "20ms")]
    assert len(delays.changes) == 2 * len(found)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no line"),
        ("1s", "cell.trace:1: '1s' is no time and delay"),
        ("0s 4 apples", "no time and delay"),
        ("0s 40apples", "cell.trace:1: '40apples'"),
        ("1s 40ms\n1s 50ms", "1s comes after 1s"),
    ],
)
def test_wrong_delays_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_delays(write(tmp_path, text))


def test_the_spec_has_the_content_and_not_the_name_of_the_file(tmp_path: Path) -> None:
    stamps = read_trace("on_off").stamps
    copy = write(tmp_path, "".join(f"{ms}\n" for ms in stamps))
    one, same = (single(find("sack"), [f"link.trace={name}"]).digest for name in ("on_off", copy))
    assert one == same
    write(tmp_path, "".join(f"{ms}\n" for ms in stamps[100:]))
    assert single(find("sack"), [f"link.trace={copy}"]).digest != one


def test_a_change_finds_its_switch_while_the_main_thread_is_in_a_host(monkeypatch) -> None:
    """/proc/PID/ns/net of a job is that of its main thread."""

    def moved(_descriptor: int) -> None:
        raise AssertionError("the thread left its namespace")

    monkeypatch.setattr("testbed.guest.namespaces._enter", moved)
    with network_namespace(os.getpid()):
        pass
