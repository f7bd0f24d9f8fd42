"""The table of queueing disciplines, and what reads it."""

import dataclasses
import json
from itertools import pairwise

import pytest

from analysis.records.trial_files import CakeTin, Qdisc, QdiscsFile
from testbed.lab.kernel import kernel_version
from topologies.disciplines import discipline, disciplines, of_kind
from topologies.disciplines.base import Choice
from topologies.errors import UsageError
from topologies.spec import Channel
from topologies.units import Packets, Rate

UNKNOWN = "There is no queueing discipline 'wrr'. Choose from fifo, sfq, codel, fq_codel, fq, cake"


@pytest.mark.parametrize("name", disciplines())
def test_tc_reads_back_the_limit_that_it_was_given(name: str) -> None:
    each = discipline(name)
    words = f"{each.words(50, 1514, 10**6)} {each.further(50, 1514, 10**6, ())}".split()
    options = dict(pairwise(words))
    assert each.packets(options, 1514) == 50
    assert of_kind(each.kind) is each


def test_an_unknown_discipline_is_refused_when_a_channel_is_made() -> None:
    channel = Channel(Rate.parse("1mbit"), queue=Packets(50))
    with pytest.raises(UsageError, match=UNKNOWN):
        dataclasses.replace(channel, discipline="wrr")


def test_early_drops_are_those_despite_room() -> None:
    def drops(kind: str) -> float:
        counted = {"drops": 9, "early": 2, "overlimit": 4, "drop_overlimit": 5, "dropped": 6}
        counted |= {"pdrop": 3, "overlimits": 8}
        queue = Qdisc(kind=kind, handle="3:", **counted)
        return QdiscsFile(after={"s1-eth1": (queue,)}).managed_drops("s1-eth1")

    kinds = {each.kind: drops(each.kind) for each in disciplines().values()}
    some = {"codel": 4, "fq_codel": 4, "cake": 9, "pie": 5, "red": 2}
    some |= {"choke": 6, "dualpi2": 1, "fq_pie": 6, "gred": 6}
    assert kinds == dict.fromkeys(("pfifo", "bfifo", "sfq", "fq", "hhf"), 0) | some
    with pytest.raises(UsageError, match=UNKNOWN):
        drops("wrr")


def test_kernels_lack_what_came_later() -> None:
    younger = {"codel": "3.5", "fq_codel": "3.5", "fq": "3.12", "cake": "4.19", "pie": "3.14"}
    assert {name: each.since for name, each in disciplines().items() if name in younger} == younger
    lacks = {series: set(kernel_version(series).lacks) for series in ("2.6.32", "3.13", "4.4")}
    assert lacks["2.6.32"] >= set(younger)
    assert {*younger} & lacks["3.13"] == {"cake", "pie"}
    assert {*younger} & lacks["4.4"] == {"cake"}


@pytest.mark.parametrize(
    "kind, counted",
    [
        ("red", {"marked": 3}),
        ("pie", {"ecn_mark": 3}),
        ("codel", {"ecn_mark": 1, "ce_mark": 2}),
        ("cake", {"tins": (CakeTin(ecn_mark=1), CakeTin(ecn_mark=2))}),
        ("sfq", {"options": {"prob_mark": 2, "forced_mark_head": 1, "prob_drop": 5}}),
        ("gred", {"options": {"vqs": [{"prob_mark": 1, "forced_mark": 2}]}}),
    ],
)
def test_marks_are_counted_by_the_name_that_each_discipline_gives_them(kind: str, counted) -> None:
    before, after = Qdisc(kind, handle="3:"), Qdisc(kind, handle="3:", **counted)
    assert QdiscsFile({"s1-eth1": (before,)}, {"s1-eth1": (after,)}).marks("s1-eth1") == 3


@pytest.mark.parametrize("name", ["red", "pie", "codel"])
def test_disciplines_mark_that_do_so_on_request_only(name: str) -> None:
    assert discipline(name).words(50, 1514, 10**6).endswith(" ecn")


@pytest.mark.parametrize("name", disciplines())
def test_every_parameter_has_bounds_and_words(name: str) -> None:
    for each in discipline(name).parameters:
        values = [value for value, *_ in each.choices] if isinstance(each, Choice) else []
        for value in values or [each.lowest, each.highest]:
            assert each.parsed(value) == each.parsed(each.parsed(value))
            assert each.agrees(value, each.parsed(value))
            each.words(value)


def test_a_full_queue_of_red_keeps_its_order_with_parameters() -> None:
    red = discipline("red")
    words = red.words(100, 1514, 10**7, (("min", "20kB"), ("ecn", "off")))
    assert words == (
        "limit 151400 min 20000 max 75700 avpkt 1514 burst 26 bandwidth 10000000bit"
        " probability 0.02"
    )


def given(managed: str, **texts: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters as a channel has them."""
    channel = Channel("10mbit", queue=Packets(100), discipline=managed)
    return dataclasses.replace(channel, settings=tuple(texts.items())).settings


# What `tc -j qdisc show` of Debian 12 (iproute2 6.1) printed in the lab kernel.
SFQ = """{"limit": 100, "quantum": 9000, "depth": 40, "flows": 100, "divisor": 512, "perturb": 10,
"ewma": 4, "min": 20000, "max": 60000, "probability": 0.05, "ecn": true, "harddrop": false}"""
CAKE = """{"bandwidth": 375000, "diffserv": "diffserv8", "flowmode": "triple-isolate", "nat": false,
"wash": false, "ingress": true, "ack-filter": "disabled", "split_gso": false, "rtt": 300000,
"raw": false, "atm": "atm", "overhead": 18, "mpu": 64, "memlimit": 230400, "fwmark": "0"}"""


@pytest.mark.parametrize(
    "managed, printed, settings",
    [
        ("sfq", SFQ, "depth=40 min=20kB max=60kB probability=5% ecn=on"),
        (
            "cake",
            CAKE,
            "bandwidth=3mbit overhead=18B mpu=64B atm=atm rtt=oceanic ingress=on split-gso=off",
        ),
    ],
)
def test_parameters_are_read_from_what_tc_prints(managed: str, printed: str, settings: str) -> None:
    each, options = discipline(managed), json.loads(printed)
    texts = dict(word.split("=") for word in settings.split())
    for name, asked in given(managed, **texts):
        parameter = each.parameter(name)
        assert parameter.agrees(asked, parameter.found(options)), name


def test_the_words_of_sfq_with_red_and_of_cake_with_a_shaper() -> None:
    sfq = discipline("sfq").words(100, 1514, 10**7, given("sfq", max="60kB", ecn="on"))
    assert sfq == (
        "limit 100 depth 100 redflowlimit 151400 min 20000 max 60000 avpkt 1514 burst 22 ecn"
    )
    cake = given("cake", bandwidth="3mbit", overhead="18B", atm="ptm", rtt="lan")
    assert discipline("cake").words(100, 1514, 10**7, cake) == (
        "unlimited memlimit 230400 bandwidth 3000000bit overhead 18 ptm rtt 1000.000us"
    )
