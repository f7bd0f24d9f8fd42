"""`tcplab runs`: list, show, gc."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.cli.runs import runs
from experiments.sweep.run import PointRunner, watching
from experiments.sweep.store import FILE, results
from labs.measuring.references import References
from tests.unit.made_sweeps import LAB, Engine, carry, record, sack_plan, steady


def call(*words: object) -> Result:
    return CliRunner().invoke(runs, [str(word) for word in words], env={"COLUMNS": "160"})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A sweep of two points, one of which failed."""
    carry(
        sack_plan(seeds=(1, 2)),
        tmp_path,
        Engine(lambda data, seed: record(200.0, "failed") if seed == 2 else steady(data, seed)),
    )
    return tmp_path


def test_list_names_sweeps_and_counts_points(store: Path) -> None:
    output = call("list", "--out", store).output
    assert "sweeps/2" in output
    assert "complete" in output
    (line,) = (line for line in output.splitlines() if line.startswith("│ sack"))
    assert line.split()[3:8:2] == ["1", "0", "1"]


def test_show_prints_a_manifest_or_a_point(store: Path) -> None:
    shown = json.loads(call("show", store / "sweeps/latest").output)
    assert (shown["kind"], shown["seeds"]) == ("sweep", [1, 2])
    with results(store) as memory:
        key = next(point.key for point in memory.listed() if point.seed == 1)
    point = json.loads(call("show", key[:10], "--out", store).output)
    assert (point["key"], point["seed"], point["rows"][0]["goodput_kbit_s"]) == (key, 1, 201.0)


@pytest.mark.parametrize(
    ("which", "words"),
    [("nothing", "There is no run and no point 'nothing'"), ("", "points begin with")],
)
def test_show_says_what_it_cannot_find(store: Path, which: str, words: str) -> None:
    result = call("show", which, "--out", store)
    assert result.exit_code == 2
    assert words in result.output


def test_gc_forgets_failed_points_and_those_of_other_versions(store: Path, monkeypatch) -> None:
    monkeypatch.setattr("testbed.lab.ready.lab_if_ready", lambda _kernel: None)
    result = call("gc", "--yes", "--out", store)
    assert "Points known: 2. Not reusable: 1." in result.output
    with results(store) as memory:
        assert [point.seed for point in memory.listed()] == [1]
    another = replace(LAB, digests={**LAB.digests, "whole": "another"})
    monkeypatch.setattr("testbed.lab.ready.lab_if_ready", lambda _kernel: another)
    assert "Points known: 1. Not reusable: 1." in call("gc", "--yes", "--out", store).output


def test_gc_keeps_what_labs_measured_with_this_code(tmp_path, monkeypatch) -> None:
    """Labs measure with modules of their own, and keep their points in the same file."""
    (combination,) = sack_plan().combinations
    with results(tmp_path) as memory, watching("lab") as watch:
        references = References(PointRunner(LAB, Engine(steady), "two"), memory, watch)
        references.ask([references.point(combination, 1)])
    monkeypatch.setattr("testbed.lab.ready.lab_if_ready", lambda _kernel: LAB)
    assert "Points known: 1. Not reusable: 0." in call("gc", "--out", tmp_path).output
    another = replace(LAB, digests={**LAB.digests, "whole": "another"})
    monkeypatch.setattr("testbed.lab.ready.lab_if_ready", lambda _kernel: another)
    assert "Not reusable: 1." in call("gc", "--yes", "--out", tmp_path).output


def test_points_of_the_first_format_are_read_and_belong_to_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "key text primary key, experiment, combination, seed, status, lab, code, measuring"
    with closing(sqlite3.connect(tmp_path / FILE)) as old, old:
        old.execute(f"create table points ({columns}, finished, record) without rowid")
        old.execute("pragma user_version = 1")
        row = ("key", "sack", "{}", 1, "complete", "w", "c", "m", "now", json.dumps(record(1.0)))
        old.execute(f"insert into points values ({', '.join('?' * len(row))})", row)
    monkeypatch.setattr("testbed.lab.ready.lab_if_ready", lambda _kernel: LAB)
    assert json.loads(call("show", "key", "--out", tmp_path).output)["seed"] == 1
    carry(sack_plan(seeds=(2,)), tmp_path, Engine(steady))
    assert "Points known: 2. Not reusable: 1." in call("gc", "--out", tmp_path).output


def test_gc_asks_first(store: Path) -> None:
    result = CliRunner().invoke(runs, ["gc", "--out", str(store)], input="n\n")
    assert "Forget these?" in result.output
    with results(store) as memory:
        assert len(memory.listed()) == 2


def test_a_store_without_sweeps_is_no_error(tmp_path: Path) -> None:
    listed = call("list", "--out", tmp_path)
    assert (listed.exit_code, "has no run yet" in listed.output) == (0, True)
    assert "keeps no points" in call("gc", "--out", tmp_path).output
