"""The rate of Reno under random loss: two formulas, in segments a second.

`loss` is the number of loss events for each segment sent, 0 to 1. An event is what makes the sender
slow down once: a fast recovery or a time-out, however many segments it repairs. Where losses are
independent that is a little less than the share of segments lost.
"""

from math import inf, sqrt

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
    """The formula that also counts time-outs, known by its authors' letters as PFTK.

    `round_trip` and `timeout` (the first time-out of a series) in seconds; `window` is the largest
    one in segments; the rate in segments a second. `per_ack` (b) is how many segments have to be
    acknowledged for the growth that the paper gives one ACK: 2 for a sender that counts ACKs and a
    receiver that delays them, 1 for Linux, which counts the segments that an ACK covers.

    Padhye, Firoiu, Towsley, Kurose: Modeling TCP Throughput, SIGCOMM 1998, equation 30; RFC 5348,
    section 3.1, has it without the two minima.
    """
    halvings = round_trip * sqrt(2 * per_ack * loss / 3)
    waiting = timeout * min(1.0, 3 * sqrt(3 * per_ack * loss / 8)) * loss * (1 + 32 * loss**2)
    return min(window / round_trip, 1 / (halvings + waiting))
