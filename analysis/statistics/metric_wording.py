"""How figures and metrics are written in sentences."""

from __future__ import annotations

import re
from math import floor, isfinite, log10

from analysis.measures.metrics import Metric
from analysis.measures.results import MINUS, NOTHING, written

_MOST_DECIMALS = 6


def called(metric: Metric) -> str:
    """The metric's title inside a sentence; a name such as Jain's keeps its capital."""
    first = metric.title.partition(" ")[0]
    return metric.title if first.endswith("'s") else metric.title[:1].lower() + metric.title[1:]


def verb(metric: Metric) -> str:
    """is or are, after what `called` gives."""
    return "are" if any(re.search("[^s']s$", word) for word in metric.title.split()[:2]) else "is"


def labelled(metric: Metric, unit: str) -> str:
    """The metric's title with its unit, for axes and headings."""
    return f"{metric.title} ({unit})" if unit else metric.title


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
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", MINUS)


def signed(value: float) -> str:
    """A figure to three digits, a dash for none."""
    return written(value).replace("-", MINUS) if isfinite(value) else NOTHING


def probability(p: float) -> str:
    """`p` with its sign, such as "= 0.031" or "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.9995 else "= 1"
