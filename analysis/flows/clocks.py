"""How fast the clocks of two captures drift apart, by the delays of both directions.

A packet's delay by two clocks is its true delay and the clocks' difference, which grows with time
if one of them runs faster. The least delays of a direction follow it: the line below all delays
that is nearest to them, an edge of their lower convex hull (Moon, Skelly and Towsley, Estimation
and Removal of Clock Skew from Network Delay Measurements, INFOCOM 1999). In the other direction
the line has the opposite slope. A queue that grows bends one of them only, so a drift is believed
if both agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from analysis.flows.matching import DirectionMatch, shifted

_BUCKETS = 2000
"""Of time: only the least delay in each can be on the hull, but for the drift within a bucket."""
_FEWEST = 10
"""Packets that must have arrived in each direction."""
_ALIKE = 0.2
"""Both directions' slopes agree if they differ by at most this share of their mean."""
_NOTICED = 100_000
"""Nanoseconds that a drift must change delays by to matter."""
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClockDrift:
    """The far clock gains `skew` ns on the near one in each ns since `start`, by the near clock."""

    skew: float
    start: int
    duration: int
    """From the first to the last packet, in ns."""

    @property
    def greatest(self) -> int:
        """By how much it changes the delays in the end, in ns."""
        return round(abs(self.skew) * self.duration)

    def out_of(self, way: DirectionMatch, is_forward: bool) -> DirectionMatch:
        """The way without the drift; of the back way the arrivals are by the near clock."""
        near = way.packets.whole("time" if is_forward else "arrived")
        gained = np.rint((near - self.start) * self.skew).astype(np.int64)
        return shifted(way, -gained if is_forward else gained)


def clock_drift(
    forward: Sequence[DirectionMatch], back: Sequence[DirectionMatch]
) -> ClockDrift | None:
    """The drift that both directions show; None if they show none that matters.

    `forward` are the ways from the near capture to the far one, of all flows, and `back` those from
    there.
    """
    points = [_delays(forward, "time"), _delays(back, "arrived")]
    if min(len(times) for times, _ in points) < _FEWEST:
        return None
    start = min(times[0] for times, _ in points)
    duration = max(times[-1] for times, _ in points) - start
    slopes = [_slope(times - start, delays) for times, delays in points]
    ahead, behind = slopes[0], -slopes[1]
    skew = (ahead + behind) / 2
    drift = ClockDrift(skew, int(start), int(duration))
    agree = abs(ahead - behind) <= _ALIKE * abs(skew)
    return drift if agree and drift.greatest >= _NOTICED else None


def _delays(ways: Sequence[DirectionMatch], near: str) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The times by the near clock and the delays of all that arrived, in the order of time."""
    packets = [way.packets.rows(way.packets["arrived"].is_known) for way in ways]
    times, delays = (
        np.concatenate([table.whole(name) for table in packets]) for name in (near, "delay")
    )
    order = np.argsort(times, kind="stable")
    return times[order], delays[order].astype(np.float64)


def _slope(times: npt.NDArray[np.int64], delays: Numbers) -> float:
    """Of the line below all points whose distance to them is least in sum."""
    hull = _lower_hull(*_least(times, delays))
    middle = float(times.mean())
    for (before, low), (after, high) in pairwise(hull):
        if before <= middle <= after:
            return (high - low) / (after - before)
    return 0.0


def _least(times: npt.NDArray[np.int64], delays: Numbers) -> tuple[Numbers, Numbers]:
    """The point with the least delay of each of many equal spans of time."""
    width = max((int(times[-1]) - int(times[0])) // _BUCKETS, 1)
    buckets = (times - times[0]) // width
    order = np.lexsort((delays, buckets))
    first = order[np.unique(buckets[order], return_index=True)[1]]
    return times[first].astype(np.float64), delays[first]


def _lower_hull(times: Numbers, delays: Numbers) -> list[tuple[float, float]]:
    """Andrew's monotone chain."""
    hull: list[tuple[float, float]] = []
    for point in zip(times.tolist(), delays.tolist(), strict=True):
        while len(hull) > 1:
            (time, delay), (last, low) = hull[-2:]
            if (last - time) * (point[1] - delay) > (low - delay) * (point[0] - time):
                break  # it turns left
            hull.pop()
        hull.append(point)
    return hull
