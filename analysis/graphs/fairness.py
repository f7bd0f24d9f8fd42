"""How several connections share: rates, and Jain's index (Jain, Chiu, Hawe 1984, DEC-TR-301)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import Axis, Graph, Layer, graph
from analysis.graphs.throughput import RATE, goodput

BINS = 50
"""Equal times in which the index is taken."""
RATES = "Goodput of each connection of this capture. Lines that lie on each other are a fair share."
INDEX = (
    "The square of the sum of the rates by n times the sum of their squares, in each of {bins}"
    " equal times, over the connections that had begun and not ended."
)


def draw(several: Sequence[CaptureDirection]) -> tuple[Graph, Graph]:
    """The rates of `several` directions, one a connection, and their index over time."""
    rates = graph(
        "fairness",
        "Rates of all connections",
        RATES,
        RATE,
        *(goodput(direction, "connection", direction.name) for direction in several),
    )
    edges = _edges(several)
    layer = Layer(
        "jain",
        "stairs",
        edges[:-1],
        _index(np.array([_in_bins(direction, edges) for direction in several])),
    )
    return rates, graph(
        "jain",
        "Jain's fairness index",
        INDEX.format(bins=BINS),
        Axis("index", "", zero=True),
        layer,
        height=180,
    )


def larger(directions: Sequence[CaptureDirection]) -> list[CaptureDirection]:
    """Of each connection the direction that sent more."""
    best: dict[tuple[str, int], CaptureDirection] = {}
    for direction in directions:
        key = (direction.capture, direction.connection)
        best[key] = max(
            best.get(key, direction), direction, key=lambda candidate: candidate.payload
        )
    return list(best.values())


def _edges(several: Sequence[CaptureDirection]) -> NDArray[np.float64]:
    ends = (
        [time for direction in several for time in direction.answers.time[[0, -1]]]
        if several
        else [0, 1]
    )
    return np.linspace(min(ends), max(ends), BINS + 1)


def _in_bins(direction: CaptureDirection, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bytes acknowledged in each bin; NaN if the connection had not begun or had ended."""
    times, sums = direction.answers.time, direction.answers.highest
    at = np.searchsorted(times, edges, side="right") - 1
    grown = np.diff(np.where(at < 0, sums[0], sums[np.maximum(at, 0)]).astype(np.float64))
    return np.where((edges[1:] <= times[0]) | (edges[:-1] >= times[-1]), np.nan, grown)


def _index(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """(sum x)^2 / (n sum x^2) by column; 1 if nobody got anything."""
    count = np.maximum((~np.isnan(rates)).sum(axis=0), 1)
    squares = np.nansum(rates**2, axis=0)
    return np.where(
        squares > 0, np.nansum(rates, axis=0) ** 2 / np.maximum(count * squares, 1e-300), 1.0
    )
