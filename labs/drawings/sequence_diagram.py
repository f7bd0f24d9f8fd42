"""A sequence diagram: what two hosts send each other, time running down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from labs.drawings import svg
from topologies.foundation.errors import UsageError

_LEFT, _RIGHT = 40, svg.WIDTH - 40
_TOP, _ROW, _SLOPE = 48, 36, 12


@dataclass(frozen=True)
class Message:
    """A packet from a side, `lost` on its way or not; without a side, a note about waiting."""

    text: str
    side: Literal["left", "right", ""] = ""
    lost: bool = False


@dataclass(frozen=True)
class SequenceDiagram:
    """`alt` says in words what it shows. Messages stand below each other in their order."""

    name: str
    alt: str
    left: str
    right: str
    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        if not self.messages:
            raise UsageError(f"The drawing {self.name} shows nothing.", "Give it messages.")

    def drawn(self) -> str:
        """The drawing as SVG."""
        height = _TOP + _ROW * len(self.messages) + _SLOPE + 10
        rows = (
            part
            for number, message in enumerate(self.messages)
            for part in _message(message, _TOP + _ROW * number)
        )
        lives = (svg.line((x, 30), (x, height - 6), svg.PALE) for x in (_LEFT, _RIGHT))
        names = (
            svg.text((6, 20), self.left, "start"),
            svg.text((svg.WIDTH - 6, 20), self.right, "end"),
        )
        return svg.document(height, self.alt, [*lives, *names, *rows])


def _message(message: Message, y: float) -> Iterator[str]:
    """One row: an arrow with its words above it, or words alone."""
    middle = svg.WIDTH / 2
    if not message.side:
        yield svg.text((middle, y + 14), message.text, colour=svg.RED)
        return
    rightward = message.side == "left"
    start, end = (_LEFT, _RIGHT) if rightward else (_RIGHT, _LEFT)
    colour = svg.BLUE if rightward else svg.INK
    place = (middle, y + _SLOPE / 2)
    if message.lost:
        yield svg.line((start, y), place, colour)
        yield svg.cross(place)
    else:
        yield svg.line((start, y), (end, y + _SLOPE), colour)
        yield svg.arrow_head((end, y + _SLOPE), rightward, colour)
    yield svg.text((start + (12 if rightward else -12), y - 5), message.text, _anchor(rightward))


def _anchor(rightward: bool) -> str:
    return "start" if rightward else "end"
