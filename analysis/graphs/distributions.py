"""Distributions of values as layers: cumulative curves and boxes."""

from dataclasses import replace

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.layers import DOT, Axis, Layer, SeriesLook, level, marked, spread

MOST_STEPS = 400
"""Steps of a curve and dots of a box; of more values, evenly spread quantiles look the same."""
SHARE = Axis("share", "%", 100.0, zero=True, range=(0.0, 1.03))
_HALF, _DOTS = 0.17, 0.3
_BOX = SeriesLook("", DOT.colour, faint=True)
_STROKE = SeriesLook("", DOT.colour, width=1.2)


def half() -> Layer:
    """Return the line at which the medians are."""
    return level(0.5, "half of them: the median")


def curve(words: str, ordered: Numbers, series: int, has_mark: bool = True) -> list[Layer]:
    """Return the cumulative distribution of ordered values, with a mark on the median."""
    steps = fewer(ordered)
    shares = np.arange(1, len(steps) + 1) / len(steps)
    look = marked(series)
    x = np.append(steps[:1], steps).astype(np.float64)
    y = np.append([0.0], shares)
    line = replace(look, mark="", every=False)
    middle = np.array([float(np.median(ordered))])
    layers = [
        Layer(line, "stairs", x, y, words=words, series=series),
        Layer(look, "dots", middle, np.array([0.5]), words=words, series=series),
    ]
    return layers if has_mark else layers[:1]


def fewer(ordered: Numbers) -> Numbers:
    """Return the values, or evenly spread quantiles of many."""
    if len(ordered) <= MOST_STEPS:
        return ordered
    quantiles: Numbers = np.quantile(ordered, np.linspace(0, 1, MOST_STEPS))
    return quantiles


def box(values: Numbers, at: float, series: int, words: str) -> list[Layer]:
    """Return a box from quartile to quartile at the place `at`, with each value as a dot.

    Its whiskers end at the last value within 1.5 times the height of the box (Tukey).
    """
    low, middle, high = (float(each) for each in np.quantile(values, (0.25, 0.5, 0.75)))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    ends = [(float(inside.min()), low), (high, float(inside.max()))]
    ordered = np.sort(values).astype(np.float64)
    dots = fewer(ordered)
    across = at + _DOTS + 0.1 * spread(len(dots))
    order = np.argsort(across)
    side, heights = np.array([at - _HALF]), np.array([middle])
    return [
        _filled(at, low, high, series, words),
        _whiskers(at, ends, series, words),
        Layer(
            replace(_STROKE, width=3),
            "bars",
            side,
            heights,
            heights,
            side + 2 * _HALF,
            words=words,
            series=series,
        ),
        Layer(DOT, "dots", across[order], dots[order], words=words, series=series),
    ]


def _filled(at: float, low: float, high: float, series: int, words: str) -> Layer:
    left, bottom, top, right = (np.array([each]) for each in (at - _HALF, low, high, at + _HALF))
    return Layer(_BOX, "boxes", left, bottom, top, right, words=words, series=series)


def _whiskers(at: float, ends: list[tuple[float, float]], series: int, words: str) -> Layer:
    low, top = (np.array(column) for column in zip(*ends, strict=True))
    place = np.array([at, at])
    return Layer(_STROKE, "bars", place, low, top, place, words=words, series=series)
