"""Figures and words as a reader wants them: few digits, the unit that fits, plurals and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import floor, isinf, isnan, log10
from statistics import median
from typing import TYPE_CHECKING

from topologies.units import DECIMAL, TIMES

if TYPE_CHECKING:
    from analysis.measures.metrics import Metric

NOTHING = "\N{EN DASH}"  # the cell of a table without a value
MINUS = "\N{MINUS SIGN}"
INFINITE = "\N{INFINITY}"
_MOST_DECIMALS = 6
_STEPS = [(prefix, step) for prefix, step in reversed(DECIMAL.items()) if prefix]


def counted(value: int, thing: str, several: str = "") -> str:
    """`1 packet`, `2 packets`; `several` is the plural if it is not made with an s."""
    return f"{value:,} {thing if value == 1 else several or f'{thing}s'}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def listed(several: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([*([", ".join(several[:-1])] if several[:-1] else []), *several[-1:]])


def end(host: str, port: int) -> str:
    """Return address and port, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def packets(first: int, last: int) -> str:
    """`packet 5`, `packets 5 to 9`."""
    return f"packets {first:,} to {last:,}" if last > first else f"packet {first:,}"


def size(octets: int) -> str:
    """Bytes, decimal: `1.23 MB`."""
    return _scaled(octets, "B")


def rate(bits: float | None) -> str:
    """Bits per second: `9.51 Mbit/s`."""
    return NOTHING if bits is None else _scaled(bits, "bit/s")


def seconds(nanoseconds: int) -> str:
    """Return a duration: `18.9 s`, `80.2 ms`, `41 us`."""
    for unit in ("s", "ms", "us"):
        if nanoseconds >= 0.9995 * TIMES[unit]:
            return f"{digits(nanoseconds / TIMES[unit])} {unit}"
    return f"{nanoseconds} ns" if nanoseconds else "0 s"


def milliseconds(nanoseconds: int | None) -> str:
    """Format a duration in ms, so that a column can be compared."""
    return NOTHING if nanoseconds is None else f"{digits(nanoseconds / TIMES['ms'])} ms"


def share(part: float, whole: float) -> str:
    """`12 %`; a share that is not zero is never written as 0."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.0f} %" if percent >= 10 or not percent else f"{max(percent, 0.01):.2g} %"


def _scaled(value: float, unit: str) -> str:
    for letter, step in _STEPS:
        if value >= step:
            return f"{digits(value / step)} {letter}{unit}"
    return f"{value:.0f} {unit}"


def digits(value: float) -> str:
    """Format with three digits, without trailing zeros or powers of ten."""
    if round(value, 1) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 or not value else f"{value:.6f}".rstrip("0")


def written(value: float) -> str:
    """Write whole numbers in full, others to three digits, and infinity as its sign."""
    if isinf(value):
        return INFINITE
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """Write the median, and the range if several values differ as written; a dash for no value."""
    if not values:
        return NOTHING
    low, high = written(min(values)), written(max(values))
    return written(median(values)) + (f" ({low} to {high})" if low != high else "")


_COUNTABLE = re.compile(
    r"(mean|median|slowest|fastest|least|greatest|sum|\d+th"
    r"|rate|time|completion|smoothed|congestion) "
)


def called(metric: Metric) -> str:
    """The metric's title inside a sentence, such as "the slowest second" or "Jain's index"."""
    first, title = metric.title.partition(" ")[0], metric.title[:1].lower() + metric.title[1:]
    return metric.title if first.endswith("'s") else "the " * bool(_COUNTABLE.match(title)) + title


def verb(metric: Metric) -> str:
    """is or are, after what `called` gives."""
    return "are" if any(re.search("[^s']s$", word) for word in metric.title.split()[:2]) else "is"


def with_unit(name: str, unit: str, how: str = " ({})") -> str:
    """Return the name with its unit, if it has one, such as "Goodput (kbit/s)"."""
    return name + how.format(unit) if unit else name


def in_a_row(seeds: Sequence[int], most: int | None = None) -> str:
    """Return seeds that follow each other by their ends, others one by one, at most `most`."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    left_out = most is not None and len(seeds) > most
    return ", ".join(map(str, seeds[:most])) + ", ..." * left_out


def decimals(low: float, high: float, neutral: float | None = None) -> int:
    """The decimals that show two digits of the width, and no end as `neutral` that is not."""
    places = max(0, min(_MOST_DECIMALS, 1 - floor(log10(high - low))))
    while (
        places < _MOST_DECIMALS
        and neutral in (round(low, places), round(high, places))
        and neutral not in (low, high)
    ):
        places += 1
    return places


def fixed(value: float, places: int) -> str:
    """A figure with that many decimals; what rounds to zero has no sign."""
    if isinf(value):
        return written(value)
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", MINUS)


def signed(value: float) -> str:
    """A figure to three digits, a dash for none."""
    return NOTHING if isnan(value) else written(value).replace("-", MINUS)


def probability(p: float) -> str:
    """`p` with its sign, such as "= 0.031" or "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.9995 else "= 1"
