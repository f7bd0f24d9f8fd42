"""Draws of a seed: the same for a seed, other ones for another, by the names of flows."""

from dataclasses import replace

import pytest

from experiments.fair_shares import FairSharesParameters, experiment
from experiments.run.seed import drawn
from experiments.spec import Draw, ExperimentSpec
from experiments.study.catalogue import find
from experiments.study.grid import single
from topologies.data import from_data, to_data
from topologies.errors import UsageError
from topologies.units import Duration


def spec(*draws: Draw) -> ExperimentSpec:
    return replace(experiment(FairSharesParameters()), draws=draws)


START = Draw("flows.*.start", "100ms")


def test_a_seed_gives_each_flow_its_draw_below_the_amount() -> None:
    with_draws = spec(START)
    resolved, values = drawn(with_draws, 1)
    starts = [flow.start.seconds for flow in resolved.flows]
    assert len(set(starts)) == len(starts) > 1 and all(0 <= start < 0.1 for start in starts)
    assert values == {f"flows.{flow.name}.start": str(flow.start) for flow in resolved.flows}
    assert drawn(with_draws, 1) == (resolved, values) != drawn(with_draws, 2)
    assert resolved.draws == () and drawn(resolved, 1) == (resolved, {})


def test_another_flow_changes_no_draw() -> None:
    with_draws = spec(START)
    fewer = replace(with_draws, flows=with_draws.flows[1:])
    assert drawn(fewer, 5)[0].flows == drawn(with_draws, 5)[0].flows[1:]


def test_draws_have_their_means() -> None:
    first = replace(spec().flows[0], start=Duration.parse("1s"))
    base = replace(spec(), flows=(first,))
    for draw, mean in ((START, 1.05), (replace(START, kind="exponential"), 1.1)):
        starts = [
            drawn(replace(base, draws=(draw,)), seed)[0].flows[0].start.seconds
            for seed in range(100)
        ]
        assert sum(starts) / len(starts) == pytest.approx(mean, abs=0.02)


def test_draws_travel_as_data() -> None:
    with_draws = spec(START)
    assert from_data(ExperimentSpec, to_data(with_draws)) == with_draws


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("topology.mtu", "cannot be drawn"),
        ("flows.*.name", "no quantity"),
        ("flows.*.amount", "no quantity"),
        ("flows.*.colour", "no field 'colour'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(field: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        drawn(spec(Draw(field, "1s")), 1)


@pytest.mark.parametrize(
    ("text", "draw", "start"),
    [
        ("100ms..300ms", Draw("flows.*.start", "200ms"), "100ms"),
        ("exp:1s", Draw("flows.*.start", "1s", "exponential"), "1ns"),
    ],
)
def test_a_setting_draws_a_field_of_flows(text: str, draw: Draw, start: str) -> None:
    made = single(find("fair_shares"), [f"flows.*.start={text}"]).spec
    assert made.draws == (draw,) and {str(flow.start) for flow in made.flows} == {start}


def test_a_plain_setting_ends_the_draws_of_a_field() -> None:
    made = single(find("fair_shares"), ["flows.*.start=2s"]).spec
    assert made.draws == () and {str(flow.start) for flow in made.flows} == {"2s"}
