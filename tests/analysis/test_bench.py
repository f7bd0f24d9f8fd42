"""The benchmark's captures are what they claim, and its tables name every reader."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis import flows
from analysis.__main__ import main
from analysis.bench import capture_readers, made_captures
from analysis.flows.installed_engines import ENGINES, Engine, engines
from topologies.foundation.errors import CommandError

CORE = ENGINES["compiled"]


def test_the_made_capture_is_the_same_every_time_and_as_large_as_asked(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.pcap", "two.pcap")]
    assert {made_captures.bulk(path, 9000, connections=3) for path in paths} == {9 + 9000}
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_made_capture_loses_a_segment_a_period(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "made.pcap"
    packets = made_captures.bulk(path, 9000, connections=3)
    read = flows.read(path, engine=engine)
    rows, segments = read.connections, 2000
    assert (read.file.packets, read.file.fault) == (packets, None)
    assert rows["rexmt_data_pkts_a2b"].to_list() == [segments // made_captures.PERIOD] * 3
    assert (
        rows["unique_bytes_sent_a2b"].to_list()
        == [(segments - segments // made_captures.PERIOD) * made_captures.MSS] * 3
    )
    assert rows["retransmissions_sack_a2b"].to_list() == rows["rexmt_data_pkts_a2b"].to_list()
    assert rows["dsacks_b2a"].to_list() == [0] * 3


def test_idle_connections_only_opened(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "idle.pcap"
    assert made_captures.idle(path, 100) == 300
    rows = flows.read(path, engine=engine).connections
    assert rows["syns_a2b"].to_list() == rows["syns_b2a"].to_list() == [1] * 100
    assert rows["actual_data_pkts_a2b"].sum() == 0


def test_a_reader_is_measured_as_a_process_of_its_own(tmp_path: Path) -> None:
    code = "import sys; assert sys.argv[1].endswith('any.pcap'); held = bytearray(200_000_000)"
    taken = capture_readers.take(
        capture_readers.CaptureReader("a large one", (sys.executable, "-c", code)),
        tmp_path / "any.pcap",
    )
    assert taken.memory > 200_000_000
    assert taken.seconds > 0
    assert taken.processor > 0


def test_a_reader_that_times_itself_is_believed(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "print([3.5, 7.25])")
    taken = capture_readers.take(
        capture_readers.CaptureReader("its own clock", command, times_itself=True),
        tmp_path / "any.pcap",
    )
    assert (taken.seconds, taken.processor) == (3.5, 7.25)


def test_a_reader_that_fails_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no capture here"):
        capture_readers.take(
            capture_readers.CaptureReader(
                "broken", (sys.executable, "-c", "exit('no capture here')")
            ),
            tmp_path,
        )


@pytest.fixture(params=["as it is here", "without a compiled engine"])
def whichever_engines(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Take the engines of this machine, or hide the compiled one from this and all readers."""
    if request.param == "without a compiled engine":
        (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{CORE!r}] = None\n")
        python = tmp_path / "python"
        path = f"{tmp_path}:$PYTHONPATH"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(python))
        monkeypatch.setitem(sys.modules, CORE, None)


def test_the_table_names_every_reader(whichever_engines: None) -> None:
    words = ["bench", "--packets", "3000", "--times", "1"]
    done = CliRunner().invoke(main, words, env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    ours = [
        f"ours, {engine}, {what}"
        for engine in engines()
        for what in ("reading", "table", "packets too")
    ]
    for name in (
        "ours, loading only",
        "ours, printed as CSV",
        "50,000 idle connections",
        " processors",
        *ours,
    ):
        assert name in done.output
    assert ("tcptrace " in done.output) == (shutil.which("tcptrace") is not None)
