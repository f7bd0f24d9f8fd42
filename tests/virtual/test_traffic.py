"""Applications share a link with a bulk flow: each kind sends, and probes see the queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.flows.traffic import TRAFFIC
from experiments.run.seed import drawn
from experiments.spec import ExperimentSpec, Flow, congestion_control
from testbed.host.supervise import Usage
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate

pytestmark = pytest.mark.virtual
LINK = Channel(Rate.parse("10mbit"), Duration.parse("10ms"), queue=Packets(200))


def applications(bulk: bool) -> ExperimentSpec:
    kinds = [*TRAFFIC, *([""] if bulk else [])]
    flows = tuple(
        Flow(name or "bulk", f"h{number}", f"r{number}", Duration.parse("5s"), traffic=name)
        for number, name in enumerate(kinds, 1)
    )
    topology = dumbbell(len(kinds), LINK)
    spec = ExperimentSpec("x", "X.", topology, flows, (congestion_control("cubic"),))
    return drawn(spec, 1)[0]


def median(folder: Path, flow: str) -> float:
    """Return the median time of the flow's exchanges that ended."""
    rows = json.loads((folder / "cubic" / f"{flow}.exchanges.json").read_text())["exchanges"]
    times = sorted(row["ended"] - row["began"] for row in rows if row["ended"] is not None)
    assert len(times) > len(rows) / 2, flow
    return times[len(times) // 2]


def test_every_kind_sends_and_waits_behind_a_bulk_flow(
    in_guest: Callable[..., tuple[Path, Usage]],
) -> None:
    loaded, _ = in_guest(applications(bulk=True))
    empty, _ = in_guest(applications(bulk=False))
    for flow in ("ping", "call", "page"):
        assert median(loaded, flow) > median(empty, flow)
    assert json.loads((loaded / "cubic" / "evidence.json").read_text())["held"]
