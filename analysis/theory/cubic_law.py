"""CUBIC's window as RFC 9438 has it: windows in segments, times in seconds."""

from math import cbrt

SCALE = 0.4
"""C in segments/s^3 (RFC 9438, section 5.1); Linux has 41 * 10 / 1024 (tcp_cubic.c, bic_scale)."""
REDUCTION = 0.7
"""beta_cubic (RFC 9438, section 4.6); Linux has 717 / 1024."""


def plateau_time(largest: float, start: float) -> float:
    """K: seconds from the beginning of an epoch, at the window `start`, until it is at `largest`.

    RFC 9438, section 4.2, equation 2. 0 if the epoch begins there.
    """
    return cbrt(max(0.0, largest - start) / SCALE)


def cubic_window(elapsed: float, largest: float, start: float) -> float:
    """W_cubic: the window `elapsed` seconds into the epoch (RFC 9438, section 4.2, equation 1).

    >>> cubic_window(0, largest=100, start=70)
    70.0
    """
    plateau = max(largest, start)
    return SCALE * (elapsed - plateau_time(largest, start)) ** 3 + plateau


def reno_friendly_growth() -> float:
    """alpha_cubic: by how many segments a round trip W_est grows (RFC 9438, section 4.3).

    So little makes up for the smaller reduction: on the average it has the window of Reno.
    """
    return 3 * (1 - REDUCTION) / (1 + REDUCTION)


def remembered_window(at_loss: float, before: float) -> float:
    """W_max after a loss at the window `at_loss`, when it was `before`.

    Fast convergence (RFC 9438, section 4.7): who loses below the window of last time makes room.
    """
    return at_loss * (1 + REDUCTION) / 2 if at_loss < before else at_loss
