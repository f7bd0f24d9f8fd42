"""Where the values of a swept quantity stand on an axis, labelled as the user wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from analysis.graphs.layers import Axis
from analysis.graphs.plain_layers import spans_decades

_MARGIN = 0.08
_CROWDED = 0.06
"""Share of the axis below which two values stand too close."""


@dataclass(frozen=True)
class SweptAxis:
    """The place of each value.

    `spacing` says how; "even" is for values that neither scale separates.
    """

    positions: tuple[float, ...]
    labels: tuple[str, ...]
    spacing: Literal["linear", "log", "even"]


def swept(labels: Sequence[str], amounts: Sequence[float | None]) -> SweptAxis:
    """Linear if that keeps values apart, else logarithmic if all are above zero, else even."""
    numbers = [amount for amount in amounts if amount is not None]
    names = tuple(labels)
    if len(numbers) < len(names) or len(set(numbers)) < len(numbers):
        return SweptAxis(tuple(map(float, range(len(names)))), names, "even")
    if len(numbers) == 1 or not (_crowded(numbers) or spans_decades(numbers)):
        return SweptAxis(tuple(numbers), names, "linear")
    if min(numbers) > 0:
        return SweptAxis(tuple(numbers), names, "log")
    return SweptAxis(tuple(map(float, range(len(names)))), names, "even")


def ticked(axis: SweptAxis, label: str) -> Axis:
    """The swept values as ticks, at their places."""
    is_log = axis.spacing == "log"
    places = np.array(axis.positions, dtype=float)
    scaled = np.log10(places) if is_log else places
    room = _MARGIN * float(np.ptp(scaled)) or 1.0
    low, high = float(scaled.min()) - room, float(scaled.max()) + room
    ends = (10**low, 10**high) if is_log else (low, high)
    ticks = tuple(sorted(zip(places.tolist(), axis.labels, strict=True)))
    return Axis(label, "", ticks=ticks, log=is_log, range=ends)


def _crowded(amounts: Sequence[float]) -> bool:
    ordered = sorted(amounts)
    nearest = min(second - first for first, second in pairwise(ordered))
    return nearest < _CROWDED * (ordered[-1] - ordered[0])
