"""Channels as tc's commands, and the check of what the kernel has, on real output of tc."""

import copy
import dataclasses
import json

import pytest

from testbed.guest import shaping
from testbed.guest.shaping import FRAME, burst, commands, compare, compare_policer, policer_commands
from topologies.errors import TcplabError
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate, Share

CHANNEL = Channel(
    Rate.parse("1mbit"), Duration.parse("40ms"), Share.parse("10%"), queue=Packets(1000)
)
# iproute2 6.1.0 in the lab kernel, 7.2.12
REAL = json.loads(
    '[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},'
    '{"kind":"netem","handle":"1:","dev":"s1-eth2","root":true,"refcnt":2,"options":{"limit":1000000,'
    '"delay":{"delay":0.04,"jitter":0,"correlation":0},"loss-random":{"loss":0.1,"correlation":0},"ecn":false,'
    '"gap":0},"bytes":2350068,"packets":1578,"drops":177,"overlimits":0,"requeues":0,"backlog":0,"qlen":0},'
    '{"kind":"tbf","handle":"2:","dev":"s1-eth2","parent":"1:1","options":{"rate":125000,"burst":3028,'
    '"lat":83861856},"bytes":2350068,"packets":1578,"drops":0,"overlimits":431,"requeues":0,"backlog":0,"qlen":0},'
    '{"kind":"pfifo","handle":"3:","dev":"s1-eth2","parent":"2:1","options":{"limit":1000},"bytes":2350068,'
    '"packets":1578,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]'
)


def test_the_commands_keep_delay_line_rate_and_queue_apart() -> None:
    assert commands("s1-eth2", CHANNEL) == [
        "qdisc add dev s1-eth2 root handle 1: netem limit 1000000 delay 40000.000us loss 10%",
        "qdisc add dev s1-eth2 parent 1:1 handle 2: tbf rate 1000000bit burst 3028 limit 1514000",
        "qdisc add dev s1-eth2 parent 2:1 handle 3: pfifo limit 1000",
    ]


def test_a_channel_without_delay_still_detaches_packets_from_their_socket() -> None:
    assert "delay 0.100us" in commands("s1-eth2", Channel(Rate.parse("1gbit")))[0]


def test_jitter_keeps_the_order_if_it_shall() -> None:
    kept = Channel("1gbit", "40ms", jitter="5ms", order="kept")
    assert "delay 40000.000us 5000.000us rate 8tbit" in commands("s1-eth2", kept)[0]


def test_a_policer_is_in_front_of_the_delay_line_and_read_back() -> None:
    channel = dataclasses.replace(CHANNEL, policer=Rate.parse("2mbit"))
    assert policer_commands("s1-eth2", CHANNEL) == []
    (line,) = policer_commands("s1-eth2", channel)
    assert "police rate 2000000bit burst 65536b" in line and "drop/continue" in line
    shown = "  action order 1:  police 0x1 rate 2Mbit burst 64Kb mtu 128Kb action drop/continue"
    found = [setting.found for setting in compare_policer("s1-eth2", channel, shown)]
    assert found == ["2mbit", "64KiB"]
    with pytest.raises(TcplabError, match="policer of 2mbit was asked for, the kernel has 20kbit"):
        compare_policer("s1-eth2", channel, shown.replace("2Mbit", "20Kbit"))
    with pytest.raises(TcplabError, match="the kernel has 0bit"):
        compare_policer("s1-eth2", channel, "")


def test_what_the_kernel_has_is_the_channel() -> None:
    fields = {setting.field: setting.found for setting in compare("s1-eth2", CHANNEL, REAL)}
    assert fields == {
        "rate": "1mbit",
        "delay": "40ms",
        "jitter": "0s",
        "loss": "10%",
        "queue": "1000 packets",
        "delay line": "1000000 packets",
    }


@pytest.mark.parametrize(
    ("field", "value", "expected", "actual"),
    [
        ("bandwidth", Rate.parse("2mbit"), "2mbit", "1mbit"),
        ("delay", Duration.parse("41ms"), "41ms", "40ms"),
        ("loss", Share.parse("11%"), "11%", "10%"),
        ("jitter", Duration.parse("1ms"), "1ms", "0s"),
        ("queue", Packets(999), "999 packets", "1000 packets"),
        ("line", Packets(1000), "1000 packets", "1000000 packets"),
    ],
)
def test_a_difference_names_interface_asked_and_found(field, value, expected, actual) -> None:
    with pytest.raises(TcplabError) as caught:
        compare("s1-eth2", dataclasses.replace(CHANNEL, **{field: value}), REAL)
    for part in ("s1-eth2", expected, actual):
        assert part in caught.value.problem


