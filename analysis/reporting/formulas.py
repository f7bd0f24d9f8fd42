"""Formulas of TCP: windows and round trips, Reno under random loss, and CUBIC's window.

Windows and queues are in segments of one size, times in seconds, rates in what the window is in.

`loss` is the number of loss events for each segment sent, 0 to 1. An event is what makes the sender
slow down once: a fast recovery or a time-out, however many segments it repairs. Where losses are
independent that is a little less than the share of segments lost.
"""

from dataclasses import dataclass
from math import cbrt, inf, sqrt

INITIAL_WINDOW = 10  # segments before the first ACK (RFC 6928; TCP_INIT_CWND in include/net/tcp.h)


def slow_start_segments(
    round_trip: int, initial: float = INITIAL_WINDOW, growth: float = 2.0
) -> float:
    """Segments of slow start's `round_trip`-th round trip (RFC 5681, 3.1; RFC 3465), from 1.

    Counting ACKs of a receiver that delays them gives a `growth` of 1.5.

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
    """A path: `round_trip` without a queue and `serialization` in seconds, `queue` in segments."""

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
    """Reno's windows from a halving to the next drop, a segment a round trip (RFC 5681, 3.1)."""
    return range((path.full_window + 1) // 2, path.full_window + 1)


def climbing_time(path: FilledPath) -> float:
    """The seconds of the climb: each round trip is as long as its window makes it."""
    return sum(map(path.round_trip_at, climb(path)))


def sawtooth_period(path: FilledPath) -> float:
    """Seconds between two halvings of a lone Reno flow: the climb and two full round trips.

    One until the ACKs tell of the drop, one until its repair is acknowledged (RFC 6582, 3.2).
    """
    return climbing_time(path) + 2 * path.round_trip_at(path.full_window + 1)


REGULAR = sqrt(3 / 2)
"""The constant of the square root law if every 1/p-th segment is lost and each one acknowledged.

1.22 in Mathis, Semke, Mahdavi, Ott: The Macroscopic Behavior of the TCP Congestion Avoidance
Algorithm, ACM CCR 27(3), 1997.
"""


def square_root_rate(loss: float, round_trip: float, constant: float = REGULAR) -> float:
    """The square root law, C / (RTT sqrt(p)): congestion avoidance alone, no time-outs.

    `round_trip` in seconds, the rate in segments a second (Mathis and others, 1997).

    >>> round(square_root_rate(loss=0.01, round_trip=0.1), 1)
    122.5
    """
    return constant / (round_trip * sqrt(loss))


def padhye_rate(
    loss: float, round_trip: float, timeout: float, per_ack: float = 1.0, window: float = inf
) -> float:
    """The rate (segments/s) with time-outs, PFTK; `window` is the largest, `timeout` the first.

    `per_ack` (b) segments are acknowledged for one growth: 1 for Linux, 2 for delayed ACKs.

    Padhye, Firoiu, Towsley, Kurose: Modeling TCP Throughput, SIGCOMM 1998, equation 30; RFC 5348,
    section 3.1, has it without the two minima.
    """
    halvings = round_trip * sqrt(2 * per_ack * loss / 3)
    waiting = timeout * min(1.0, 3 * sqrt(3 * per_ack * loss / 8)) * loss * (1 + 32 * loss**2)
    return min(window / round_trip, 1 / (halvings + waiting))


SCALE = 0.4
"""C in segments/s^3 (RFC 9438, section 5.1); Linux has 41 * 10 / 1024 (tcp_cubic.c, bic_scale)."""
REDUCTION = 0.7  # beta_cubic (RFC 9438, section 4.6); Linux has 717 / 1024


def plateau_time(largest: float, start: float) -> float:
    """K, seconds from the window `start` to `largest` (RFC 9438, 4.2, equation 2), at least 0."""
    return cbrt(max(0.0, largest - start) / SCALE)


def cubic_window(elapsed: float, largest: float, start: float) -> float:
    """W_cubic: the window `elapsed` seconds into the epoch (RFC 9438, section 4.2, equation 1).

    >>> cubic_window(0, largest=100, start=70)
    70.0
    """
    plateau = max(largest, start)
    return SCALE * (elapsed - plateau_time(largest, start)) ** 3 + plateau


def reno_friendly_growth() -> float:
    """alpha_cubic: segments a round trip by which W_est grows (RFC 9438, section 4.3)."""
    return 3 * (1 - REDUCTION) / (1 + REDUCTION)


def remembered_window(at_loss: float, before: float) -> float:
    """W_max after a loss at `at_loss`, after fast convergence (RFC 9438, section 4.7)."""
    return at_loss * (1 + REDUCTION) / 2 if at_loss < before else at_loss
