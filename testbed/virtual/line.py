"""The outer end of a guest's /dev/orders: a socket that the guest's kernel inherits.

A guest may send anything: a message is bytes of a limited length, and descriptors that come with
it are dropped (recv(2)).
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from testbed.guest.orders import LONGEST
from testbed.host.processes import is_ready
from topologies.errors import TcplabError

NUMBER = 8190
"""The descriptor in the guest's kernel (LINE of testbed/lab/kernel/confine.h)."""
_LOOK = 0.05  # seconds between two looks at the guest while it works
_PATIENCE = 60.0  # seconds until a guest reads an order: it does at once
_LENGTH = struct.Struct("<I")


class LineClosed(Exception):
    """The guest has ended."""


class LineSilent(Exception):
    """The guest has not answered in time."""


@dataclass(frozen=True)
class GuestLine:
    """Messages to and from a guest."""

    ours: socket.socket
    theirs: socket.socket

    def started(self) -> None:
        """Close the guest's end here, so that its end is heard."""
        self.theirs.close()

    def send(self, message: Any) -> None:
        """Send a message. Raises LineClosed; TcplabError for one that is too long."""
        content = json.dumps(message).encode()
        if len(content) > LONGEST:
            raise TcplabError(
                f"An order of {len(content):,} bytes is too long: {LONGEST:,} are the most.",
                "Hand over large data in a file.",
            )
        try:
            self.ours.sendall(_LENGTH.pack(len(content)) + content)
        except OSError as error:
            raise LineClosed from error

    def receive(self, patience: float, look: Callable[[], None]) -> Any:
        """Return the next message; `look` is called again and again until it is there.

        Raises LineClosed, LineSilent after `patience` seconds, and TcplabError for nonsense.
        """
        deadline = time.monotonic() + patience
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline, look))
        if length > LONGEST:
            raise TcplabError("The guest sent a message that is too long.", "It was ended.")
        content = self._exactly(length, deadline, look)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise TcplabError("The guest sent what is no message.", "It was ended.") from error

    def _exactly(self, count: int, deadline: float, look: Callable[[], None]) -> bytes:
        content = bytearray()
        while len(content) < count:
            if is_ready(self.ours.fileno(), _LOOK):
                content += self._piece(count - len(content))
                continue
            look()
            if time.monotonic() > deadline:
                raise LineSilent
        return bytes(content)

    def _piece(self, most: int) -> bytes:
        try:
            piece = self.ours.recv(most)
        except OSError as error:
            raise LineClosed from error
        if not piece:
            raise LineClosed
        return piece


@contextmanager
def guest_line() -> Iterator[GuestLine]:
    """Provide the two ends of a line."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_PATIENCE)
        yield GuestLine(ours, theirs)
