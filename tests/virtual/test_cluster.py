"""A Dask cluster in separate network namespaces: a worker dies, another is of another kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.sweep.results import sweep
from testbed.lab.ready import Lab

ROOT = Path(__file__).resolve().parents[2]
ALONE = ["unshare", "--user", "--map-root-user", "--net"]
pytestmark = pytest.mark.virtual


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    bridge = subprocess.run(
        [*ALONE, "ip", "link", "add", "br0", "type", "bridge"], capture_output=True, check=False
    )
    if bridge.returncode:
        pytest.skip(f"no bridge can be made here: {bridge.stderr.decode().strip()}")


def on_cluster(out: Path, *workers: str) -> str:
    command = [
        *ALONE,
        sys.executable,
        str(Path(__file__).with_name("cluster.py")),
        str(out),
        *workers,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(out.parent)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_a_killed_worker_loses_nothing_and_nothing_counts_twice(
    ready_lab: Lab, tmp_path: Path
) -> None:
    output = on_cluster(tmp_path / "cluster", "good", "killed")
    folder = Path(output.splitlines()[0])
    assert json.loads((folder / "sweep.json").read_text())["points"] == {
        "wanted": 8,
        "done": 8,
        "reused": 0,
        "failed": 0,
        "unproved": 0,
    }
    local = sweep(
        "sack", {"duration": "3s", "loss": ["1%", "5%"]}, seeds=[1, 2, 3, 4], out=tmp_path / "here"
    )
    assert (folder / "rows.csv").read_bytes() == (local.folder / "rows.csv").read_bytes()


def test_a_worker_without_our_lab_gets_no_point(ready_lab: Lab, tmp_path: Path) -> None:
    output = on_cluster(tmp_path / "cluster", "foreign", "good")
    assert "is refused: it has no lab kernel" in output
    folder = Path(output.splitlines()[0])
    assert json.loads((folder / "sweep.json").read_text())["points"]["done"] == 8


@pytest.mark.long
def test_a_cluster_of_such_workers_only_is_an_error_with_its_remedy(
    ready_lab: Lab, tmp_path: Path
) -> None:
    output = on_cluster(tmp_path / "cluster", "foreign")
    assert "No worker can be used" in output
    assert "./tcplab image export" in output


@pytest.mark.long
def test_members_on_loopback_work_together_through_tunnels(ready_lab: Lab, tmp_path: Path) -> None:
    """As docs/guides/clusters.md recommends; each machine is a network namespace."""
    folder = tmp_path / "cluster"
    output = on_cluster(folder, "tunnelled", "tunnelled")
    points = json.loads((Path(output.splitlines()[0]) / "sweep.json").read_text())["points"]
    assert points["done"] == 8
    for member in ("scheduler", "worker-3", "worker-4"):
        assert "Warning: " not in (folder / "logs" / member).read_text()
