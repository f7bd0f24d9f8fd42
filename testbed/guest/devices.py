"""Devices of the lab kernel: /dev/orders and /dev/start_line.

Over /dev/orders a guest exchanges messages with the program outside that started it. To wait for a
message is one call that blocks the guest's whole kernel on the host, so it takes no virtual time
and no processor time (testbed/lab/kernel/patches/orders.patch).

From the start line on, packets depend on spec, seed and kernel, not on what was before. How long a
guest prepares, and how many random numbers that takes, depends on all code that it runs. At the
line virtual time is one fixed instant, and the kernel's random numbers begin again from the seed
(testbed/lab/kernel/patches/start-line.patch). In real time there is no such device, and a line
does no more than its name says.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ORDERS = Path("/dev/orders")
LONGEST = 16 << 20
"""Bytes of a message at most, in either direction."""
WAITING: dict[str, Any] = {"waiting": True}
"""What a guest says before it waits for its first order."""


class OrderLine:
    """The guest's end: `next` says something and returns the order that follows."""

    def __init__(self) -> None:
        self._device = os.open(ORDERS, os.O_RDWR | os.O_CLOEXEC)

    def say(self, message: Any) -> None:
        """Send a message. Raises OSError for one that is too long."""
        os.write(self._device, json.dumps(message).encode())

    def next(self, message: Any) -> Any:
        """Send a message, and return the next order."""
        self.say(message)
        return json.loads(os.read(self._device, LONGEST))


START_LINE = Path("/dev/start_line")
FAR, NEAR = 65_536_000_000, 16_384_000_000
"""Nanoseconds since the boot: links are made at a multiple of the first, flows begin at the next
one of the second. A jiffy is 1 ms, so the kernel's wheel of timers is always in the same place."""
_NETWORK, _LINKS, _FLOWS = range(3)


@dataclass(frozen=True)
class StartLine:
    """The lines of a job, each with random numbers of its own.

    `clock` is the time when flows begin, in nanoseconds since 1970: always the same, so ports,
    sequence numbers and time stamps of two conditions are equal. A native job has no `device`.
    """

    seed: int = 0
    clock: int = 0
    device: Path | None = None

    def network(self) -> None:
        """Cross the line before hosts are made, whose random numbers no seed changes."""
        self._cross(0, _NETWORK, 0)

    def links(self) -> None:
        """Cross the line before links are shaped, at which queues draw their secrets."""
        self._cross(self.seed, _LINKS, FAR)

    def flows(self) -> None:
        """Cross the line when all is ready for the first packet."""
        if self._cross(self.seed, _FLOWS, NEAR):
            time.clock_settime_ns(time.CLOCK_REALTIME, self.clock)

    def _cross(self, seed: int, label: int, period: int) -> bool:
        """Begin again, at once or at the next multiple of `period`; return whether it did."""
        if self.device is None or not self.device.exists():
            return False
        device = os.open(self.device, os.O_RDWR | os.O_CLOEXEC)
        try:
            instant = (int(os.read(device, 32)) // period + 1) * period if period else 0
            os.write(device, f"{seed} {label} {instant}".encode())
        finally:
            os.close(device)
        return True
