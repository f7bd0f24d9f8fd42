"""`python -m analysis.flows` prints what the frame has, for few rows and for many."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from analysis import flows
from analysis.flows import __main__ as text
from analysis.flows.columns import Handed, listed
from analysis.flows.reader import columns
from tests.tools import made_captures


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


def test_the_engine_writes_cells_as_python_does() -> None:
    floats = [0.0, -0.0, 1.0, 0.1, 1e-4, 9e-5, -1.5e-7, 123456.789, 9e15, 1e16, 2.5e300]
    height = len(floats)
    columns: list[Handed] = [
        ("float64", array("d", floats).tobytes(), b""),
        ("int64", array("q", [-(2**63)]).tobytes(), b"\1\0" * (height // 2) + b"\1"),
        ("uint64", array("Q", [2**64 - 1]).tobytes(), b"\0"),
        ("text", ["plain", 'VLAN 7, "two"', "", "a\nb"] + [" "] * (height - 4), b""),
    ]
    lines = flows.load_engine().lines(columns)
    written = list(csv.reader(io.StringIO(lines)))
    assert [row[0] for row in written] == [repr(value) for value in floats]
    assert [row[1] for row in written] == [str(-(2**63)), ""] * (height // 2) + [str(-(2**63))]
    assert {row[2] for row in written} == {""}
    assert [row[3] for row in written] == columns[3][1]
    assert lines.splitlines()[1] == '-0.0,,,"VLAN 7, ""two"""'
    assert flows.load_engine().lines([]) == ""


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


def test_the_columns_as_lists_are_those_of_the_table(capture: Path) -> None:
    handed, _ = columns(capture)
    for name, values in flows.read(capture).connection_table.columns.items():
        cells = listed(*handed["connections"][name])
        assert values.to_list() == (cells if len(cells) == len(values) else cells * len(values))
