"""`analyze` on captures of all sorts: what it prints, what it writes, how bad input ends."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import analysis
from analysis import flows, fmt
from analysis.analyze import files
from analysis.analyze.facts import CALLED, connection
from analysis.analyze.listed import MOST
from analysis.flows.columns import KINDS, RETRANSMISSIONS
from tests.analysis.captures import MadeCapture
from tests.analysis.conftest import SAMPLE
from tests.analysis.looking import analyze
from tests.analysis.plain_conversation import conversation
from tests.analysis.wrappings import vxlan, wrapped
from tests.tools import made_captures

BOTH = [SAMPLE / "raw" / "seed-5" / "sack_on" / f"{host}-eth0.pcap" for host in ("h1", "h2")]
"""The sender's capture and the receiver's."""


def row_of(output: str, name: str) -> str:
    """The line of a block that begins with `name`."""
    return next(line.strip() for line in output.splitlines() if line.strip().startswith(name))


def test_the_sender_s_capture_names_what_was_sent_again_and_why() -> None:
    result = analyze(BOTH[0])
    row = flows.read(BOTH[0]).connections.row(0, named=True)
    cell = row_of(result.output, "Retransmissions")
    assert cell.split()[1] == f"{row['retransmissions_a2b']}:"
    assert f"{row['retransmissions_sack_a2b']} by SACK" in cell
    assert "10.0.0.1:37544, the sender (by the handshake)" in result.output
    assert all(len(line) <= 80 for line in result.output.splitlines()[1:])  # the first is the path


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_what_is_printed_loads_neither_polars_nor_numpy(words: list[str]) -> None:
    code = (
        "import atexit, sys; from analysis.__main__ import main;"
        " atexit.register(lambda: print(*sys.modules)); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "analyze", str(BOTH[0]), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "analysis.flows._core" in loaded
    assert not {"polars", "numpy", "jinja2", "matplotlib"} & loaded


def test_at_the_receiver_nothing_is_called_a_retransmission() -> None:
    result = analyze(BOTH[1])
    assert "the receiver (by the handshake)" in result.output
    assert "not visible at the receiver" in row_of(result.output, "Retransmissions")
    assert "7 gaps filled, 1 copy" in row_of(result.output, "Gaps and copies")
    assert not any(word in result.output for word in CALLED.values())


def test_every_kind_of_retransmission_has_a_name() -> None:
    assert set(CALLED) == set(RETRANSMISSIONS)


def test_of_many_connections_the_largest_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    made_captures.bulk(path, 6 * 3 * (MOST + 4), connections=MOST + 4)
    result = analyze(path)
    assert result.output.count("\N{RIGHTWARDS ARROW}") == MOST
    assert "And 4 more" in result.output
    assert f"{MOST + 4} connections" in " ".join(result.output.split())
    assert all(len(line) <= 80 for line in result.output.splitlines()[1:])  # the first is the path


def test_thousands_of_connections_without_data_take_no_more_than_a_screen(tmp_path: Path) -> None:
    path = tmp_path / "idle.pcap"
    made_captures.idle(path, 5000)
    result = analyze(path)
    assert f"And {5000 - MOST:,} more" in result.output
    assert len(result.output.splitlines()) < 3 * MOST + 20


def test_a_damaged_file_shows_what_precedes_and_ends_with_1(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(BOTH[0].read_bytes()[:-20])
    result = analyze(path, status=1)
    text = " ".join(result.output.split())
    assert (
        "is damaged: it is cut short: the last record is not whole. Reading stopped at byte" in text
    )
    assert "after 109 packets" in text
    assert "Retransmissions" in result.output
    analyze(path, "--partial")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty."), (b"no capture at all\n" * 9, "is no capture."), (b"\x0a", "is no")],
)
def test_what_is_no_capture_is_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "any.pcap"
    path.write_bytes(content)
    result = analyze(path, status=1)
    assert f"{path} {sentence}" in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Name a capture file."),
        (("nowhere.pcap",), "There is no file nowhere.pcap."),
        ((SAMPLE,), "is a folder."),
        ((BOTH[0], "--write", "csv"), "--write needs a folder."),
        ((BOTH[0], "--out", "x", "--write", "csv,xls"), "--write does not know 'xls'."),
        ((BOTH[0], "--match"), "--match takes two captures, not 1."),
        ((BOTH[0], "--align-clocks"), "are for two captures."),
    ],
)
def test_a_call_that_makes_no_sense_ends_with_2_before_anything_is_read(
    words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in analyze(*words, status=2).output


def _several(folder: Path) -> Path:
    """Three connections: the second repeats a segment, the third has addresses of version six."""
    capture = MadeCapture()
    for number, hosts in enumerate(
        [("10.1.0.1", "10.0.0.9")] * 2 + [("2001:db8::1", "2001:db8::2")]
    ):
        flow = capture.flow(hosts=hosts, ports=(40_000 + number, 443 if number else 80)).open()
        flow.a.send(0.1)
        if number == 1:
            flow.a.send(0.4, seq=1)
        flow.b.ack(0.5)
    return capture.write(folder)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (("--host", "10.1.0.0/16"), [1, 2]),
        (("--host", "2001:DB8:0::1"), [3]),
        (("--port", "443"), [2, 3]),
        (("--port", "443", "--port", "40000"), [1, 2, 3]),
        (("--host", "10.0.0.9", "--port", "443"), [2]),
        (("--where", "retransmissions_a2b > 0 and port_b = 443"), [2]),
        (("--connection", "1", "--connection", "3", "--where", "port_b < 443"), [1]),
    ],
)
def test_connections_are_chosen_by_ends_and_columns(
    tmp_path: Path, words: tuple[str, ...], numbers: list[int]
) -> None:
    result = analyze(_several(tmp_path), "--json", *words)
    (capture,) = json.loads(result.stdout)["captures"]
    assert [row["connection"] for row in capture["connections"]] == numbers


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--host", "example"), 2, "--host example is no address."),
        (("--where", "nothing > 3"), 2, "is no condition on the columns"),
        (("--where", "port_a >"), 2, "is no condition on the columns"),
        (("--where", "port_a"), 2, "is no condition on the columns"),
        (("--port", "81"), 1, "It has 3 connections"),
    ],
)
def test_a_choice_that_fits_nothing_is_one_sentence(
    tmp_path: Path, words: tuple[str, ...], status: int, sentence: str
) -> None:
    assert sentence in analyze(_several(tmp_path), *words, status=status).output


def test_an_empty_capture_of_other_traffic_says_so(tmp_path: Path) -> None:
    capture = MadeCapture()
    capture.add(0.1, b"\x45" + bytes(7) + b"\x40\x11" + bytes(18))  # UDP
    result = analyze(capture.write(tmp_path))
    assert "No TCP connection is in it." in result.output
    assert "Left out: 1 " in result.output


def test_json_has_every_column_and_nothing_else_on_standard_output(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "analysis",
            "analyze",
            "--json",
            "--out",
            str(tmp_path),
            *map(str, BOTH),
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    captures = json.loads(done.stdout)["captures"]
    frame = flows.read(BOTH[0]).connections
    rows = captures[0]["connections"]
    assert all(row.pop("verdict")["sentence"] for row in rows)
    assert rows == frame.to_dicts()
    assert [Path(capture["file"]["path"]).name for capture in captures] == [
        "h1-eth0.pcap",
        "h2-eth0.pcap",
    ]
    assert "Written" in done.stderr


def test_what_is_written_is_what_was_asked_for_and_can_be_read_again(tmp_path: Path) -> None:
    analyze(BOTH[0], "--out", tmp_path, "--write", ",".join(files.FORMATS))
    read = flows.read(BOTH[0], packets=True)
    assert read.packets is not None
    moments = pl.col("first_packet", "last_packet").cast(pl.Datetime("ns", "UTC"))
    whole = read.connections.with_columns(moments)
    assert pl.read_parquet(tmp_path / "connections.parquet").equals(whole)
    packets = pl.read_parquet(tmp_path / "packets.parquet")
    assert packets["time"].dtype == pl.Datetime("ns", "UTC")
    packets = packets.with_columns(pl.col("time").cast(pl.Int64))
    assert packets.drop("kind").equals(read.packets.drop("kind"))
    assert packets["kind"].to_list() == [KINDS[code][0] for code in read.packets["kind"]]
    assert pl.read_csv(tmp_path / "connections.csv").columns == read.connections.columns
    assert (
        json.loads((tmp_path / "connections.json").read_text())["file"]["packets"]
        == read.file.packets
    )
    assert read.limits is not None
    assert pl.read_csv(tmp_path / "limits.csv").height == read.limits.height > 0
    assert "10.0.0.1:37544" in (tmp_path / "graphs.html").read_text()
    assert (
        (tmp_path / "pictures" / "h1-eth0_1_a2b_time_sequence.png")
        .read_bytes()
        .startswith(b"\x89PNG")
    )
    assert (tmp_path / "pictures" / "h1-eth0_1_a2b_time_sequence.svg").exists()


def test_by_default_a_page_and_a_table_are_written(tmp_path: Path) -> None:
    analyze(BOTH[0], "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["connections.csv", "graphs.html"]


def test_tables_alone_need_no_row_per_packet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[bool] = []
    real = flows.read

    def read(path: Path, packets: bool = False, **settings: object) -> flows.Reading:
        requests.append(packets)
        return real(path, packets=packets, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr("analysis.analyze.command.read", read)
    analyze(BOTH[0], "--out", tmp_path, "--write", "csv,json,parquet")
    analyze(BOTH[0], "--out", tmp_path)
    assert requests == [False, True]


def test_several_files_get_a_folder_each_also_of_one_name(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "trace.pcap").write_bytes(BOTH[0].read_bytes())
    paths = [tmp_path / folder / "trace.pcap" for folder in ("one", "two")]
    analyze(*paths, "--out", tmp_path / "out", "--write", "csv")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["one_trace", "two_trace"]


def test_two_ends_of_one_flow_tell_what_was_lost_between_them(tmp_path: Path) -> None:
    result = analyze("--match", *BOTH, "--out", tmp_path, width=100)
    assert row_of(result.output, "Lost on the way").startswith("Lost on the way        10 (14 %)")
    assert "40 ms" in row_of(result.output, "Delay median")
    rows = pl.read_csv(tmp_path / "matched.csv")
    assert rows["lost"][0] == 10
    page = (tmp_path / "graphs.html").read_text()
    assert "queue" in page
    assert "h2-eth0" in page


def test_captures_of_different_traffic_do_not_match(tmp_path: Path) -> None:
    path = tmp_path / "other.pcap"
    made_captures.idle(path, 2)
    result = analyze("--match", BOTH[0], path, status=1)
    assert "no TCP connection in common" in result.output


def test_compressed_captures_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap.gz"
    path.write_bytes(gzip.compress(BOTH[0].read_bytes()))
    result = analyze(path)
    assert "pcap-nanosecond, gzip" in result.output


def test_names_with_markup_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "[bold]odd[red].pcap"
    path.write_bytes(BOTH[0].read_bytes())
    result = analyze(path, width=400)
    assert path.name in result.output


def test_every_column_is_explained() -> None:
    result = analyze("--columns", width=200)
    names = flows.read(BOTH[0], packets=True)
    assert names.packets is not None
    stems = {name.removesuffix("_a2b").removesuffix("_b2a") for name in names.connections.columns}
    assert result.exit_code == 0
    missing = {name for name in {*stems, *names.packets.columns} if name not in result.output}
    assert missing == {
        "RTT full_sz_stdev"
    }  # tcptrace misprints it; ours is the name with an underscore


def test_a_notebook_reads_a_capture_by_one_name() -> None:
    assert analysis.read(BOTH[0]).connections.equals(flows.read(BOTH[0]).connections)
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        _ = analysis.reed


def test_importing_the_package_loads_no_frames() -> None:
    code = "import analysis, sys; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1448, "1.45 kB"), (10**12, "1,000 GB"), (82_596, "82.6 kB")],
)
def test_sizes_have_three_digits(value: int, text: str) -> None:
    assert fmt.size(value) == text


@pytest.mark.parametrize(
    ("part", "text"), [(0, "0 %"), (1, "0.1 %"), (14, "1.4 %"), (500, "50 %"), (1e-9, "0.01 %")]
)
def test_a_share_that_is_not_zero_is_not_written_as_zero(part: float, text: str) -> None:
    assert fmt.share(part, 1000) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (299_000_000_000, "299,000 ms"),
        (999_960_000, "1,000 ms"),
        (99_960_000, "100 ms"),
        (1_234_000, "1.23 ms"),
        (12, "0.000012 ms"),
    ],
)
def test_times_have_no_power_of_ten(nanoseconds: int, text: str) -> None:
    assert fmt.milliseconds(nanoseconds) == text


def test_long_round_trips_of_many_connections_are_written_out(tmp_path: Path) -> None:
    capture = MadeCapture()
    for port in range(5):
        flow = capture.flow(ports=(40000 + port, 80)).open()
        flow.a.send(1.0)
        flow.b.ack(300.0)
    assert "e+0" not in analyze(capture.write(tmp_path)).output


def test_repeated_syns_and_the_time_that_they_took_are_shown(tmp_path: Path) -> None:
    capture = MadeCapture()
    flow = capture.flow()
    for at in (0.0, 1.0, 3.0):
        flow.a.syn(at)
    flow.b.syn(3.04)
    flow.a.ack(3.041)
    flow.a.send(3.05)
    opened = row_of(analyze(capture.write(tmp_path)).output, "Opened by")
    assert opened == "Opened by 10.0.0.1:40000 in 3.04 s; its SYN was sent 3 times."


def test_help_calls_the_program_as_it_was_typed() -> None:
    words = ["-m", "experiments.cli.main", "analyze", "--help"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: ./tcplab analyze ")


def test_an_address_of_six_is_told_from_its_port() -> None:
    row = dict(flows.read(BOTH[0]).connections.row(0, named=True)) | {"host_a": "fe80::1"}
    assert connection(row).directions[0].source == "[fe80::1]:37544"


def test_the_network_of_a_connection_is_named(tmp_path: Path) -> None:
    tagged = conversation(MadeCapture(tags=(7,)))
    tunnel = wrapped(conversation(), vxlan(5))
    assert "\nIn VLAN 7.\n" in analyze(tagged.write(tmp_path)).output
    assert (
        "\nIn VXLAN 5 between 192.0.2.1 and 192.0.2.2.\n" in analyze(tunnel.write(tmp_path)).output
    )


def test_events_are_listed_as_text_json_and_csv(tmp_path: Path) -> None:
    path = conversation().write(tmp_path)
    listed = analyze(path, "--events", width=200).output.splitlines()
    again = next(line for line in listed if "spurious" in line or "rto" in line)
    assert again.split()[:3] == ["8", "0.340000", "1"]
    assert "10.0.0.1:40000 → 10.0.0.2:5001" in again and "seq 1 len 1000" in again
    assert "240.000 ms after it was last sent" in again
    data = json.loads(analyze(path, "--events", "--json").output)["captures"][0]["events"]
    assert len(data) == len(listed) - 1
    assert {row["event"] for row in data} >= {"open", "accept", "close", "duplicate_ack"}
    analyze(path, "--out", tmp_path / "out", "--write", "events")
    table = pl.read_csv(tmp_path / "out" / "events.csv")
    assert table["number"].to_list() == [row["number"] for row in data]


def test_a_period_is_seconds_or_times(tmp_path: Path) -> None:
    path = conversation().write(tmp_path)
    inside = "2023-11-14T22:13:20.05", "2023-11-14T23:13:20.2+01:00"
    for since, until in (("0.05", "0.2"), inside):
        output = analyze(path, "--from", since, "--to", until).output
        assert "8 outside the period" in output
        assert row_of(output, "Segments with data").split()[-1] == "3"


@pytest.mark.parametrize("words", [("--from", "soon"), ("--from", "3", "--to", "2"), ("--to", "-")])
def test_what_is_no_period_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = analyze(conversation().write(tmp_path), *words, status=2)
    assert result.output.startswith("Error: ")


def test_a_period_keeps_the_options_of_earlier_syns(tmp_path: Path) -> None:
    flow = MadeCapture().flow(scales=(3, 7)).open()
    flow.a.send(1.0, 1000)
    flow.b.ack(1.04, window=500)
    path = flow.capture.write(tmp_path)
    result = analyze(path, "--from", "0.5", "--json")
    (row,) = json.loads(result.stdout)["captures"][0]["connections"]
    assert (row["total_packets_a2b"], row["syns_a2b"], row["options_known_a2b"]) == (1, 0, 1)
    assert (row["max_win_adv_b2a"], row["adv_wind_scale_b2a"]) == (500 << 7, 7)
    assert row["mss_requested_a2b"] > 0 and row["req_sack_a2b"] == "Y"
    assert "both SYNs" not in " ".join(json.loads(result.stdout)["captures"][0]["doubts"])
