"""Bytes between the user's terminal and one in the guest, through the run's folder.

The folder is the only thing that both sides always share: the lab kernel has no console that could
be a terminal. What is typed comes as small files with rising numbers, each renamed into its place
when it is whole; what is printed is appended to one file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TYPED, PRINTED = "typed", "terminal.out"
INTERVAL = 0.01
"""Seconds between two looks into the mailbox: half of the time until a key is answered."""


@dataclass
class Mailbox:
    """Either side's view of the folder `place`; each counts the files for itself."""

    place: Path
    number: int = 0
    read: int = 0

    def type(self, keys: bytes) -> None:
        """Outside: deliver keys."""
        (self.place / TYPED).mkdir(exist_ok=True)
        partial = self.place / TYPED / "partial"
        partial.write_bytes(keys)
        partial.rename(self.place / TYPED / str(self.number))
        self.number += 1

    def typed(self) -> bytes:
        """Inside: the keys of the next file; nothing if there is none yet."""
        file = self.place / TYPED / str(self.number)
        try:
            keys = file.read_bytes()
        except FileNotFoundError:
            return b""
        self.number += 1
        return keys

    def print(self, text: bytes) -> None:
        """Inside: deliver what was printed; it is on the other side's disk on return."""
        descriptor = os.open(
            self.place / PRINTED, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_SYNC, 0o644
        )
        try:
            os.write(descriptor, text)
        finally:
            os.close(descriptor)

    def printed(self) -> bytes:
        """Outside: what is new."""
        try:
            with (self.place / PRINTED).open("rb") as file:
                file.seek(self.read)
                text = file.read()
        except FileNotFoundError:
            return b""
        self.read += len(text)
        return text
