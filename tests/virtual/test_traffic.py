"""Applications share a link with a bulk flow: each kind sends, and probes see the queue."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.records.output import read_summary
from experiments.flows.traffic import TRAFFIC
from experiments.run.seed import drawn
from experiments.spec import Condition, ExperimentSpec, Flow, congestion_control
from testbed.host.supervise import Usage
from topologies.shapes import dumbbell, two_hosts
from topologies.spec import CUT_OFF, Channel
from topologies.units import Duration, Packets, Rate, Share, Size

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


def test_every_kind_sends_and_waits_behind_a_bulk_flow(in_guest) -> None:
    loaded, _ = in_guest(applications(bulk=True))
    empty, _ = in_guest(applications(bulk=False))
    for flow in ("ping", "call", "page"):
        assert median(loaded, flow) > median(empty, flow)
    assert json.loads((loaded / "cubic" / "evidence.json").read_text())["held"]


def test_a_duration_ends_an_amount(in_guest: Callable[..., tuple[Path, Usage]]) -> None:
    """Also one that the sender's kernel has taken over; a flow that ends in time is left alone."""
    seconds = Duration.parse("2s")
    amounts = {"small": "100kB", "buffered": "1MB", "large": "100MB"}
    flows = tuple(
        Flow(name, f"h{at}", f"r{at}", seconds, amount=Size.parse(text))
        for at, (name, text) in enumerate(amounts.items(), 1)
    )
    spec = ExperimentSpec("x", "X.", dumbbell(3, LINK), flows, (congestion_control("cubic"),))
    slow = replace(spec, topology=dumbbell(3, replace(LINK, bandwidth=Rate.parse("2mbit"))))
    folder, _ = in_guest(slow)
    is_cut = {
        name: CUT_OFF in (folder / "cubic" / f"{name}.client.txt").read_text() for name in amounts
    }
    assert is_cut == {"small": False, "buffered": True, "large": True}
    for name in ("buffered", "large"):
        found = read_summary((folder / "cubic" / f"{name}.server.txt").read_text())
        assert found and found.interval == 2 and 0 < found.transfer < 1000
    assert json.loads((folder / "cubic" / "evidence.json").read_text())["warnings"] == []


@pytest.mark.parametrize("traffic", ["requests every=200ms size=30kB", "users size=30kB think=0s"])
def test_the_end_of_a_connection_is_that_of_its_exchange_only(in_guest, traffic) -> None:
    """A sender that gives up early makes all its requests, and notes those that failed."""
    lossy = Channel(Rate.parse("5mbit"), Duration.parse("20ms"), loss=Share.parse("25%"))
    flow = Flow("web", "h1", "h2", Duration.parse("20s"), traffic=traffic)
    hasty = Condition("hasty", "hasty", (("net.ipv4.tcp_retries2", "1"),))
    spec = ExperimentSpec("x", "X.", two_hosts(lossy), (flow,), (hasty,))
    folder, _ = in_guest(drawn(spec, 1)[0])
    found = json.loads((folder / "hasty" / "web.exchanges.json").read_text())
    begun = [row for row in found["exchanges"] if row["began"] is not None]
    failed = [row for row in begun if row["failed"]]
    assert found["as_time_allows"] or len(begun) == 100
    assert {row["failed"] for row in failed} == {"ETIMEDOUT"} and len(failed) > 1
    assert max(row["began"] for row in begun) > min(row["began"] for row in failed)
    assert not any(row["ended"] for row in failed)
    assert found["observed"] >= 20
