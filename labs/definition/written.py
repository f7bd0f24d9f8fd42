"""Numbers with units as people write them: `231 kbit/s`, `28.9 kB/s`, `≈ 9 %`, `15 RTOs`.

A small b is a bit and a capital B a byte. kB is 1000 bytes and KiB 1024; iperf's KBytes are 1024
(iperf(1)).

A text that may mean two things is refused, and a person reads it. So are ranges, two numbers, and
other text next to the number, except words without digits in parentheses at the end.
"""

import math
import re
import unicodedata
from dataclasses import dataclass

from topologies.errors import UsageError
from topologies.units import BINARY, DECIMAL, TIMES

_LONGEST = 80  # characters; a longer text is no number
_ABOUT = (
    r"(?:(?i:about|around|roughly|approximately|approx\.?|circa|ca\.?)\s"
    r"|[~\u223c\u2248\u2243\u2245=])?\s*"
)
_DIGITS = (
    r"(?:[0-9]{1,3}(?:[ '\u2019][0-9]{3})+(?:[.,][0-9]{1,18})?"  # 1 234.5
    r"|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]{1,18}|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]{1,18}"  # 1,234.5
    r"|[0-9]{1,3}(?:(?:,[0-9]{3}){2,}|(?:\.[0-9]{3}){2,})"  # 1,234,567
    r"|[0-9]{1,18}[.,][0-9]{1,18}|\.[0-9]{1,18}|[0-9]{1,18})"
)
_SIGN = r"[-+\u2212]?"
_POWER = (
    rf"(?:\s*[eE](?P<e>{_SIGN}[0-9]{{1,2}})|\s*[*x\u00d7\u00b7\u22c5]\s*10"  # 3.2e5, 3.2 x 10
    rf"(?:(?:\^|\*\*)(?P<power>{_SIGN}[0-9]{{1,2}})|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{{1,2}})))?"
)
_UNIT = r"(?P<unit>(?![0-9]).*)"
_NUMBER = re.compile(rf"{_ABOUT}(?P<sign>{_SIGN})(?P<digits>{_DIGITS}){_POWER}{_UNIT}")
_REMARK = re.compile(r"\s*\([^()0-9]*\)$")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""East Asian keyboards' doubles of ASCII (Unicode, Halfwidth and Fullwidth Forms)."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺\u2212", "0123456789-+-")


@dataclass(frozen=True)
class Unit:
    """A unit of a dimension; `factor` leads to its base: bit/s, bytes, s, a whole."""

    dimension: str
    factor: float


@dataclass(frozen=True)
class Number:
    """A number as written: its `value`, and the unit, None if it was left out.

    `half_step` is half of its last digit, by which an honest rounding may be off. `others` are the
    values that the same digits may also mean: 1.234 as 1234, or `231 445` as two numbers.
    """

    value: float
    unit: Unit | None
    written: str
    half_step: float = 0.0
    others: tuple[float, ...] = ()

    def scale(self, unit: Unit) -> float:
        """Return the factor that converts the value to `unit`."""
        return (self.unit or unit).factor / unit.factor

    def within(self, unit: Unit) -> float:
        """Return the value in `unit`, in which a number without unit is. Raises ValueError."""
        own = self.unit or unit
        if own.dimension != unit.dimension:
            raise ValueError(
                f"{self.written} is a {own.dimension}, and a {unit.dimension} is asked for"
            )
        return self.value * self.scale(unit)


COUNT = Unit("number", 1.0)
_SHARE = Unit("share", 0.01)
_TIMES = {
    "s": "s sec secs second seconds sekunden",
    "ms": "ms msec msecs millisecond milliseconds",
    "us": "us µs μs usec usecs microsecond microseconds",
    "min": "min mins minute minutes",
}
_SECONDS = {unit: TIMES[unit] / TIMES["s"] for unit in _TIMES}
_NAMES = {
    "": COUNT,
    **dict.fromkeys(("%", "percent", "per cent", "pct", "prozent"), _SHARE),
    **{name: Unit("time", _SECONDS[unit]) for unit in _TIMES for name in _TIMES[unit].split()},
}
_FACTOR = re.compile(r"[x\u00d7]|-?fold|-?fach|: ?1|times(?: as [a-z]+(?: as [a-z ]+)?)?")
_THING = re.compile(
    r"(?:(?:data|lost|dropped|repeated|retransmitted|retransmission|tcp) )*"
    r"(?:segments?|segs?|packets?|pkts?|datagrams?|retransmi(?:t|ssion)s?|time[- ]?outs?|rtos?"
    r"|pauses?|cop(?:y|ies)|loss(?:es)?|drops?|flows?|mss)"
)
_DATA = re.compile(
    r"(?P<prefix>(?i:kilo|mega|giga)|[kKmM]i|[kKmMgG])?[- ]?"
    r"(?P<what>b|B|(?i:bits?|bytes?|octets?))(?P<per>/s)?"
)
_PREFIXES = {prefix.lower(): float(factor) for prefix, factor in (DECIMAL | BINARY).items()}
_PREFIXES |= {"kilo": _PREFIXES["k"], "mega": _PREFIXES["m"], "giga": _PREFIXES["g"]}
_IPERF = {letter: float(BINARY[f"{letter}i"]) for letter in "KMG"}
"""iperf prints KBytes and MBytes and means powers of 1024."""


