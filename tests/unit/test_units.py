"""Quantities: exact, round trips, and a sentence with the remedy for what is misspelt."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies import units
from topologies.errors import UsageError
from topologies.spec import Channel
from topologies.units import WHOLE, Duration, Packets, Quantity, Rate, Share, Size

KINDS: list[type[Quantity]] = [Rate, Duration, Share, Size, Packets]


def rows_of(table: str) -> list[tuple[type[Quantity], str, str]]:
    """The rows of a CSV file here: a kind of quantity, a text, and what it means."""
    with Path(__file__).with_name(f"{table}.csv").open(newline="") as file:
        _, *rows = csv.reader(file)
    return [(getattr(units, kind), text, means) for kind, text, means in rows]


@pytest.mark.parametrize(("kind", "text", "base"), rows_of("quantities"))
def test_text_is_an_exact_number_of_base_units(kind: type[Quantity], text: str, base: str) -> None:
    assert kind.parse(text).base == int(base)


@pytest.mark.parametrize("kind", KINDS)
@given(base=st.integers(min_value=0, max_value=10**12))
def test_printed_text_parses_to_the_same_quantity(kind: type[Quantity], base: int) -> None:
    quantity = kind(base)
    assert kind.parse(str(quantity)) == quantity


REFUSED: dict[type[Quantity], tuple[str, ...]] = {
    Rate: ("1mbti", "", "mbit", "-1mbit", "1", "1e999999999bit", "9" * 99, "nan", "infmbit"),
    Duration: ("5", "1 year", "0.1ns"),
    Share: ("0.1", "ten%"),
    Packets: ("1.5",),
    Size: ("12 apples",),
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts]
)
def test_what_is_no_quantity_is_refused_with_an_example(kind: type[Quantity], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind.parse(text)
    assert kind.example in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(max_size=80))
def test_any_text_is_a_quantity_or_a_usage_error(kind: type[Quantity], text: str) -> None:
    try:
        kind.parse(text)
    except UsageError:
        return


@pytest.mark.parametrize(("kind", "text", "choices"), rows_of("doubtful_quantities"))
def test_what_may_mean_several_things_is_refused_with_the_choices(kind, text, choices) -> None:
    with pytest.raises(UsageError) as caught:
        kind.parse(text)
    assert caught.value.problem.startswith(f"{text}: ")
    assert caught.value.remedy == f"Write {choices}."
    meant = choices.split(" or ")
    assert len({kind.parse(choice) for choice in meant}) == len(meant)


UNITS = [(kind, unit) for kind in KINDS for unit in {**kind.units, **kind.words, **kind.doubtful}]


@given(
    spelling=st.sampled_from(UNITS), capitals=st.integers(0, 2**8 - 1), amount=st.integers(1, 99)
)
def test_no_change_of_case_gives_another_quantity(spelling, capitals, amount) -> None:
    """Whatever letters are large: it is refused, or it is what it is in the table."""
    kind, unit = spelling
    changed = "".join(
        letter.upper() if capitals >> at & 1 else letter.lower() for at, letter in enumerate(unit)
    )
    try:
        quantity = kind.parse(f"{amount}{changed}")
    except UsageError:
        return
    known = {**kind.words, **kind.units} | ({"": 1} if kind.default_unit else {})
    alike = {factor for name, factor in known.items() if name.lower() == changed.lower()}
    assert {quantity.base} == {amount * factor for factor in alike}


@given(text=st.from_regex(r"[0-9]{1,4}[kKmMgG]?B(ps|/s)?", fullmatch=True))
def test_bytes_are_never_taken_for_bits(text: str) -> None:
    with pytest.raises(UsageError, match="bits or bytes"):
        Rate.parse(text)


def test_fractions_and_seconds_are_those_of_the_text() -> None:
    assert (Share.parse("25%").fraction, WHOLE.fraction) == (0.25, 1.0)
    assert Duration.parse("1500us").seconds == 0.0015
    assert Duration.parse("1500us").milliseconds == 1.5


def test_words_are_read_where_quantities_are_wanted() -> None:
    assert Rate("100mbit") == Rate.parse("100mbit")
    assert Channel("100mbit", delay="20ms").delay == Duration.parse("20ms")
    with pytest.raises(UsageError, match=r"is 0\.5, which is no percentage"):
        Channel("100mbit", loss=0.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is no rate"):
        Rate(1.5)  # type: ignore[arg-type]