@pytest.mark.parametrize(
    ("asked", "shown"), [("100us", 9.9e-05), ("333.3us", 0.000332), ("1010.101us", 0.001009)]
)
def test_tcs_whole_microseconds_are_no_difference(asked: str, shown: float) -> None:
    """The kernel has the nanoseconds: round trips are exact."""
    rows = copy.deepcopy(REAL)
    rows[1]["options"]["delay"]["delay"] = shown
    settings = compare("s1-eth2", dataclasses.replace(CHANNEL, delay=Duration.parse(asked)), rows)
    assert next(setting.found for setting in settings if setting.field == "delay") == asked


def test_a_missing_qdisc_is_named() -> None:
    rows = [row for row in copy.deepcopy(REAL) if row["kind"] != "tbf"]
    with pytest.raises(TcplabError, match="2:"):
        compare("s1-eth2", CHANNEL, rows)


def test_a_loss_near_the_end_of_netems_32_bits_still_compares() -> None:
    rows = copy.deepcopy(REAL)
    rows[1]["options"]["loss-random"]["loss"] = 1.00117e-08
    compare("s1-eth2", dataclasses.replace(CHANNEL, loss=Share.parse("0.000001%")), rows)


def test_a_line_is_a_bucket_that_holds_nothing() -> None:
    tbf = commands("s1-eth2", CHANNEL, is_line=True)[1]
    assert tbf == (
        "qdisc add dev s1-eth2 parent 1:1 handle 2: tbf rate 1000000bit burst 1 limit 1514000"
    )


@pytest.mark.parametrize(
    ("packets", "limit"), [(5, 5), (50, 10), (200, 20), (1000, 100), (10_000, 100)]
)
def test_no_flow_may_fill_the_queue_of_fq(packets: int, limit: int) -> None:
    channel = dataclasses.replace(CHANNEL, queue=Packets(packets), discipline="fq")
    assert commands("s1-eth2", channel)[2].endswith(
        f"fq limit {packets} flow_limit {limit} nopacing"
    )


@pytest.mark.parametrize(
    ("discipline", "field", "each"), [("red", "limit", 9014), ("cake", "memlimit", 9804)]
)
def test_queues_of_bytes_hold_that_many_full_frames_of_their_network(
    discipline: str, field: str, each: int
) -> None:
    channel = dataclasses.replace(CHANNEL, queue=Packets(50), discipline=discipline)
    jumbo = commands("s1-eth2", channel, frame=9014)[2]
    assert f"{field} {50 * each}" in jumbo
    rows = copy.deepcopy(REAL)
    rows[3]["options"] = {field: 8 * each}
    with pytest.raises(TcplabError, match="50 packets was asked for, the kernel has 8 packets"):
        compare("s1-eth2", channel, rows, frame=9014)


@pytest.mark.parametrize(("rate", "size"), [("1mbit", 2 * FRAME), ("1gbit", 31_250)])
def test_a_burst_is_two_frames_or_what_the_rate_carries_for_a_late_timer(rate, size) -> None:
    assert burst(Channel(bandwidth=Rate.parse(rate))) == size


def test_a_processing_time_is_a_delay_that_varies_in_whole_microseconds() -> None:
    channel = Channel(Rate.parse("3mbit"), processing=Share.parse("100%"))
    half = channel.processing_time.base // 2
    assert half % 1000  # of the 4 ms of a full frame
    (netem,) = (line for line in commands("s1-eth2", channel) if "netem" in line)
    assert f"delay {half // 1000}.000us {half // 1000}.000us" in netem


def test_parameters_that_were_not_given_are_not_compared() -> None:
    """A table of tc without options is no fault of a channel without settings."""
    plain = dataclasses.replace(CHANNEL, discipline="gred", queue=Packets(100))
    assert shaping._parameters("s1-eth2", plain, {}) == []
    given = dataclasses.replace(plain, settings=(("ecn", "on"),))
    with pytest.raises(TcplabError, match="ecn"):
        shaping._parameters("s1-eth2", given, {"vqs": [{"ecn": False}]})
