"""Numbers with units as people write them: `231 kbit/s`, `0.231 Mbps`, `28.9 kB/s`.

A small b is a bit and a capital B a byte. kB is 1000 bytes and KiB 1024; iperf's KBytes are 1024 (iperf(1)).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from topologies.errors import UsageError

_LONGEST = 80  # characters; a longer text is no number
_NUMBER = re.compile(
    r"(?:about|approx\.?|ca\.?|~|≈|=)?\s*"
    r"(?P<sign>[-+\u2212]?)(?P<whole>\d{1,3}(?:[ ',\u00a0\u202f]\d{3})+|\d{1,18})(?P<rest>[.,]\d{1,18})?"
    r"(?:\s*[eE](?P<power>[-+]?\d{1,2}))?\s*(?P<unit>.*)",
    re.DOTALL,
)
_AMBIGUOUS = re.compile(r"\d{1,3},\d{3}")
_PREFIX = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "G": 1e9, "g": 1e9, "Ki": 1024.0, "Mi": 1024.0**2}


@dataclass(frozen=True)
class Unit:
    """A unit: what it measures, and its factor to that dimension's base (bit/s, bytes, s, a whole)."""

    dimension: str
    factor: float


@dataclass(frozen=True)
class Number:
    """What was written: `value` as it stands, and the unit, None where none was written.

    `half_step` is half of its last digit, by which an honest rounding may be off; 0 where it has only one digit.
    """

    value: float
    unit: Unit | None
    written: str
    half_step: float = 0.0

    def scale(self, unit: Unit) -> float:
        """What the value is multiplied with to be in `unit`."""
        return (self.unit or unit).factor / unit.factor

    def within(self, unit: Unit) -> float:
        """The value in `unit`; without a unit of its own it is taken to be in it. Raises ValueError."""
        own = self.unit or unit
        if own.dimension != unit.dimension:
            raise ValueError(f"{self.written} is a {own.dimension}, and a {unit.dimension} is asked for")
        return self.value * self.scale(unit)


COUNT = Unit("number", 1.0)


def _units() -> dict[str, Unit]:
    found = {"": COUNT, "x": COUNT, "times": COUNT, "fold": COUNT, "-fold": COUNT}
    things = "segment segments packet packets retransmissions timeouts time-outs pauses copies losses drops flows"
    found |= dict.fromkeys(things.split(), COUNT)
    for word in ("%", "percent", "per cent"):
        found[word] = Unit("share", 0.01)
    times = {"s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6,
             "µs": 1e-6, "μs": 1e-6, "min": 60.0, "minutes": 60.0}  # fmt: skip
    found |= {word: Unit("time", factor) for word, factor in times.items()}
    for prefix, factor in _PREFIX.items():
        if prefix not in ("Ki", "Mi"):
            found |= {f"{prefix}{bit}": Unit("rate", factor) for bit in
                      ("bit/s", "bits/s", "bit/sec", "bits/sec", "bps", "b/s", "bits per second")}  # fmt: skip
        octets = {"byte": factor, "bytes": factor, "Byte": _iperf(prefix, factor), "Bytes": _iperf(prefix, factor)}
        for byte, bytes_factor in {"B": factor, **octets}.items():
            found[f"{prefix}{byte}"] = Unit("size", bytes_factor)
            found |= {f"{prefix}{byte}{per}": Unit("rate", 8 * bytes_factor) for per in ("/s", "/sec", "ps")}
    return found


def _iperf(prefix: str, factor: float) -> float:
    """iperf prints KBytes and MBytes and means powers of 1024."""
    return {"K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}.get(prefix, factor)


_UNITS = _units()
_CASELESS = {name.lower(): unit for name, unit in reversed(_UNITS.items()) if "b" not in name.lower()}


def unit_named(name: str) -> Unit:
    """The unit of that name, as lab.toml has it. Raises UsageError."""
    if name not in _UNITS:
        raise UsageError(f"'{name[:40]}' is no unit that answers can be in.", "Use kbit/s, KByte, s, ms, % or nothing.")
    return _UNITS[name]


def parse(text: str) -> Number:
    """The number that was written. Raises ValueError with a sentence that says what is wrong."""
    written = " ".join(str(text)[: _LONGEST + 1].split())
    if not written:
        raise ValueError("it is empty")
    found = _NUMBER.fullmatch(written) if len(written) <= _LONGEST else None
    if not found:
        raise ValueError(f"'{written[:40]}' is not a number with a unit, such as 231 kbit/s")
    value, half_step = _value(found)
    unit = found["unit"].strip().rstrip(".")
    if not unit:
        return Number(value, None, written, half_step)
    meant = _UNITS.get(unit) or _UNITS.get(unit.replace(" ", "")) or _CASELESS.get(unit.lower())
    if meant is None:
        raise ValueError(f"the unit '{unit[:20]}' is not known; write one such as kbit/s, Mbps, kB/s, s, ms or %")
    return Number(value, meant, written, half_step)


def _value(found: re.Match[str]) -> tuple[float, float]:
    whole, rest = found["whole"], found["rest"] or ""
    if _AMBIGUOUS.fullmatch(whole) and not rest:
        if not whole.startswith("0,"):
            raise ValueError(f"'{whole}' may mean {whole.replace(',', '')} or {whole.replace(',', '.')}: no comma")
        whole, rest = "0", "." + whole[2:]
    digits = re.sub(r"[ ',\u00a0\u202f]", "", whole) + rest.replace(",", ".")
    power = int(found["power"] or 0)
    value = float(f"{digits}e{power}")
    if not math.isfinite(value) or abs(value) > 1e30:
        raise ValueError("the number is too large to be meant")
    decimals = len(digits.partition(".")[2])
    half_step = 0.5 * 10.0 ** (power - decimals) if len(digits.replace(".", "").lstrip("0")) > 1 else 0.0
    return (-value if found["sign"] in ("-", "\u2212") else value), half_step
