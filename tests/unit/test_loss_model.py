"""Losses in bursts: shares by hand, tc's words, what tc reads back, and what is refused."""

import json
from typing import Any

import pytest

from experiments.study.catalogue import find
from experiments.study.grid import single
from testbed.guest import shaping
from topologies.data import to_data
from topologies.errors import TcplabError
from topologies.loss import gemodel
from topologies.spec import Channel
from topologies.units import Duration, Rate, Share

TEXT = "p=1% r=24% 1-h=50% 1-k=1%"
LINK = Channel(Rate.parse("10mbit"), Duration.parse("5ms"), gemodel=TEXT)
SHOWN = {"p": 0.01, "r": 0.24, "1-h": 0.5, "1-k": 0.01}


def rows(**changed: float) -> list[dict[str, Any]]:
    """What tc shows of LINK, with these shares."""
    netem = {"limit": 1000000, "delay": {"delay": 0.005}, "loss-gemodel": SHOWN | changed}
    options = ({"1:": netem}, {"2:": {"rate": 1250000}}, {"3:": {"limit": 1000}})
    return [
        {"dev": "s1-eth1", "handle": handle, "options": shown}
        for each in options
        for handle, shown in each.items()
    ]


def test_the_mean_is_that_of_both_states_by_their_time() -> None:
    assert gemodel(TEXT).mean == Share.parse("2.96%")  # 0.04 x 50 % + 0.96 x 1 %
    assert gemodel("p=3% r=97%").clustering == 1  # independent losses
    assert gemodel("p=1% r=9%").clustering == pytest.approx(19)
    assert LINK.mean_loss == Share.parse("2.96%")


def test_a_link_gets_the_model_and_is_compared_with_it() -> None:
    netem = shaping.commands("s1-eth1", LINK)[0]
    assert netem.endswith("loss gemodel 1% 24% 50% 1%")
    found = shaping.compare("s1-eth1", LINK, rows())
    assert [each.asked for each in found if "gemodel" in each.field] == ["1%", "24%", "50%", "1%"]
    with pytest.raises(TcplabError, match="gemodel r of 24%"):
        shaping.compare("s1-eth1", LINK, rows(r=0.25))


def test_a_model_of_the_link_holds_for_both_ways() -> None:
    spec = single(find("sack"), ["loss=0%", f"link.gemodel={TEXT}"]).spec
    assert json.dumps(to_data(spec)).count(TEXT) == 2
