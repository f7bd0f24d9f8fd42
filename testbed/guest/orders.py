"""Messages between a guest and the program outside that started it, over /dev/orders.

To wait for a message is one call that blocks the guest's whole kernel on the host, so it takes no
virtual time and no processor time (testbed/lab/kernel/patches/orders.patch).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

DEVICE = Path("/dev/orders")
LONGEST = 16 << 20
"""Bytes of a message at most, in either direction."""
WAITING: dict[str, Any] = {"waiting": True}
"""What a guest says before it waits for its first order."""


class OrderLine:
    """The guest's end: `next` says something and returns the order that follows."""

    def __init__(self) -> None:
        self._device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)

    def say(self, message: Any) -> None:
        """Send a message. Raises OSError for one that is too long."""
        os.write(self._device, json.dumps(message).encode())

    def next(self, message: Any) -> Any:
        """Send a message, and return the next order."""
        self.say(message)
        return json.loads(os.read(self._device, LONGEST))
