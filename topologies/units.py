"""Units as types: every quantity is an exact integer of its base unit, parsed from text once.

`Rate("10mbit")`, `Size("128KiB")`; a number is one of the base unit, and `str()` the shortest exact
text. A small b is a bit, a large one a byte. A spelling that tools read differently is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from topologies.errors import UsageError

if TYPE_CHECKING:
    from fractions import Fraction

_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S*)\s*")
_FARTHEST = 30  # power of ten
_LONGEST = 64  # characters; a longer text is no quantity, and Fraction("1e999999999") would not end

DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
"""Prefixes to their factors, in rising order, of 1000 (SI) and of 1024 (IEC 80000-13)."""
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
"""Units of time to nanoseconds, in rising order."""


Doubts = dict[str, tuple[str, tuple[int | str, ...]]]


@dataclass(frozen=True, order=True)
class Quantity:
    """A non-negative amount of `base`, the unit whose factor is 1."""

    base: int

    kind: ClassVar[str]
    example: ClassVar[str]
    units: ClassVar[dict[str, int]]
    """Unit to its factor, in rising order; of a factor the first spelling is printed."""
    words: ClassVar[dict[str, int]] = {}
    """Units that are the same in small and large letters, by their small ones."""
    doubtful: ClassVar[Doubts] = {}
    """Spellings that are refused: what is open about each, and the factors that it may mean."""
    default_unit: ClassVar[str | None] = None

    if TYPE_CHECKING:  # text is read by __post_init__

        def __init__(self, base: int | str) -> None: ...

    def __post_init__(self) -> None:
        if isinstance(self.base, str):
            object.__setattr__(self, "base", self.parse(self.base).base)
        if type(self.base) is not int:
            remedy = f"Write text such as {self.example!r}."
            raise UsageError(f"{self.base!r:.40} is no {self.kind}.", remedy)
        if self.base < 0:
            raise UsageError(f"A {self.kind} cannot be negative.", f"Write it like {self.example}.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the quantity that `text` names.

        Raises UsageError with the units or choices there are.

        Examples:
            >>> Rate.parse("10mbit").base
            10000000
            >>> str(Duration.parse("0.04s"))
            '40ms'
        """
        match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
        unit = (match[2] or cls.default_unit) if match else None
        number = _exact(match[1]) if match else None
        if not unit or number is None:
            raise cls._misspelt(text)
        factor = cls.units.get(unit) or cls.words.get(unit.lower())
        if factor is None:
            raise cls._doubted(text, number, unit)
        amount = number * factor
        if amount.denominator != 1:
            problem = f"'{text[:40]}' is finer than a {cls.kind} can be ({cls(1)})."
            raise UsageError(problem, f"Write it like {cls.example}.")
        return cls(int(amount))

    @classmethod
    def _doubted(cls, text: str, number: int | Fraction, unit: str) -> UsageError:
        """Return the choices, if the unit may mean several things, else all units."""
        question, factors = cls.doubtful.get(unit, ("", ()))
        from fractions import Fraction

        amounts = [number * Fraction(factor) for factor in factors]
        exact = [amount for amount in amounts if amount.denominator == 1]
        if not exact:
            return cls._misspelt(text)
        choices = " or ".join(str(cls(int(amount))) for amount in exact)
        return UsageError(f"{text.strip()[:40]}: {question}?", f"Write {choices}.")

    @classmethod
    def _misspelt(cls, text: str) -> UsageError:
        names = ", ".join(cls._printed())
        remedy = f"Write a number and one of {names}, such as {cls.example}."
        return UsageError(f"'{text[:40]}' is not a {cls.kind}.", remedy)

    @classmethod
    def _printed(cls) -> dict[str, int]:
        first: dict[int, str] = {}
        for unit, factor in cls.units.items():
            first.setdefault(factor, unit)
        return {unit: factor for factor, unit in first.items()}

    def __str__(self) -> str:
        for unit, factor in reversed(self._printed().items()):
            if self.base >= factor and self.base * 1000 % factor == 0:
                return f"{_decimal(self.base, factor)}{unit}"
        return f"{self.base}{next(iter(self._printed()))}"


def _exact(text: str) -> int | Fraction | None:
    """Return the number that a text is; None for one that is beyond any quantity."""
    if text.isdecimal():
        return int(text)
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > _FARTHEST:
        return None
    from fractions import Fraction  # late: guests read no texts, and it compiles its patterns first

    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def _decimal(base: int, factor: int) -> str:
    whole, rest = divmod(base, factor)
    return f"{base / factor:.3f}".rstrip("0") if rest else f"{whole}"


