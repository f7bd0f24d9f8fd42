"""Quantities: exact, round trips, and a sentence with the remedy for what is misspelt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies.errors import UsageError
from topologies.spec import Channel
from topologies.units import WHOLE, Count, Duration, Frequency, Packets, Quantity, Rate, Share, Size

KINDS: list[type[Quantity]] = [Rate, Duration, Share, Size, Packets]


@pytest.mark.parametrize(
    ("kind", "text", "base"),
    [
        (Rate, "1mbit", 10**6),
        (Rate, "1.5 Mbit/s", 1_500_000),
        (Rate, "10GBIT", 10**10),
        (Duration, "40ms", 40 * 10**6),
        (Duration, "0.5s", 5 * 10**8),
        (Duration, "30min", 1800 * 10**9),
        (Duration, "2h", 7200 * 10**9),
        (Frequency, "0.16Hz", 160_000),
        (Packets, "3p", 3),
        (Size, "2MiB", 2 << 20),
        (Size, "3GiB", 3 << 30),
        (Share, "10%", 10**9),
        (Share, "0.000001%", 100),
        (Share, "100%", WHOLE.base),
        (Size, "131072", 131072),
        (Size, "128KiB", 131072),
        (Size, "1MB", 10**6),
        (Rate, "10Mbps", 10**7),
        (Rate, "10Mb/s", 10**7),
        (Rate, "64Kbit", 64_000),
        (Duration, "300us", 300_000),
        (Duration, "300\N{MICRO SIGN}s", 300_000),
        (Duration, "40msec", 40 * 10**6),
        (Duration, "2 Sec", 2 * 10**9),
        (Size, "128K", 131072),
        (Size, "2GB", 2 * 10**9),
        (Size, "5 bytes", 5),
        (Packets, "200", 200),
        (Packets, "200 packets", 200),
    ],
)
def test_text_is_an_exact_number_of_base_units(kind: type[Quantity], text: str, base: int) -> None:
    assert kind.parse(text).base == base


@pytest.mark.parametrize("kind", KINDS)
@given(base=st.integers(min_value=0, max_value=10**12))
def test_printed_text_parses_to_the_same_quantity(kind: type[Quantity], base: int) -> None:
    quantity = kind(base)
    assert kind.parse(str(quantity)) == quantity


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Rate, "1mbti"),
        (Rate, ""),
        (Rate, "mbit"),
        (Rate, "-1mbit"),
        (Rate, "1"),
        (Duration, "5"),
        (Duration, "1 year"),
        (Share, "0.1"),
        (Share, "ten%"),
        (Packets, "1.5"),
        (Size, "12 apples"),
        (Rate, "1e999999999bit"),
        (Rate, "9" * 99),
        (Duration, "0.1ns"),
        (Rate, "nan"),
        (Rate, "infmbit"),
    ],
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


@pytest.mark.parametrize(
    ("kind", "text", "choices"),
    [
        (Rate, "1MBps", ("1mbit", "8mbit")),
        (Rate, "1mbps", ("1mbit", "8mbit")),
        (Rate, "10M", ("10mbit", "80mbit")),
        (Rate, "1.5MB/s", ("1.5mbit", "12mbit")),
        (Duration, "40Ms", ("40ms", "40000000s")),
        (Duration, "5m", ("300s", "5ms")),
        (Size, "1m", ("1MB", "1MiB")),
        (Size, "16kb", ("16kB", "2kB")),
        (Size, "3b", ("3B",)),
    ],
)
def test_what_may_mean_several_things_is_refused_with_the_choices(
    kind: type[Quantity], text: str, choices: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as caught:
        kind.parse(text)
    assert caught.value.problem.startswith(f"{text}: ")
    assert caught.value.remedy.removeprefix("Write ").removesuffix(".").split(" or ") == [*choices]
    assert len({kind.parse(choice) for choice in choices}) == len(choices)


UNITS = [(kind, unit) for kind in KINDS for unit in {**kind.units, **kind.words, **kind.doubtful}]


@given(
    spelling=st.sampled_from(UNITS), capitals=st.integers(0, 2**8 - 1), amount=st.integers(1, 99)
)
def test_no_change_of_case_gives_another_quantity(
    spelling: tuple[type[Quantity], str], capitals: int, amount: int
) -> None:
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


@pytest.mark.parametrize(
    ("text", "bits"), [("1.5e3kbit", 1_500_000), ("25e-1mbit", 2_500_000), ("2E6", None)]
)
def test_powers_of_ten_are_exact(text: str, bits: int | None) -> None:
    if bits is None:
        assert Count.parse(text).base == 2_000_000
    else:
        assert Rate.parse(text).base == bits


def test_a_number_without_a_unit_is_itself() -> None:
    assert (Count.parse("3").base, Packets.parse("3").base, Size.parse("3").base) == (3, 3, 3)


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
