"""`python -m analysis corpus` says of a folder what crashes and what differs, by class."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.__main__ import main
from analysis.agreement import corpus, engine_differences
from analysis.flows.installed_engines import Engine, engines
from analysis.flows.reader import Reading
from tests.analysis.captures import MadeCapture, opened
from tests.analysis.compiled_engine import NOT_COMPILED
from tests.analysis.test_flows_formats import conversation

pytestmark = pytest.mark.skipif(len(engines()) < 2, reason=NOT_COMPILED)


def _run(folder: Path) -> Result:
    return CliRunner().invoke(main, ["corpus", str(folder)], env={"COLUMNS": "200"})


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for captures, and a PATH without tcptrace and tshark."""
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    folder = tmp_path / "captures"
    folder.mkdir()
    return folder


def test_where_nothing_differs_it_says_so(alone: Path) -> None:
    conversation().write(alone)
    (alone / "notes.txt").write_text("no capture")
    result = _run(alone)
    assert (result.exit_code, "Nothing differs in 2 files." in result.output) == (0, True)


def test_an_engine_that_differs_is_named(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = conversation().write(alone), engine_differences._read

    def spoilt(path: Path, engine: Engine, compatible: bool) -> Reading | str:
        other = conversation(MadeCapture(), mss=1200).write(alone, name="other.pcap")
        return read(path if engine == "compiled" else other, engine, compatible)

    monkeypatch.setattr(engine_differences, "_read", spoilt)
    said = engine_differences.differences(path)
    assert "connections.mss_requested_a2b" in said
    assert "connections.mss_requested_a2b (compatible)" in said


def test_an_engine_that_falls_over_is_a_crash(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation().write(alone)
    monkeypatch.setattr(corpus.sys, "executable", "/bin/false")
    result = _run(alone)
    assert result.exit_code == 1
    assert "crash" in result.output and "status 1" in result.output


def test_tshark_is_compared_class_by_class(alone: Path) -> None:
    """A program in tshark's place that marks packet 1 in each class and prints as it does."""
    flow = opened()
    flow.b.ack(0.05)
    flow.a.send(0.1)
    flow.a.send(0.5, seq=1)
    flow.capture.write(alone)
    program = Path(os.environ["PATH"]) / "tshark"
    program.write_text("#!/bin/sh\ncase $4 in *retransmission) echo 6 ;; *) echo 1 ;; esac\n")
    program.chmod(0o755)
    output = _run(alone).output
    assert "retransmission: only" not in output
    assert "zero_window: only tshark" in output and "packet 1" in output


def test_tcptrace_is_compared_field_by_field(tmp_path: Path) -> None:
    """Of an MSS of 32768 and more tcptrace extends the sign."""
    if shutil.which("tcptrace") is None:
        pytest.skip("tcptrace is not installed")
    conversation(mss=40000).write(tmp_path)
    result = _run(tmp_path)
    assert result.exit_code == 0
    assert "mss_requested" in result.output and "(repaired)" in result.output
    assert "disagrees" not in result.output
