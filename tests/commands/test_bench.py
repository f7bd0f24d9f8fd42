"""`tcplab bench`: its counts, and the table that the manual prints."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import machine
from experiments.cli.commands import tcplab
from experiments.cli.machine import CASES, _cells, _counts

PAGE = Path(__file__).resolve().parents[2] / "docs/concepts/virtual-time.md"


def test_the_manual_has_a_row_for_each_case() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(CASES)
    numbers = [[cell.strip() for cell in row.strip("| ").split("|")[1:]] for row in rows]
    assert {len(cells) for cells in numbers} == {6}
    assert all(float(cells[-1].replace(",", "")) > 0 for cells in numbers)


def test_packets_are_those_of_all_delay_lines(tmp_path: Path) -> None:
    run = tmp_path / "playground/20261129T000000Z-seed1"
    folder = run / "raw/seed-1/as_set"
    folder.mkdir(parents=True)
    nodes = [{"name": "h1", "kind": "host"}, {"name": "s1", "kind": "switch"}]
    spec = {"topology": {"nodes": nodes}, "flows": [{}, {}]}
    (run / "spec.json").write_text(json.dumps(spec))
    readings = {
        when: {"s1-eth1": [{"root": True, "packets": count}, {"packets": 7 * count}]}
        for when, count in (("before", 5), ("after", 25))
    }
    (folder / "qdiscs.json").write_text(json.dumps(readings))
    assert _counts(tmp_path) == (20, 2, 1, 1)


def test_a_sweep_counts_its_points(tmp_path: Path) -> None:
    folder = tmp_path / "sweeps/20261129T000000Z"
    folder.mkdir(parents=True)
    (folder / "sweep.json").write_text(json.dumps({"points": {"done": 20}}))
    assert _cells(_counts(tmp_path), 1.25, 2_000_000) == (*"---", "20", "1.2", "2")


def test_the_command_prints_a_row_for_each_case(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _cells((2019, 1, 2, 1), 2.2, 69_000_000)
    monkeypatch.setattr(machine, "ready_lab", lambda: None)
    monkeypatch.setattr(machine, "_measured", lambda _words: measured)
    printed = CliRunner().invoke(tcplab, ["bench", "--quick"])
    assert printed.exit_code == 0, printed.output
    rows = [line.split("│")[1:-1] for line in printed.output.splitlines() if "2,019" in line]
    assert [row[0].strip() for row in rows] == list(CASES[:2])
    assert [cell.strip() for cell in rows[0][1:]] == ["2,019", "1", "2", "1", "2.2", "69"]
