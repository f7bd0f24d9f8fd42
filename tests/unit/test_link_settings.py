"""Fields of the link, for every study."""

import pytest

from experiments.study.catalogue import find
from experiments.study.grid import combinations, factor, single
from experiments.study.link import bottlenecks
from topologies.disciplines import disciplines


def grid(name: str, **levels: str) -> list[str]:
    named = find(name)
    factors = [factor(named, f"link.{key}", text.split(",")) for key, text in levels.items()]
    return [str(each) for each in combinations(named, factors)]


@pytest.mark.parametrize("name", ["slow_start", "udp_fairness", "fair_shares", "packet_dropper"])
@pytest.mark.parametrize("discipline", disciplines())
def test_every_study_takes_every_discipline(name: str, discipline: str) -> None:
    made = single(find(name), [f"link.discipline={discipline}", "link.queue=500"])
    channels = bottlenecks(made.spec)
    assert {each.discipline for each in channels} == {discipline}
    assert {each.queue.base for each in channels} == {500}


def test_parameters_of_the_discipline_are_set_whatever_their_order() -> None:
    for words in (["target=5ms", "discipline=codel"], ["discipline=codel", "target=5ms"]):
        made = single(find("slow_start"), [f"link.{word}" for word in words])
        assert {each.settings for each in bottlenecks(made.spec)} == {(("target", "5ms"),)}


def test_what_the_kernel_rounds_is_rounded_with_a_word() -> None:
    """A rate of 1000001 bit/s made a network that was not to be used."""
    words = ["bandwidth=1000001bit", "discipline=pie", "tupdate=15.7ms"]
    made = single(find("slow_start"), [f"link.{word}" for word in words])
    (channel,) = bottlenecks(made.spec)
    assert (str(channel.bandwidth), dict(channel.settings)["tupdate"]) == ("1mbit", "16ms")
    (sentence,) = made.rounded
    assert "a rate of 1000.001kbit is 1mbit and a tupdate of 15.7ms is 16ms" in sentence
    assert single(find("slow_start"), ["link.delay=333.3us"]).rounded == ()


def test_a_study_keeps_the_parameters_of_its_own_discipline() -> None:
    own = bottlenecks(find("l4s_coexistence").spec(find("l4s_coexistence").parameters()()))
    (channel,) = bottlenecks(single(find("l4s_coexistence"), ["link.discipline=dualpi2"]).spec)
    assert {channel} == own
    (changed,) = bottlenecks(single(find("l4s_coexistence"), ["link.discipline=fifo"]).spec)
    assert changed.settings == ()


def test_one_run_stands_for_all_values_of_a_parameter_that_a_discipline_lacks() -> None:
    assert grid("slow_start", discipline="fifo,codel", target="1ms,5ms") == [
        "link.discipline fifo, link.target 1ms",
        "link.discipline codel, link.target 1ms",
        "link.discipline codel, link.target 5ms",
    ]


def test_a_parameter_with_the_name_of_a_field_takes_the_discipline_in_front() -> None:
    """Cake has a bandwidth, and so has the link."""
    words = ["discipline=cake", "cake.bandwidth=400kbit", "mpu=64B", "bandwidth=2mbit"]
    made = single(find("slow_start"), [f"link.{word}" for word in words])
    (channel,) = bottlenecks(made.spec)
    assert str(channel.bandwidth) == "2mbit"
    assert dict(channel.settings) == {"bandwidth": "400kbit", "mpu": "64B"}
    assert grid("slow_start", discipline="fifo,cake", **{"cake.bandwidth": "1mbit,2mbit"}) == [
        "link.discipline fifo, link.cake.bandwidth 1mbit",
        "link.discipline cake, link.cake.bandwidth 1mbit",
        "link.discipline cake, link.cake.bandwidth 2mbit",
    ]