def in_digits(value: float) -> str:
    """Four digits or all before the point, never with a power of ten: `23700`, `0.7606`."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def unit_named(name: str) -> Unit:
    """Return the unit of that name, as lab.toml has it. Raises UsageError."""
    unit = _unit(name)
    if unit is None:
        problem = f"'{name[:40]}' is no unit that answers can be in."
        raise UsageError(problem, "Use kbit/s, KByte, s, ms, %, or no unit for a count.")
    return unit


def _unit(written: str) -> Unit | None:
    """Return the unit of a text, None if it is not known or may mean two units."""
    text = " ".join(written.split()).rstrip(".,;! ")
    text = re.sub(r" ?/ ?| per (?!cent)", "/", text)
    text = re.sub(r"(?i:/(?:second|sec|s))$|(?<=[bB])ps$", "/s", text)
    data = _DATA.fullmatch(text)
    if data:
        return _data_unit(data["prefix"] or "", data["what"], bool(data["per"]))
    text = text.lower()
    return COUNT if _FACTOR.fullmatch(text) or _THING.fullmatch(text) else _NAMES.get(text)


def _data_unit(prefix: str, what: str, rate: bool) -> Unit | None:
    """Bits or bytes; None for bits that lack a time, and for KBYTES: 1000 bytes or iperf's 1024?"""
    factor = _PREFIXES[prefix.lower()]
    if what == "b" or what.lower().startswith("bit"):
        return Unit("rate", factor) if rate else None
    if what != "B" and what[0] == "B":
        if what.isupper() and prefix:
            return None
        factor = _IPERF.get(prefix, factor)
    return Unit("rate", 8 * factor) if rate else Unit("size", factor)


def parse_number(text: str) -> Number:
    """The number that was written. Raises ValueError with a sentence that says what is wrong."""
    written = " ".join(str(text)[: _LONGEST + 1].split())
    if not written:
        raise ValueError("it is empty")
    letters = written.translate(_FULL_WIDTH)
    # Digits of all scripts are 0 to 9, but no ½ and ², which are no decimal digits.
    digits = "".join(str(unicodedata.decimal(letter, letter)) for letter in letters)
    plain = _REMARK.sub("", digits)
    match = _NUMBER.fullmatch(plain) if len(written) <= _LONGEST else None
    if not match:
        raise ValueError(f"'{written[:40]}' is not a number with a unit, such as 231 kbit/s")
    value, half_step, others = _value(match)
    name = match["unit"].strip(" .,;!")
    unit = _unit(name)
    if unit is None:
        hint = "write one such as kbit/s, Mbps, kB/s, s, ms or %"
        raise ValueError(f"the unit '{name[:20]}' is not known; {hint}")
    return Number(value, unit if name else None, written, half_step, others)


def _value(match: re.Match[str]) -> tuple[float, float, tuple[float, ...]]:
    """Return the value, half of its last digit, and what else the digits may mean."""
    digits = match["digits"]
    if re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", digits):
        whole, decimal = digits.replace(",", ""), digits.replace(",", ".")
        raise ValueError(f"'{digits}' may mean {whole} or {decimal}; write it without the comma")
    written = match["e"] or match["power"] or match["raised"] or "0"
    power = int(written.translate(_RAISED))
    factor = -1.0 if match["sign"] in ("-", "\u2212") else 1.0
    plain = _without_groups(digits)
    value = float(f"{plain}e{power}")
    if not math.isfinite(value) or value > 1e30:
        raise ValueError("the number is too large to be meant")
    half_step = 0.5 * 10.0 ** (power - len(plain.partition(".")[2]))
    # Other meanings: a German 1.234, or two numbers with a space between.
    others = [_without_groups(part) for part in digits.split(" ")] if " " in digits else []
    if re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", digits):
        others.append(digits.replace(".", ""))
    return factor * value, half_step, tuple(factor * float(f"{each}e{power}") for each in others)


def _without_groups(digits: str) -> str:
    """Return the digits with a decimal point at most: the last point or comma is decimal."""
    plain = re.sub(r"[ '\u2019]", "", digits)
    last = max(plain.rfind("."), plain.rfind(","))
    if last < 0 or plain.count(plain[last]) > 1:
        return plain.replace(".", "").replace(",", "")
    return plain[:last].replace(".", "").replace(",", "") + "." + plain[last + 1 :]


_WORD = r"(?:frame|packet|line|no|number|nr|segment)"
_FRAME = re.compile(rf"(?:{_WORD}\b\.?\s*)?#?\s*([0-9][0-9,' ]{{0,12}})")
_CLOSEST = 0.0005
"""Seconds by which a time may be off. A rough time would name one of many frames by chance."""


@dataclass(frozen=True)
class WrittenFrame:
    """A frame that was named: its number, or else its time in seconds."""

    number: int | None
    seconds: float = 0.0

    def among(self, frames: dict[int, float]) -> bool:
        if self.number is not None:
            return self.number in frames
        return any(abs(time - self.seconds) <= _CLOSEST for time in frames.values())


def parse_frame(text: str) -> WrittenFrame:
    """The frame that was named. Raises ValueError with a sentence that says what is wrong."""
    plain = " ".join(text.split()).rstrip(".").lower()
    if match := _FRAME.fullmatch(plain):
        return WrittenFrame(int(re.sub(r"[,' ]", "", match[1])))
    try:
        number = parse_number(plain)
        seconds = number.within(unit_named("s"))
    except ValueError:
        seconds = -1.0
    if seconds < 0 or number.unit is None:
        problem = f"'{text[:40]}' names no frame"
        raise ValueError(f"{problem}; write its number, such as 1234, or its time with a unit")
    return WrittenFrame(None, seconds)