class Rate(Quantity):
    """Bits per second."""

    kind = "rate"
    example = "10mbit"
    units = {
        f"{letter}{unit}": factor
        for prefix, factor in DECIMAL.items()
        for letter in (prefix.lower(), prefix.upper())  # nobody means thousandths of a bit
        for unit in ("bit", "bit/s", "bits/s", "b/s")
    } | {f"{prefix.upper()}bps": factor for prefix, factor in DECIMAL.items() if prefix}
    words = {name: factor for name, factor in units.items() if "bit" in name}
    doubtful: ClassVar[Doubts] = {
        f"{letter}{unit}": (question, (factor, 8 * factor))
        for prefix, factor in DECIMAL.items()
        for question, letters, names in (
            ("bits or bytes", prefix.lower() + prefix.upper(), ("Bps", "B/s", "BPS", "B", "b", "")),
            ("bits, or bytes as for tc", prefix.lower(), ("bps",)),  # tc(8), UNITS
        )
        for letter in letters or ("",)
        for unit in names
    }


class Duration(Quantity):
    """Nanoseconds."""

    kind = "duration"
    example = "40ms"
    units = TIMES | {
        "\N{MICRO SIGN}s": TIMES["us"],
        "\N{GREEK SMALL LETTER MU}s": TIMES["us"],
        **{f"{prefix}sec{plural}": TIMES[f"{prefix}s"] for prefix in "num" for plural in ("", "s")},
    }
    words = {"sec": TIMES["s"], "secs": TIMES["s"], "min": TIMES["min"]}
    doubtful: ClassVar[Doubts] = {
        **dict.fromkeys(
            ("Ms", "MS", "mS", "Msec"),
            ("milliseconds or megaseconds", (TIMES["ms"], 10**6 * TIMES["s"])),
        ),
        **dict.fromkeys("mM", ("minutes or milliseconds", (TIMES["min"], TIMES["ms"]))),
    }

    def __add__(self, other: Duration) -> Duration:
        return Duration(self.base + other.base)

    def __sub__(self, other: Duration) -> Duration:
        return Duration(self.base - other.base)

    def __str__(self) -> str:  # 90s, not 1.5min: what iperf and ping print
        if not self.base:
            return "0s"
        second = TIMES["s"]
        if self.base >= 60 * second and self.base * 1000 % second == 0:
            return f"{_decimal(self.base, second)}s"
        return super().__str__()

    @property
    def seconds(self) -> float:
        return self.base / TIMES["s"]

    @property
    def milliseconds(self) -> float:
        return self.base / TIMES["ms"]


class Share(Quantity):
    """A share of a whole, in units of 10^-10: fine enough for netem's 32-bit probabilities."""

    kind = "percentage"
    example = "10%"
    units = {"%": 10**8}

    def __str__(self) -> str:
        return f"{self.base / self.units['%']:.8f}".rstrip("0").rstrip(".") + "%"

    @property
    def fraction(self) -> float:
        return self.base / 10**10


WHOLE = Share(10**10)


class Size(Quantity):
    """Bytes."""

    kind = "size"
    example = "128KiB"
    units = {
        "B": 1,
        "kB": DECIMAL["k"],
        "KiB": BINARY["Ki"],
        "K": BINARY["Ki"],
        "MB": DECIMAL["M"],
        "MiB": BINARY["Mi"],
        "M": BINARY["Mi"],
        "GB": DECIMAL["G"],
        "GiB": BINARY["Gi"],
        "G": BINARY["Gi"],
    }
    words = {"byte": 1, "bytes": 1}
    doubtful: ClassVar[Doubts] = {
        "KB": ("thousands or 1024s", (DECIMAL["k"], BINARY["Ki"])),
        **{  # iperf 2 reads small letters as powers of 1000, large ones as powers of 1024
            prefix.lower(): ("powers of 1000 or of 1024", (DECIMAL[prefix], binary))
            for prefix, binary in zip("kMG", list(BINARY.values())[1:], strict=True)
        },
        **{
            f"{letters}b": ("bits or bytes", (factor, f"{factor}/8"))
            for prefix, factor in (DECIMAL | BINARY).items()
            for letters in (prefix, prefix.lower(), prefix.upper())
        },
    }
    default_unit = "B"

    def __str__(self) -> str:  # 131072B says what iperf -w is given; a mixture of powers would not
        printed = reversed(self._printed().items())
        whole = ((unit, factor) for unit, factor in printed if self.base % factor == 0)
        unit, factor = next(whole) if self.base else ("B", 1)
        return f"{self.base // factor}{unit}"


class Frequency(Quantity):
    """Millionths of a hertz."""

    kind = "frequency"
    example = "0.16Hz"
    units = {"uHz": 1, "Hz": 10**6}
    words = {"hz": 10**6}


class Packets(Quantity):
    """A number of packets."""

    kind = "number of packets"
    example = "1000"
    units = {"packets": 1, "packet": 1, "p": 1}
    words = {"packets": 1, "packet": 1}
    default_unit = "packets"

    @classmethod
    def _printed(cls) -> dict[str, int]:
        return {cls.default_unit: 1}

    def __str__(self) -> str:
        return str(self.base)


class Count(Packets):
    """A number of things."""

    kind = "number"
    example = "10"
    units = {"times": 1}
    words = {"times": 1}
    default_unit = "times"
