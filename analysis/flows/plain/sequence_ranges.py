"""What the peer has selectively acknowledged above its ACK: few, ordered, separate ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter

_MOST = 256
"""More ranges are not remembered: the lowest is forgotten, and counts as not acknowledged."""
_LEFT, _RIGHT = itemgetter(0), itemgetter(1)


class SequenceRanges:
    """`total` is the bytes in all ranges."""

    __slots__ = ("list", "total")

    def __init__(self) -> None:
        self.list: list[tuple[int, int]] = []
        self.total = 0

    def top(self) -> int:
        """The end of the highest range; below every number if there is none."""
        return self.list[-1][1] if self.list else -(2**63)

    def add(self, left: int, right: int) -> None:
        first = bisect_left(self.list, left, key=_RIGHT)
        behind = bisect_right(self.list, right, key=_LEFT)
        if first < behind:
            left, right = min(left, self.list[first][0]), max(right, self.list[behind - 1][1])
        self.list[first : max(behind, first)] = [(left, right)]
        if len(self.list) > _MOST:
            del self.list[0]
        self._count()

    def acknowledge(self, ack: int) -> None:
        """Forgets what lies below `ack`, which needs no selective acknowledgement any more."""
        del self.list[: bisect_right(self.list, ack, key=_RIGHT)]
        if self.list and self.list[0][0] < ack:
            self.list[0] = (ack, self.list[0][1])
        self._count()

    def _count(self) -> None:
        self.total = sum(right - left for left, right in self.list)
