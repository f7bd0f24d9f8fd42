"""The first packets and lines that differ between two networks, without guests."""

from pathlib import Path

import pytest

from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.program import Program
from experiments.programs.start import differences, twice
from experiments.run.verify import difference
from tests.analysis.frames import ACK, ETHERNET, Record, ipv4, ipv6, link_header, pcap, tcp
from topologies.errors import UsageError
from topologies.shapes import two_hosts

HOSTS = ("10.0.0.1", "10.0.0.2")


def segment(sequence: int, payload: bytes = b"", extra: bytes = b"") -> bytes:
    inner = tcp((5000, 80), sequence, 1, ACK, 100, extra) + payload
    return link_header(ETHERNET, 4) + ipv4(HOSTS, inner, len(inner))


@pytest.mark.parametrize(
    ("expected", "given", "words"),
    [
        (segment(1), segment(2), "from byte 42 on (TCP sequence number)"),
        (segment(1, b"ab"), segment(1, b"ac"), "from byte 56 on (payload)"),
        (
            segment(1, b"a", b"\1" * 4),
            segment(1, b"a", b"\1\1\1\0"),
            "from byte 58 on (TCP options)",
        ),
        (segment(1), segment(1)[:20], "from byte 21 on (IP fragment offset, IP TTL, "),
        (b"short", b"shore", "from byte 5 on (Ethernet destination)"),
    ],
)
def test_the_first_byte_and_the_fields_are_named(expected: bytes, given: bytes, words: str) -> None:
    assert difference(expected, given).startswith(words)


def test_fields_of_udp_and_ipv6() -> None:
    def datagram(payload: bytes) -> bytes:
        inner = bytes.fromhex("1388 0035") + len(payload).to_bytes(2, "big") + b"\0\0" + payload
        return link_header(ETHERNET, 4) + ipv4(HOSTS, inner, len(inner), protocol=17)

    words = difference(datagram(b"a"), datagram(b"bc"))
    assert words.startswith("from byte 18 on (IP length") and words.endswith("UDP length, payload)")
    one, other = (
        link_header(ETHERNET, 6) + ipv6(("::1", host), tcp((1, 2), 1, 1, flags, 9), 20)
        for host, flags in (("::2", ACK), ("::3", 0))
    )
    assert difference(one, other) == "from byte 54 on (IP destination, TCP flags)"


def ended(out: Path, stdout: bytes, stderr: bytes = b"", status: int | None = 0) -> Network:
    """A network that has ended, with one program and its capture."""
    out.mkdir()
    network = Network(None, two_hosts(channel()), 1, out, out, {}, 1.0, "")  # type: ignore[arg-type]
    program = Program(network, 0, "h1", ("prog", "a b"), status)
    program.printed["stdout"] += stdout
    program.printed["stderr"] += stderr
    network.programs[0] = program
    (out / "h1-eth0.pcap").write_bytes(pcap([Record(10**9, segment(7, stdout), 99)]))
    return network


def test_equal_networks_have_no_differences(tmp_path: Path) -> None:
    pair = [ended(tmp_path / name, b"a\nb\n") for name in ("one", "other")]
    assert differences(*pair) == []


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ((b"a\nb\n",), (b"a\nc\n",), "line 2 of stdout was 'b' and is 'c'"),
        ((b"a\n",), (b"a\nb\n",), "line 2 of stdout was '' and is 'b'"),
        ((b"a\n",), (b"a",), "line 2 of stdout was '' and is absent"),
        ((b"\xff",), (b"\\xff",), r"line 1 of stdout was '\udcff' and is '\\xff'"),
        ((b"", b"x" * 300 + b"y"), (b"", b"x" * 300 + b"z"), f"line 1 of stderr was '{'x' * 20}y'"),
        ((b"", b"", 0), (b"", b"", None), "the exit status was 0 and is None"),
    ],
)
def test_the_first_line_and_the_status_that_differ_are_named(before, now, words, tmp_path) -> None:
    found = differences(ended(tmp_path / "one", *before), ended(tmp_path / "other", *now))
    assert found[-1].startswith(f"1. h1: prog 'a b': {words}")


def test_a_packet_that_differs_comes_first(tmp_path: Path) -> None:
    found = differences(ended(tmp_path / "one", b"a"), ended(tmp_path / "other", b"b"))
    packet = "h1-eth0.pcap differs from packet 1 on, 0.000 s after its first"
    assert found[0] == f"{packet}: the packet is another from byte 55 on (payload)."
    assert len(found) == 2


def test_a_program_that_was_started_once_is_named(tmp_path: Path) -> None:
    one, other = (ended(tmp_path / name, b"a") for name in ("one", "other"))
    other.programs.clear()
    assert differences(one, other) == ["1. h1: prog 'a b': it was started once only."]


def test_no_run_of_real_computing_repeats(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='cpu="host"'):
        twice(print, out=tmp_path / "out", cpu="host")
    assert not (tmp_path / "out").exists()
