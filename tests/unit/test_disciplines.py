"""The table of queueing disciplines, and what reads it."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import pytest

from analysis.records.trial_files import CakeTin, Qdisc, QdiscsFile
from testbed.lab.kernel.version import kernel_version
from topologies.disciplines import discipline, disciplines, of_kind
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Packets, Rate
from topologies.topology_spec import Channel

UNKNOWN = "There is no queueing discipline 'wrr'. Choose from fifo, sfq, codel, fq_codel, fq, cake"


@pytest.mark.parametrize("name", disciplines())
def test_tc_reads_back_the_limit_that_it_was_given(name: str) -> None:
    each = discipline(name)
    words = each.words(50, 1514, 10**6).split()
    options = dict(pairwise(words))
    assert each.packets(options, 1514) == 50
    assert of_kind(each.kind) is each


def test_an_unknown_discipline_is_refused_when_a_channel_is_made() -> None:
    channel = Channel(Rate.parse("1mbit"), queue=Packets(50))
    with pytest.raises(UsageError, match=UNKNOWN):
        dataclasses.replace(channel, discipline="wrr")


def test_early_drops_are_those_despite_room() -> None:
    def drops(kind: str) -> float:
        queue = Qdisc(kind=kind, handle="3:", drops=9, early=2, overlimit=4, drop_overlimit=5)
        return QdiscsFile(after={"s1-eth1": (queue,)}).managed_drops("s1-eth1")

    kinds = {each.kind: drops(each.kind) for each in disciplines().values()}
    assert kinds == {
        "pfifo": 0,
        "sfq": 0,
        "codel": 4,
        "fq_codel": 4,
        "fq": 0,
        "cake": 9,
        "pie": 5,
        "red": 2,
    }
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
    "counted",
    [{"marked": 3}, {"ecn_mark": 3}, {"tins": (CakeTin(ecn_mark=1), CakeTin(ecn_mark=2))}],
)
def test_marks_are_counted_by_the_name_that_each_discipline_gives_them(counted: Any) -> None:
    before, after = Qdisc(handle="3:"), Qdisc(handle="3:", **counted)
    assert QdiscsFile({"s1-eth1": (before,)}, {"s1-eth1": (after,)}).marks("s1-eth1") == 3


@pytest.mark.parametrize("name", ["red", "pie", "codel"])
def test_disciplines_mark_that_do_so_on_request_only(name: str) -> None:
    assert discipline(name).words(50, 1514, 10**6).endswith(" ecn")
