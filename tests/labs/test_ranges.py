"""Claims: no lesson in what contradicts one, its key agrees with it, and the ranges show it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from labs.definition import catalogue
from labs.definition.assignment import variant
from labs.definition.key import Key, key_module
from labs.definition.runs import variables_of
from labs.measuring.measures import Runs
from labs.measuring.ranges import check_ranges, corners
from tests.labs.conftest import COURSE
from tests.labs.made_measurements import LABS, MadeLab, runs_of


def test_corners_are_all_ends_and_the_middle() -> None:
    corner_variants = corners(catalogue.find("fairness"))
    assert [tuple(value for _, value in values) for values in corner_variants] == [
        ("24mbit", "8"),
        ("24mbit", "12"),
        ("34mbit", "8"),
        ("34mbit", "12"),
        ("30mbit", "10"),
    ]


def lesson(name: str, runs: Runs) -> bool:
    return bool(key_module(name).lesson(runs))


def key(name: str, runs: Runs) -> Key:
    lab = catalogue.find(name)
    variables = variables_of(lab, variant(COURSE, lab, "ann"))
    lab_key: Key = key_module(name).key(runs, variables)
    return lab_key


def agrees(made_lab: MadeLab, lab_key: Key) -> bool:
    """Whether the key ticks what the claim says."""
    right = all(
        options <= lab_key.choices[question] for question, options in made_lab.right.items()
    )
    return right and all(
        not options & lab_key.choices[ask] for ask, options in made_lab.wrong.items()
    )


def test_every_lab_has_made_up_runs() -> None:
    assert sorted(LABS) == sorted(catalogue.names())


@pytest.mark.parametrize("name", LABS)
def test_a_lesson_is_what_the_claim_says_and_nothing_that_contradicts_it(name: str) -> None:
    made = LABS[name]
    assert lesson(name, runs_of(made.shown)) and agrees(made, key(name, runs_of(made.shown)))
    for change in made.contradictions:
        assert set(change) <= set(made.shown)
        assert not lesson(name, runs_of({**made.shown, **change})), change


def test_two_flows_that_share_a_queue_by_chance_do_not_contradict_fair_queueing() -> None:
    shown = LABS["fairness"].shown
    rate = ("fair", "together", "tcp1.goodput_kbit_s")
    assert lesson("fairness", runs_of({**shown, rate: shown[rate] / 2}))


@pytest.mark.parametrize("name", LABS)
@given(some.data())
def test_the_key_agrees_with_the_claim_whenever_the_runs_show_it(
    name: str, data: some.DataObject
) -> None:
    made = LABS[name]
    factors = some.floats(0.1, 10)
    values = {place: value * data.draw(factors) for place, value in made.shown.items()}
    runs = runs_of(values)
    assert not lesson(name, runs) or agrees(made, key(name, runs))


@pytest.mark.parametrize("name", LABS)
def test_a_factor_is_the_larger_over_the_smaller_and_the_other_is_a_known_mix_up(name: str) -> None:
    lab_key = key(name, runs_of(LABS[name].shown))
    for question in catalogue.find(name).questions:
        if question.kind == "forecast":
            continue  # its mistakes are rules, as the definition demands
        with_value = {*lab_key.mistakes.get(question.id, {})}
        with_value |= {*lab_key.wrong_frames.get(question.id, {})}
        named = {mistake.id for mistake in question.mistakes}
        assert named - {option.id for option in question.options} == with_value
        assert "how many times the" not in question.ask, "ask for the larger over the smaller"
        if "upside_down" in with_value:
            other = lab_key.mistakes[question.id]["upside_down"]
            assert other == pytest.approx(1 / lab_key.numbers[question.id])
            assert lab_key.numbers[question.id] >= 1 and "larger" in question.ask


@pytest.mark.virtual
def test_the_lesson_shows_in_the_middle(tmp_path: Path) -> None:
    lab = catalogue.find("first_look")
    corner_results = check_ranges(lab, 1, tmp_path, 1, corners(lab)[-1:])
    assert [(corner.lesson, corner.problem) for corner in corner_results] == [(True, "")]
