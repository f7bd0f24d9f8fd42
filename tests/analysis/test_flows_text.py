"""`python -m analysis.flows` prints what the frame has, for few rows and for many."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from analysis import flows
from analysis.bench import made_captures
from analysis.flows import __main__ as text
from analysis.flows import frames
from analysis.flows.reader import Engine


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Three bulk transfers, so that some columns differ, some are shared, and some lack values."""
    made_captures.bulk(tmp_path / "made.pcap", 9000, connections=3)
    return tmp_path / "made.pcap"


def test_the_text_has_every_cell_of_the_frame(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text.main([str(capture)]) == 0
    names, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    frame = flows.read(capture).connections
    assert names == frame.columns
    assert rows == [["" if cell is None else str(cell) for cell in row] for row in frame.rows()]
    assert any("" in row for row in rows)


def test_the_text_of_nothing_is_its_head(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made_captures.idle(tmp_path / "empty.pcap", 0)
    assert text.main([str(tmp_path / "empty.pcap")]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_a_damaged_file_is_printed_as_far_as_it_goes(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture.write_bytes(capture.read_bytes()[:-5])
    assert text.main([str(capture)]) == 1
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 4
    assert "at byte" in printed.err


@pytest.mark.parametrize("words", [[], ["--help"], ["one", "two"], ["nowhere.pcap"]])
def test_what_cannot_be_read_is_one_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert text.main(words) > 0
    printed = capsys.readouterr()
    assert printed.err.startswith("Error: ")
    assert not printed.out


def test_the_text_loads_neither_polars_nor_numpy(capture: Path) -> None:
    pytest.importorskip("analysis.flows._core", reason="the plain engine needs NumPy")
    code = (
        "import sys; from analysis.flows import __main__ as text; text.main(sys.argv[1:]);"
        " print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, capture], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "analysis.flows._core" in loaded
    assert not {"polars", "numpy", "click", "rich"} & loaded


def test_few_rows_and_many_make_the_same_frames(
    capture: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = flows.read(capture, packets=True, engine=engine)
    monkeypatch.setattr(frames, "_FEW", -1)
    many = flows.read(capture, packets=True, engine=engine)
    assert few.packets is not None
    assert many.packets is not None
    assert_frame_equal(few.connections, many.connections, check_exact=True)
    assert_frame_equal(few.packets, many.packets, check_exact=True)
    monkeypatch.setattr(frames, "_FEW", 10**6)
    lists = flows.read(capture, packets=True, engine=engine)
    assert lists.packets is not None
    assert_frame_equal(lists.packets, many.packets, check_exact=True)
