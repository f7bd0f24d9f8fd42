"""What holds for many flows and hosts, and measured costs as sentences: functions, no guest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.harness.bench.growth import CostLine, duration, exactness, fit, size
from experiments.harness.bench.scale import GrowthSeries, NetworkSize, SizeCost, all_series
from experiments.harness.bench.scale_tables import sentence, table_of
from experiments.proof import evidence
from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.guest.socket_sampling import sampling_interval
from testbed.jobs.following import Usage
from topologies.addresses import address_of
from topologies.dumbbell import dumbbell
from topologies.foundation.data import from_data, to_data
from topologies.foundation.units import Duration, Rate
from topologies.topology_spec import Channel

FLOWS = 60


@pytest.mark.parametrize(
    ("flows", "seconds"), [(1, 0.1), (30, 0.1), (100, 0.1), (200, 0.2), (1000, 1.0)]
)
def test_sockets_are_read_ten_times_a_second_unless_there_are_very_many(
    flows: int, seconds: float
) -> None:
    assert sampling_interval(flows) == seconds


def test_a_line_is_found_and_its_misfit_said() -> None:
    line = fit([(size, 0.5 + 0.01 * size) for size in (2, 20, 200)])
    assert (line.fixed, line.each) == pytest.approx((0.5, 0.01))
    assert line.misfit == pytest.approx(0, abs=1e-9)
    assert exactness(line) == "a straight line to 0 %"
    square = fit([(size, 0.5 + 0.001 * size**2) for size in (2, 20, 200)])
    assert square.misfit > 0.15 and exactness(square).startswith("not a straight line")


def test_a_constant_costs_nothing_for_each() -> None:
    assert fit([(1, 7.0), (10, 7.0), (100, 7.0)]) == CostLine(7.0, 0.0, 0.0)


@pytest.mark.parametrize("points", [[(1, 1.0)], [(1, 1.0), (1, 2.0)], [(1, 0.0), (2, 1.0)]])
def test_a_line_that_cannot_be_is_refused(points: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="two sizes"):
        fit(points)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.31, "2.3 s"),
        (0.5, "500 ms"),
        (0.0083, "8.3 ms"),
        (4.2e-6, "4.2 us"),
        (38.2e-6, "38 us"),
        (0, "0 us"),
    ],
)
def test_seconds_are_said_in_two_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_bytes_are_said_in_two_digits() -> None:
    assert (size(698_000), size(1_660_000), size(26_000_000)) == ("698 kB", "1.7 MB", "26 MB")


@pytest.mark.parametrize(
    "shape", [shape for series in all_series(quick=False) for shape in series.shapes], ids=str
)
def test_every_measured_shape_is_possible(shape: NetworkSize) -> None:
    spec = shape.spec()
    assert len(spec.topology.named("host")) == shape.hosts
    assert (
        len({(flow.receiver, flow.port) for flow in spec.flows}) == len(spec.flows) == shape.flows
    )
    assert from_data(ExperimentSpec, to_data(spec)) == spec


def test_a_series_becomes_a_table_and_a_sentence() -> None:
    series = GrowthSeries(
        "hosts", (NetworkSize(hosts=2), NetworkSize(hosts=20), NetworkSize(hosts=200))
    )
    readings = [
        SizeCost(
            0.5 + 0.01 * number,
            1.0,
            1.0,
            Usage(14.0, 2.0, 1.0, 100_000_000 + 700_000 * number),
            1000,
            1,
        )
        for number in series.sizes()
    ]
    assert table_of(series, readings).row_count == 3
    assert (
        sentence(series, readings)
        == "A host costs 10 ms of CPU at start-up beside the 500 ms of every guest (a straight line"
        " to 0 %), and 700 kB of memory."
    )


def test_each_of_many_flows_is_proved_from_its_own_sockets(tmp_path: Path) -> None:
    """One sender, many flows; only the last one did not send as it should."""
    topology = dumbbell(1, Channel(Rate.parse("1mbit"), Duration.parse("1ms")))
    flows = tuple(
        Flow(f"flow{number}", "h1", "r1", Duration.parse("1s"), port=5001 + number)
        for number in range(FLOWS)
    )
    condition = Condition("c", "c", proofs=(Proof("congestion_control", "reno"),))
    spec = ExperimentSpec("x", "", topology, flows, (condition,))
    receiver = address_of(topology, "r1")
    rows = [{"remote": f"{receiver}:{flow.port}", "congestion_control": "reno"} for flow in flows]
    rows[-1] = rows[-1] | {"congestion_control": "cubic"}
    (tmp_path / "h1.sockets.jsonl").write_text(json.dumps({"time": 1, "sockets": rows}) + "\n")
    still = [{"handle": handle, "packets": 0, "drops": 0} for handle in ("1:", "3:")]
    ports = {port.name: still for port in topology.ports if port.channel}
    (tmp_path / "qdiscs.json").write_text(json.dumps({"before": ports, "after": ports}))
    proof = evidence(condition, spec, tmp_path)
    assert [row["held"] for row in proof["proofs"]] == [True] * (FLOWS - 1) + [False]
    assert proof["proofs"][0]["claim"] == "flow0: h1 sends with reno"
    assert proof["held"] is False
