"""Waiting for descriptors of any number: select(2) fails for those above 1023."""

from __future__ import annotations

import math
import select


def is_ready(descriptor: int, seconds: float) -> bool:
    """Wait until there is something to read, or the other end is gone, for at most `seconds`."""
    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    return bool(watched.poll(math.ceil(1000 * seconds)))
