"""Numbers as sixty students type them: read as they were meant, or left to a person."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from labs.definition.written import parse_number, unit_named

SPELLINGS = {
    ("kbit/s", 1.0): (
        "kbit/s|kBit/s|KBit/s|Kbit/s|kbits/s|Kbits/sec|kbit/sec|kbps|Kbps|kb/s|KBIT/S"
        "|kbit / s|kbit per second|kilobit/s|kilobits per second"
    ),
    ("kbit/s", 1e3): "Mbit/s|MBit/s|mbit/s|Mbits/sec|Mbps|Mb/s|megabits per second",
    ("kbit/s", 1e-3): "bit/s|bits/s|bps|bits per second|Bit/s",
    ("kbit/s", 8.0): "kB/s|KB/s|kBps|kByte/s|kbytes/sec|kilobytes per second",
    ("kbit/s", 8.192): "KBytes/sec|KByte/s|KiB/s",
    ("s", 1.0): "s|S|SEC|sec|secs|sec.|seconds|second|s.",
    ("s", 1e-3): "ms|msec|milliseconds",
    ("s", 60.0): "min|minutes",
    ("%", 1.0): "%|percent|per cent|Prozent|pct|Percent",
    ("", 1.0): "|x|X|\u00d7|times|-fold|fold| fach|-fach|:1|times as fast",
    ("segments", 1.0): (
        "|segments|segs|packets|pkts|pkt|RTOs|RTO|timeouts|time-outs|time outs"
        "|retransmission timeouts|lost packets|retransmitted segments|times"
    ),
    ("KByte", 1.0): "KByte|KBytes|KiB",
}
SPELT = [(*key, word) for key, words in SPELLINGS.items() for word in words.split("|")]
BEFORE = ["", "~", "~ ", "\u2248", "\u2248 ", "about ", "approx. ", "Approximately ", "ca. ", "= "]
LETTERS = "0123456789.,'e+-*^x\u00d7~%()/ kKMmbBitsytepRTO\u2248\u00b2\u2075\uff11\u0661\n"
DOUBTFUL = (
    "twelve|9-10 %|9 - 10 %|9 \u2013 10 %|9 to 10 %|9..10 %|9 or 10|231 and 445 kbit/s|231; 445"
    "|231 \u00b1 5 kbit/s|< 9 %|> 9 %|\u2264 9|1/1.3|445/231|1:1.3|1:05|231 kbit/s = 0.231 Mbit/s"
    "|231 kbit/s (445 with SACK)|1,234 kbit/s|231,445|231 kbit|2 MBIT|1 KBYTES/s|231 KBPS"
    "|3.2 x 105 bit/s|10\u2075 bit/s|1.3 times faster|1 min 5 s|5 m|\u00bd %"
    "|\u00bd|5\u00b2|0x1F|1.2.3|12,34,5|- 231|9 \u2030|1e5e5 s|--5|5%%|\u221e|9 percentage points"
    "|231k|1_000|231 kbit/s/s|1 234 567 8 s|many|231 parsecs|nan|inf|1e99 s|=1+1|1 kbit/s 2|"
)
AFTER = ("", " ", ".", " (iperf)", " (last line)", " (from the server's report)")


def grouped(number: int, point: str) -> str:
    return f"{number:,}".replace(",", point)


def plain(whole: int, cents: int) -> str:
    return f"{whole}.{cents:02d}"


FULL_WIDTH = {ord(letter): ord(letter) + 0xFEE0 for letter in "0123456789."}
ARABIC = {ord(str(digit)): 0x660 + digit for digit in range(10)}
WAYS = {
    "with a point": plain,
    "with a comma": lambda whole, cents: f"{whole},{cents:02d}",
    "with spaces": lambda whole, cents: f"{grouped(whole, ' ')}.{cents:02d}",
    "with narrow spaces": lambda whole, cents: f"{grouped(whole, chr(0x202F))},{cents:02d}",
    "with apostrophes": lambda whole, cents: f"{grouped(whole, chr(0x2019))}.{cents:02d}",
    "in English": lambda whole, cents: f"{grouped(whole, ',')}.{cents:02d}",
    "in German": lambda whole, cents: f"{grouped(whole, '.')},{cents:02d}",
    "as a power": lambda whole, cents: f"{100 * whole + cents}e-2",
    "as a product": lambda whole, cents: f"{100 * whole + cents} * 10^-2",
    "raised": lambda whole, cents: f"{100 * whole + cents}\u00b710\u207b\u00b2",
    "in full width": lambda whole, cents: plain(whole, cents).translate(FULL_WIDTH),
    "in Arabic digits": lambda whole, cents: plain(whole, cents).translate(ARABIC),
}


@pytest.mark.parametrize(("unit", "factor", "word"), SPELT)
def test_every_spelling_is_known(unit: str, factor: float, word: str) -> None:
    value = parse_number(f"231.5 {word}").within(unit_named(unit))
    assert value == pytest.approx(231.5 * factor)


@given(
    some.sampled_from(SPELT),
    some.sampled_from(sorted(WAYS)),
    some.integers(0, 10**7),
    some.integers(0, 99),
    some.sampled_from(BEFORE),
    some.sampled_from(AFTER),
    some.sampled_from(("", " ", "  ", "\u00a0")),
)
def test_every_spelling_of_every_unit_gives_the_value_back(
    spelt: tuple[str, float, str],
    way: str,
    whole: int,
    cents: int,
    before: str,
    after: str,
    space: str,
) -> None:
    unit, factor, word = spelt
    text = f"{before}{WAYS[way](whole, cents)}{space}{word}{after}"
    value = parse_number(text).within(unit_named(unit))
    assert value == pytest.approx((whole + cents / 100) * factor), text


@pytest.mark.parametrize("text", [*DOUBTFUL.split("|"), "9" * 100])
def test_what_may_mean_something_else_is_left_to_a_person(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_number(text)


@given(
    some.integers(0, 10**6),
    some.integers(0, 10**6),
    some.sampled_from(["-", " - ", "\u2013", " to ", "/", "; ", " and ", "..", "|", "+", ":"]),
    some.sampled_from(["", " %", " kbit/s", " s", " RTOs"]),
)
def test_two_numbers_are_never_read_as_one(one: int, other: int, between: str, unit: str) -> None:
    if (between, other, unit) == (":", 1, ""):
        return  # 3:1 is a factor
    with pytest.raises(ValueError, match=r"\w"):
        parse_number(f"{one}{between}{other}{unit}")


def test_a_minus_may_be_that_of_typesetters() -> None:
    assert parse_number("\u22123 %").within(unit_named("%")) == pytest.approx(-3)


def test_digits_that_may_mean_something_else_say_what() -> None:
    assert parse_number("1.234 s").others == (1234.0,)
    assert parse_number("231 445 kbit/s").others == (231.0, 445.0)
    assert parse_number("0.234 s").others == parse_number("1.23 s").others == ()


@given(some.text(LETTERS, max_size=30))
def test_no_text_of_such_letters_makes_the_reader_fail_otherwise(text: str) -> None:
    try:
        number = parse_number(text)
    except ValueError as error:
        assert str(error)
    else:
        assert abs(number.value) <= 1e30 and number.half_step > 0
