"""How measured costs grow: a straight line through them, and words for its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# A line is called straight if it misses no measured point by more than this share of it.
_CLOSE = 0.15
_FACTORS = {"s": (1.0, "s"), "m": (1e3, "ms"), "u": (1e6, "us")}


@dataclass(frozen=True)
class CostLine:
    """`fixed`: the cost of size 0; `each`: of one more; `misfit`: the worst relative deviation."""

    fixed: float
    each: float
    misfit: float


def fit(points: Sequence[tuple[float, float]]) -> CostLine:
    """The line through (size, cost) with the smallest relative deviations (weighted least squares).

    Costs span three orders of magnitude, and the smallest determine the fixed part. Raises
    ValueError for fewer than two sizes or for costs that are not positive.
    """
    if len({size for size, _cost in points}) < 2 or min(cost for _size, cost in points) <= 0:
        raise ValueError("a line needs two sizes, and positive costs")
    weights = [1 / cost**2 for _size, cost in points]
    total = sum(weights)
    middle = (
        sum(weight * size for weight, (size, _cost) in zip(weights, points, strict=True)) / total
    )
    height = (
        sum(weight * cost for weight, (_size, cost) in zip(weights, points, strict=True)) / total
    )
    along = sum(
        weight * (size - middle) ** 2 for weight, (size, _cost) in zip(weights, points, strict=True)
    )
    both = sum(
        w * (size - middle) * (cost - height)
        for w, (size, cost) in zip(weights, points, strict=True)
    )
    each = both / along
    fixed = height - each * middle
    return CostLine(
        fixed, each, max(abs(fixed + each * size - cost) / cost for size, cost in points)
    )


def duration(seconds: float) -> str:
    """Seconds in the unit that keeps the number readable, to two digits."""
    factor, unit = (
        _FACTORS["s"]
        if abs(seconds) >= 1
        else _FACTORS["m"]
        if abs(seconds) >= 1e-3
        else _FACTORS["u"]
    )
    return f"{two_digits(seconds * factor)} {unit}"


def size(octets: float) -> str:
    """Bytes as megabytes, or kilobytes below one, to two digits."""
    return (
        f"{two_digits(octets / 1e6)} MB" if abs(octets) >= 1e6 else f"{two_digits(octets / 1e3)} kB"
    )


def two_digits(number: float) -> str:
    if number == 0:
        return "0"
    places = max(0, 1 - math.floor(math.log10(abs(number))))
    return f"{number:.{places}f}"


def exactness(line: CostLine) -> str:
    """How far the straight line can be trusted, as the end of a sentence."""
    if line.misfit <= _CLOSE:
        return f"a straight line to {100 * line.misfit:.0f} %"
    return f"not a straight line: it misses a point by {100 * line.misfit:.0f} %"
