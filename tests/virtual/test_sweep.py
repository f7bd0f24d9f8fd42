"""Sweeps on this machine, in the lab kernel: true rows, the same for any workers, none lost."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from analysis.measures.results import readings_of, rows_of
from analysis.records.run_directory import run_of
from experiments.sweep.results import sweep
from experiments.sweep.store import FILE, results
from testbed.lab.ready import Lab

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.virtual
SETTINGS = {"duration": "2s", "loss": ["1%", "5%"]}


def content(folder: Path) -> Any:
    return json.loads((folder / "sweep.json").read_text())


def test_rows_are_the_same_for_one_worker_and_two_and_for_a_plain_run(ready_lab, tmp_path) -> None:
    alone = sweep("sack", SETTINGS, seeds=2, out=tmp_path / "one", workers=1)
    shared = sweep("sack", SETTINGS, seeds=2, out=tmp_path / "two", workers=2)
    assert alone.table.height == 8
    empty = {name for name in alone.table.columns if alone.table[name].null_count()}
    assert empty == {
        "mean_second_kbit_s",
        "slowest_second_kbit_s",
        "fastest_second_kbit_s",
        "udp_lost_percent",
        "udp_jitter_ms",
        "host_drops",
        "exchanges",
        "exchanges_begun",
        "exchanges_failed",
        "exchanges_missing",
        "exchanges_planned",
        "exchange_p50_ms",
        "exchange_p95_ms",
        "exchange_p99_ms",
        "late_percent",
    }
    assert (alone.folder / "rows.csv").read_bytes() == (shared.folder / "rows.csv").read_bytes()
    repeat = [
        sys.executable,
        "-m",
        "experiments.cli.main",
        "run",
        "sack",
        "--set",
        "duration=2s",
        "--set",
        "loss=5%",
    ]
    subprocess.run(
        [*repeat, "--seed", "2", "--repeat", "1", "--out", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    run = tmp_path / "sack/latest"
    spec = json.loads((run / "spec.json").read_text())
    _, expected = rows_of(readings_of(run_of(run / "raw/seed-2", spec)))
    row = alone.table.filter(loss="5%", seed=2, condition="sack_on").to_dicts()[0]
    assert {name: row[name] for name in expected} == expected


def test_a_point_that_fails_does_not_hold_up_the_others(ready_lab: Lab, tmp_path: Path) -> None:
    """No such sysctl: the guest says so, and its log is kept."""
    settings = {"duration": "2s", "net.ipv4.tcp_reordering": ["3", "no-number"]}
    result = sweep("sack", settings, out=tmp_path)
    points = content(result.folder)
    assert (points["points"]["done"], points["points"]["failed"]) == (1, 1)
    (failure,) = points["failures"]
    assert "tcp_reordering cannot be set to no-number" in failure["problem"]
    assert "Traceback" in (result.folder / failure["log"]).read_text()
    assert result.table["net.ipv4.tcp_reordering"].unique().to_list() == ["3"]


def test_a_setting_that_contradicts_the_experiment_is_not_proved(ready_lab: Lab, tmp_path) -> None:
    result = sweep("sack", {"duration": "2s", "net.ipv4.tcp_sack": "1"}, out=tmp_path)
    (failure,) = content(result.folder)["failures"]
    assert "not proved that flow1: no SYN offers selective acknowledgement" in failure["problem"]
    assert result.table.height == 0


def start(out: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "experiments.cli.main",
        "sweep",
        "sack",
        "--set",
        "duration=2s",
        "--seeds",
        "12",
    ]
    return subprocess.Popen(
        [*command, "--out", out],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(out)},
        start_new_session=True,
    )


def wait_for_points(out: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if (out / FILE).exists():
            with results(out) as memory:
                if len(memory.listed()) >= number:
                    return
        time.sleep(0.05)
    raise AssertionError("no points came")


def guests(out: Path) -> list[Path]:
    """The processes that started a guest with folders there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if f"--bind\0{out}".encode() in (process / "cmdline").read_bytes():
                found.append(process)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_keeps_what_is_done_and_goes_on(ready_lab, tmp_path, number) -> None:
    with start(tmp_path) as process:
        wait_for_points(tmp_path, 2, process)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    deadline = time.monotonic() + 60
    while guests(tmp_path):  # the kernel ends them when their parent has ended
        assert time.monotonic() < deadline, guests(tmp_path)
        time.sleep(0.05)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert b"the same command goes on from there" in errors
    with results(tmp_path) as memory:
        kept = len(memory.listed())
    assert 2 <= kept < 12
    finished = sweep("sack", {"duration": "2s"}, seeds=12, out=tmp_path)
    assert content(finished.folder)["points"]["reused"] == kept
    assert finished.table["seed"].to_list() == [seed for seed in range(1, 13) for _ in range(2)]
    statuses = {
        json.loads((folder / "manifest.json").read_text())["status"]
        for folder in (tmp_path / "sweeps").glob("2*")
    }
    assert statuses == {"interrupted", "complete"}


def test_many_flows_have_a_row_each(ready_lab: Lab, tmp_path: Path) -> None:
    settings = {
        "cc": ["cubic", "bbr"],
        "streams": "4",
        "duration": "2s",
        "bw": "10mbit",
        "delay": "5ms",
    }
    result = sweep("cubic_vs_reno", settings, out=tmp_path)
    assert result.table.group_by("cc").len().sort("cc").rows() == [("bbr", 4), ("cubic", 4)]
    for _, rows in result.table.group_by("cc"):
        rates = rows["goodput_kbit_s"].to_list()
        together = rows["total_goodput_kbit_s"].unique().to_list()
        assert len(together) == 1 and max(rates) < together[0] < 10_000
        assert rows["jain_index"][0] == pytest.approx(
            sum(rates) ** 2 / (4 * sum(rate**2 for rate in rates))
        )
