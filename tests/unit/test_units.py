"""Quantities: exact, round trips, and a sentence with the remedy for what is misspelt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies.errors import UsageError
from topologies.units import WHOLE, Duration, Packets, Quantity, Rate, Share, Size

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
        (Share, "10%", 10**9),
        (Share, "0.000001%", 100),
        (Share, "100%", WHOLE.base),
        (Size, "131072", 131072),
        (Size, "128KiB", 131072),
        (Size, "1MB", 10**6),
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
