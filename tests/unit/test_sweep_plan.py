"""What a sweep asks for: names and values checked before anything is run."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.study.catalogue import find
from experiments.study.grid import settings_from, single
from experiments.sweep.definition import (
    SweepDefinition,
    described,
    from_mapping,
    plan,
    seeds,
    share,
    typed_definition,
)
from tests.unit.made_sweeps import LAB, sack_plan
from topologies.data import to_data
from topologies.errors import TcplabError, UsageError


def sweep(experiment: str, *sets: str, **more: object) -> SweepDefinition:
    return SweepDefinition(experiment, settings_from(sets), **more)  # type: ignore[arg-type]


def test_a_grid_has_every_combination_in_the_order_of_the_values() -> None:
    planned = plan(sweep("sack", "loss=1%,5%", "delay=10ms,0.05s"))
    pairs = [("1%", "10ms"), ("1%", "50ms"), ("5%", "10ms"), ("5%", "50ms")]
    assert [str(each) for each in planned.combinations] == [
        f"loss {loss}, delay {delay}" for loss, delay in pairs
    ]
    for combination, pair in zip(planned.combinations, pairs, strict=True):
        channel = combination.spec.topology.bottleneck("h1", "h2")
        assert (str(channel.loss), str(channel.delay)) == pair
        assert str(combination.parameters.delay) == pair[1]


def test_a_single_value_holds_for_all_points_and_is_no_factor() -> None:
    planned = plan(sweep("sack", "bw=2mbit", "loss=1%,5%"))
    assert [factor.name for factor in planned.factors] == ["loss"]
    assert planned.parameters()["bw"] == "2mbit"
    assert "loss" not in planned.parameters()
    channels = [each.spec.topology.bottleneck("h1", "h2") for each in planned.combinations]
    assert {str(channel.bandwidth) for channel in channels} == {"2mbit"}


def test_a_field_of_the_spec_is_swept_by_its_path() -> None:
    planned = plan(sweep("sack", "topology.links.1.rightward.queue=5,10"))
    queues = [combination.spec.topology.links[1].rightward for combination in planned.combinations]
    assert [str(channel.queue) for channel in queues if channel] == ["5", "10"]
    assert planned.factors[0].column == "topology.links.1.rightward.queue_packets"


def test_a_star_sets_every_item_that_has_the_field() -> None:
    (combination,) = plan(sweep("sack", "topology.links.*.leftward.queue=7")).combinations
    before = find("sack").spec(find("sack").parameters()()).topology.links
    shaped = [link.leftward for link in combination.spec.topology.links if link.leftward]
    assert [str(channel.queue) for channel in shaped] == ["7"] * len(shaped)
    assert [link.leftward is None for link in combination.spec.topology.links] == [
        link.leftward is None for link in before
    ]


def test_a_sysctl_is_set_in_every_condition() -> None:
    planned = plan(sweep("sack", "net.ipv4.tcp_reordering=3,10"))
    for combination, expected in zip(planned.combinations, ("3", "10"), strict=True):
        for condition in combination.spec.conditions:
            assert dict(condition.sysctls)["net.ipv4.tcp_reordering"] == expected


def test_a_sysctl_of_the_condition_itself_is_replaced() -> None:
    (combination,) = plan(sweep("sack", "net.ipv4.tcp_sack=1")).combinations
    names = [name for condition in combination.spec.conditions for name, _ in condition.sysctls]
    assert names.count("net.ipv4.tcp_sack") == len(combination.spec.conditions)


@pytest.mark.parametrize(
    ("sets", "compare", "expected"),
    [(["loss=1%,2%"], "", "condition"), (["loss=1%,2%"], "loss", "loss")],
)
def test_what_is_compared(sets: list[str], compare: str, expected: str) -> None:
    assert plan(sweep("sack", *sets, compare=compare)).compare == expected


def test_words_are_compared_where_they_decide_on_the_condition() -> None:
    assert plan(sweep("cubic_vs_reno", "cc=cubic+reno")).compare == "condition"
    planned = plan(sweep("cubic_vs_reno", "cc=cubic,reno,bbr", "delay=10ms,20ms"))
    assert (planned.compare, planned.conditions) == ("cc", ())
    with pytest.raises(UsageError, match="cannot be compared"):
        plan(sweep("cubic_vs_reno", "cc=cubic,reno", compare="condition"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", (1, 2, 3)),
        ("7-9", (7, 8, 9)),
        ("1,5,9", (1, 5, 9)),
        ("1-2,9", (1, 2, 9)),
        ("5,", None),
        ("x", None),
        ("0", None),
        ("1,1", None),
        ("9-7", None),
        ("1-99999999999", None),
    ],
)
def test_seeds(text: str, expected: tuple[int, ...] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError):
            SweepDefinition("sack", seeds=seeds(text, None))
    else:
        assert seeds(text, None) == expected


def test_without_a_word_there_is_one_seed_and_with_until_there_are_many() -> None:
    assert seeds(None, None) == (1,)
    assert len(seeds(None, 0.02)) > 50


@pytest.mark.parametrize("text", ["2%", "±2%", "+-2%", "+/-2%"])
def test_until_is_a_share(text: str) -> None:
    assert share(text) == pytest.approx(0.02)


def test_an_unknown_metric_is_refused_with_the_nearest() -> None:
    with pytest.raises(TcplabError, match="Is goodput or"):
        SweepDefinition("sack", metric="goodputs")


def test_points_with_an_expression_have_keys_of_their_own() -> None:
    column, expression = sack_plan(metric="rtt_p95_ms"), sack_plan(metric="p95 rtt@5s..")
    keys = {
        each.origin(LAB).point(each.combinations[0], 1).key
        for each in (column, expression, sack_plan())
    }
    assert len(keys) == 2, "columns share the points that are known"
    assert expression.origin(LAB).metric == "p95 rtt@5s.."
    assert "--metric 'p95 rtt@5s..'" in expression.command()


TOML = """
experiment = "sack"
seeds = "7-9"
until = "5%"
compare = "loss"
[set]
loss = ["1%", "5%"]
bw = "2mbit"
net.ipv4.tcp_reordering = [3, 10]
"topology.links.1.rightward.queue" = 50
"""


def test_a_file_says_what_the_command_line_says_and_options_replace_it(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(TOML)
    sets = ("net.ipv4.tcp_reordering=3,10", "topology.links.1.rightward.queue=50")
    more: dict[str, Any] = {"seeds": (7, 8, 9), "until": 0.05, "compare": "loss"}
    assert typed_definition(str(file)) == sweep("sack", "loss=1%,5%", "bw=2mbit", *sets, **more)
    definition = typed_definition(str(file), ["loss=3%"], seeds="2")
    assert dict(definition.settings)["loss"] == ("3%",)
    assert (definition.seeds, definition.until) == ((1, 2), 0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiment = 'sack'\nseed = 3\n", "no 'seed'"),
        ("seeds = 3\n", "names no experiment"),
        ("experiment = 'sack'\nset = 3\n", "no table"),
        ("experiment = 'sack'\nseeds = [1.5]\n", "no whole number"),
        ("experiment = 'sack\n", "cannot be read"),
    ],
)
def test_a_file_with_a_fault_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        typed_definition(str(file))


def test_the_command_of_a_plan_makes_the_same_plan() -> None:
    chosen = {"until": 0.05, "metric": "timeouts", "compare": "loss"}
    definition = sweep("sack", "loss=1%,5%", "bw=2mbit", seeds=(7, 8, 9), **chosen)
    words = shlex.split(plan(definition).command())[3:]
    options = dict(zip(words[::2], words[1::2], strict=True))
    sets = [value for name, value in zip(words[::2], words[1::2], strict=True) if name == "--set"]
    typed = {name: options[f"--{name}"] for name in ("seeds", "until", "metric", "compare")}
    again = typed_definition("sack", sets, **typed)
    specs = [to_data(plan(each).combinations[1].spec) for each in (again, definition)]
    assert specs[0] == specs[1]
    assert replace(again, settings=definition.settings) == definition


def test_the_command_of_a_point_makes_its_spec() -> None:
    planned = plan(sweep("sack", "loss=1%,5%", "topology.links.1.rightward.queue=5,10"))
    point = planned.combinations[2]
    words = shlex.split(planned.repeat(point, 4))
    sets = [words[index + 1] for index, word in enumerate(words) if word == "--set"]
    assert words[:3] == ["./tcplab", "run", "sack"]
    assert words[-4:] == ["--seed", "4", "--repeat", "1"]
    assert single(find("sack"), sets).spec == point.spec


def test_sweep_json_describes_the_factors() -> None:
    planned = plan(sweep("cubic_vs_reno", "delay=10ms,300ms", "loss=0.5%,1%", "cc=cubic,bbr"))
    facts = ("name", "kind", "column", "unit")
    assert [tuple(factor[fact] for fact in facts) for factor in described(planned)["factors"]] == [
        ("delay", "duration", "delay_s", "s"),
        ("loss", "share", "loss_percent", "%"),
        ("cc", "word", "cc", ""),
    ]
    delay, loss, _ = planned.factors
    assert [delay.number(value) for value in delay.values] == pytest.approx([0.01, 0.3])
    assert [loss.number(value) for value in loss.values] == pytest.approx([0.5, 1.0])


def test_a_mapping_takes_plain_values() -> None:
    definition = from_mapping(
        {"experiment": "sack", "set": {"loss": ["1%"]}, "seeds": 3}, "The sweep"
    )
    assert definition == sweep("sack", "loss=1%", seeds=(1, 2, 3))


def test_words_and_numbers_of_a_spec_can_be_set() -> None:
    settings = ("flows.0.ecn=off,classic", "flows.0.port=5002", "topology.segmentation=off")
    specs = [each.spec for each in plan(sweep("sack", *settings)).combinations]
    assert [spec.flows[0].ecn for spec in specs] == ["off", "classic"]
    assert {(spec.flows[0].port, spec.topology.segmentation) for spec in specs} == {(5002, "off")}
