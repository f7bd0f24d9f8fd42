"""Windows and round trips: slow start, a window that is the limit, and Reno's sawtooth.

Windows and queues are in segments of one size, times in seconds, rates in what the window is in.
"""

from dataclasses import dataclass

INITIAL_WINDOW = 10
"""Segments before the first ACK (RFC 6928; TCP_INIT_CWND in include/net/tcp.h)."""


def slow_start_segments(
    round_trip: int, initial: float = INITIAL_WINDOW, growth: float = 2.0
) -> float:
    """The segments that slow start sends in its `round_trip`-th round trip, the first being 1.

    Each acknowledged segment lets one more out, so the window doubles (RFC 5681, section 3.1, with
    bytes counted as in RFC 3465). A sender that counts ACKs of a receiver which delays them, one
    for two segments, has a `growth` of 1.5.

    >>> [slow_start_segments(n) for n in (1, 2, 3)]
    [10.0, 20.0, 40.0]
    """
    return initial * growth ** (round_trip - 1)


def window_limited_rate(window: float, round_trip: float, link: float) -> float:
    """One window in each round trip, and at most what the link carries (RFC 7323, section 1.1).

    >>> window_limited_rate(window=65536, round_trip=0.1, link=10e6)  # bytes, s, bytes/s
    655360.0
    """
    return min(link, window / round_trip)


@dataclass(frozen=True)
class FilledPath:
    """A path for one flow: `round_trip` without a queue, the time a segment takes on its line, and
    how many segments can wait for it.
    """

    round_trip: float
    serialization: float
    queue: float

    @property
    def product(self) -> float:
        """Segments that fill the path without a queue: the bandwidth-delay product."""
        return self.round_trip / self.serialization

    @property
    def full_window(self) -> int:
        """The largest window that path and queue hold; with one segment more, one is dropped."""
        return int(self.product + self.queue)

    def round_trip_at(self, window: float) -> float:
        """The round trip of a flow with that window: whatever the path cannot hold waits."""
        return max(self.round_trip, window * self.serialization)


def climb(path: FilledPath) -> range:
    """The windows at which Reno spends a round trip each, from a halving to the next drop.

    RFC 5681, section 3.1: in congestion avoidance the window grows by a segment a round trip. The
    drop comes at a window of one segment more than path and queue hold, of which half is left.
    """
    return range((path.full_window + 1) // 2, path.full_window + 1)


def climbing_time(path: FilledPath) -> float:
    """The seconds of the climb: each round trip is as long as its window makes it."""
    return sum(map(path.round_trip_at, climb(path)))


def sawtooth_period(path: FilledPath) -> float:
    """The time between two halvings of a lone Reno flow, in seconds.

    The climb, and two round trips with a full queue: one until the ACKs tell of the drop, one until
    the retransmission is acknowledged and the window grows again (RFC 6582, section 3.2).
    """
    return climbing_time(path) + 2 * path.round_trip_at(path.full_window + 1)
