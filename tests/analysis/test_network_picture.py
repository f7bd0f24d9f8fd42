"""The picture of a network: all nodes, their links, and no overlap."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from analysis.graphs.network_picture import network_picture
from topologies.shapes import chain, dumbbell, parking_lot, star, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate, Share

LINK = Channel(Rate.parse("3mbit"), Duration.parse("40ms"), Share.parse("2%"), queue=Packets(33))
SVG = "{http://www.w3.org/2000/svg}"


def drawn(network: TopologySpec) -> ElementTree.Element:
    text = network_picture(network).replace("<svg", f'<svg xmlns="{SVG.strip("{}")}"', 1)
    return ElementTree.fromstring(text)


@pytest.mark.parametrize(
    "network",
    [
        two_hosts(LINK),
        dumbbell(3, LINK),
        star(LINK, LINK),
        chain(4, LINK),
        parking_lot(3, LINK),
    ],
    ids=lambda network: network.name,
)
def test_every_node_has_a_box_and_every_link_a_line(network: TopologySpec) -> None:
    picture = drawn(network)
    names = [text.text for text in picture.iter(f"{SVG}text") if text.get("class") == "name"]
    assert sorted(map(str, names)) == sorted(node.name for node in network.nodes)
    assert len(list(picture.iter(f"{SVG}line"))) == len(network.links)
    boxes = [
        tuple(float(box.get(name, "nan")) for name in ("x", "y", "width", "height"))
        for box in picture.iter(f"{SVG}rect")
    ]
    for one, other in combinations(boxes, 2):
        assert abs(one[0] - other[0]) >= one[2] or abs(one[1] - other[1]) >= one[3]


def test_settings_stand_at_the_link_and_many_hosts_share_a_box() -> None:
    words = "".join(drawn(dumbbell(9, LINK)).itertext())
    assert "3mbit, 40ms" in words and "2% loss" in words and "queue 33" in words
    assert words.count("8 hosts") == 2 and "h2 \N{HORIZONTAL ELLIPSIS} h9" in words


def test_a_faster_link_is_thicker() -> None:
    widths = [
        float(re.findall(r'class="pipe".*?stroke-width="([\d.]+)"', network_picture(network))[0])
        for network in (two_hosts(Channel(Rate.parse(rate))) for rate in ("1mbit", "1gbit"))
    ]
    assert widths[0] < widths[1]
