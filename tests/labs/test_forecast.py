"""Rules for hidden networks: how they are read, scored and drawn, and what copying earns."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import mean

import pytest

from labs.definition import catalogue
from labs.definition.assignment import SELF_STUDY, Course
from labs.definition.forecast import (
    HiddenResult,
    hidden_networks,
    limit,
    price,
    read_rule,
    scored,
)
from labs.definition.key import Key
from labs.definition.spec import LabSpec
from labs.grading.marking import Marker
from labs.instructor.preview import copied_share, guessed_share
from labs.measuring.measures import MeasuredRun, UnknownName
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

NETWORK = {"bw": 2e6, "loss": 0.01, "delay": 0.02, "mss": 1448.0}
FORECASTS = [
    (name, question.id)
    for name in catalogue.names()
    for question in catalogue.find(name).questions
    if question.kind == "forecast"
]


def test_a_rule_is_calculated_from_the_parameters_of_a_network() -> None:
    rule = read_rule("min(bw, 1.22 * mss * 8 / (2 * delay * sqrt(loss))) / 1000 within 25 %")
    assert rule.value(NETWORK) == 2000 and rule.width == 0.25
    assert read_rule("bw if loss < 0.005 else -delay ** 2 within 5%").value(NETWORK) == -0.0004


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bw / 1000", "This is no rule, or it lacks its width"),
        ("bw within 0%", "width is out of range"),
        ("bw within 2000%", "width is out of range"),
        ("bw + within 20%", "cannot be read"),
        ("x" * 500 + " within 20%", "This is no rule, or it lacks its width"),
        ("rate within 20%", "uses 'rate'. There are: bw, delay, loss, mss"),
        ("__import__('os').getpid() within 20%", "Write one such as"),
        ("bw.real within 20%", "Write one such as"),
        ("'a' within 20%", "Write one such as"),
        ("min(bw, key=bw) within 20%", "Write one such as"),
        ("bw / (loss - loss) within 20%", "has no value here"),
        ("9.0 ** 999 ** 9 within 20%", "has no value here"),
        ("sqrt(0 - bw) within 20%", "has no value here"),
        ("(" * 300 + " within 20%", "cannot be read"),
    ],
)
def test_what_is_no_rule_is_refused_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read_rule(text).value(NETWORK)
    assert said in str(refusal.value)


def test_an_honest_width_earns_most() -> None:
    """The score is proper: over many networks no other width costs less than the true spread."""
    chance = random.Random(1)
    errors = [chance.gauss(0.0, 0.2) for _ in range(4000)]

    def costs(width: float) -> float:
        return mean(price(math.exp(error), width, 1.0) for error in errors)

    honest = math.exp(0.674 * 0.2) - 1  # half of a normal distribution
    assert costs(honest) < min(costs(honest / 1.5), costs(1.5 * honest))


def results(truth: Callable[[float, float], float]) -> list[HiddenResult]:
    """Results of six networks, by the truth for rate (bit/s) and delay (s)."""
    pairs = [(bw, delay) for bw in (1e6, 4e6, 16e6) for delay in (0.01, 0.04)]
    return [
        HiddenResult(NETWORK | {"bw": bw, "delay": delay}, truth(bw, delay)) for bw, delay in pairs
    ]


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("0.7 * bw / 1000 within 10%", 1.0, 1.0),
        ("0.5 * bw / 1000 within 50%", 0.5, 0.7),
        ("0.5 * bw / 1000 within 90%", 0.2, 0.4),  # it holds on all six networks
        ("0.5 * bw / 1000 within 10%", 0.2, 0.45),
        ("bw / 10 within 10%", 0.0, 0.0),
        ("2000 within 200%", 0.0, 0.0),
        ("0 within 10%", 0.0, 0.0),
    ],
)
def test_a_rule_earns_by_its_error_and_its_width(text: str, least: float, most: float) -> None:
    found = scored(read_rule(text), results(lambda bw, _: 0.7 * bw / 1000))
    assert least <= round(found.share, 6) <= most
    assert found.costs >= found.width_costs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2000 * delay within 10%", "frame_time"),
        ("2 * delay * 1000 within 50%", "frame_time"),
        ("1000 * (delay + 592 / bw) within 5%", "one_way"),
        ("2100 * delay within 10%", ""),
        ("2000 * (delay + 8 * 74 / bw) within 5%", ""),
    ],
)
def test_a_known_mistake_is_named(text: str, said: str) -> None:
    lab = catalogue.find("first_look")
    hidden = {"trip_rule": results(lambda bw, delay: 2000 * (delay + 5920 / bw))}
    marks = Marker(lab, Key(), {}, {}, {}, {}, hidden=hidden).marks({"trip_rule": [text]})
    mark = marks[-1]
    notes = {known.id: known.note for known in lab.question("trip_rule").mistakes}
    assert mark.mistake == said and (mark.note.startswith(notes[said]) if said else True)


@pytest.mark.parametrize(("name", "question"), FORECASTS)
def test_the_secret_draws_different_networks(name: str, question: str) -> None:
    lab = catalogue.find(name)
    asked = lab.question(question)
    networks = hidden_networks(lab, asked, COURSE)
    assert len({network.settings for network in networks}) == asked.networks
    assert networks == hidden_networks(lab, asked, COURSE)
    other = hidden_networks(lab, asked, Course("tests", "another secret of 16"))
    assert [each.settings for each in networks] != [each.settings for each in other]


def test_the_note_of_a_forecast_tells_no_value(sack: LabSpec) -> None:
    results = [
        HiddenResult(NETWORK | {"bw": rate}, truth)
        for rate, truth in ((2e6, 2000.0), (1e6, 1000.0), (4e6, 8000.0))
    ]
    marker = Marker(sack, Key(), {}, {}, {}, {}, hidden={"rule_on": results})
    given = {"rule_on": ["bw / 1000 within 10%"]}
    mark = next(mark for mark in marker.marks(given) if mark.question == "rule_on")
    assert 0 < (mark.points or 0) < sack.question("rule_on").points
    assert "It holds on 2 of 3 networks. Its width of 10% takes off 0 points" in mark.note
    assert "divided by the measured one on each network: 1, 1, 0.5." in mark.note
    found = scored(read_rule(given["rule_on"][0]), results)
    assert [round(off, 3) for off in found.offs] == [1, 1, 0.5]
    assert scored(read_rule("1500 within 50%"), results).share == 0


def test_copying_and_guessing_earn_little(key: Key) -> None:
    lab = catalogue.find("sack")
    truths = [400.0, 900.0, 2000.0, 4000.0, 7000.0, 15000.0]
    hidden = {"rule_on": [HiddenResult(NETWORK, truth) for truth in truths]}
    marker = Marker(lab, key, {}, {}, {}, {}, hidden=hidden)
    runs = {"sack": MeasuredRun(({"sack_on": {"server.rate": 445.0}},))}
    assert 0.05 < copied_share(marker, runs) <= 0.15
    assert 0 <= guessed_share(replace(marker, key=Key())) <= 0.1


def test_a_key_that_names_what_there_is_not_is_told() -> None:
    run = MeasuredRun(({"sack_on": {"server.rate": 445.0, "frame.h1-eth0.syn.1": 0.0}},))
    assert run.frames("sack_on/h1-eth0", "syn") == {1: 0.0}
    with pytest.raises(UnknownName, match="no condition 'sack_of'"):
        run("sack_of", "server.rate")
    with pytest.raises(UnknownName, match="no event 'time_out'"):
        run.frames("sack_on/h1-eth0", "time_out")


def test_a_packet_in_each_round_trip_is_no_window() -> None:
    """The package's stop-and-wait passes the first test of a transport only, on any network."""
    lab = catalogue.find("reliable_transport")
    question = replace(lab.question("transport"), networks=100)
    limits = [test.least for test in question.tests if test.id == "window"]
    networks = hidden_networks(lab, question, SELF_STUDY)
    assert len(networks) == 100 and len(limits) == 1
    for variables in (network.variables for network in networks):
        either_way = 1 - (1 - variables["loss"]) ** 2
        waits = 0.2 * either_way / (1 - either_way)  # its timer
        trip = 2 * variables["delay"] + 8 * 1088 / variables["bw"] + waits
        assert limit(limits[0], variables) > 1.1 * 8000 / trip / 1000
