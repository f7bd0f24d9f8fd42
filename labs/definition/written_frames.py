"""Evidence as people write it: a frame of a capture by its number, or by its time.

`1234`, `#1234`, `frame 1,234`, `No. 1234` are numbers as Wireshark counts, from 1. `12.345 s` and
`12345 ms` are times since the capture's first packet, as Wireshark shows them at first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labs.definition import written_numbers

_WORD = r"(?:frame|packet|line|no|number|nr|segment)"
_NUMBER = re.compile(rf"(?:{_WORD}\b\.?\s*)?#?\s*([0-9][0-9,' ]{{0,12}})")
_CLOSEST = 0.0005
"""Seconds by which a time may be off. A rough time would name one of many frames by chance."""


@dataclass(frozen=True)
class WrittenFrame:
    """A frame that was named: its number, or else its time in seconds."""

    number: int | None
    seconds: float = 0.0

    def among(self, frames: dict[int, float]) -> bool:
        """Whether it is among these frames, numbers with their times."""
        if self.number is not None:
            return self.number in frames
        return any(abs(time - self.seconds) <= _CLOSEST for time in frames.values())


def parse(text: str) -> WrittenFrame:
    """The frame that was named. Raises ValueError with a sentence that says what is wrong."""
    plain = " ".join(text.split()).rstrip(".").lower()
    if match := _NUMBER.fullmatch(plain):
        return WrittenFrame(int(re.sub(r"[,' ]", "", match[1])))
    try:
        number = written_numbers.parse(plain)
        seconds = number.within(written_numbers.unit_named("s"))
    except ValueError:
        seconds = -1.0
    if seconds < 0 or number.unit is None:
        problem = f"'{text[:40]}' names no frame"
        raise ValueError(f"{problem}; write its number, such as 1234, or its time with a unit")
    return WrittenFrame(None, seconds)
