"""The newest window of the peer. Its edge may go back.

RFC 9293, section 3.10.7.4, with SND.WL1 and SND.WL2; a window of 0 counts at once, as in
tcp_may_update_window of net/ipv4/tcp_input.c.
"""

from __future__ import annotations

from dataclasses import dataclass

_ENDLESS = 2**63 - 1


@dataclass(slots=True)
class WindowOffer:
    edge: int | None = None
    """The first byte that is not allowed, if a window was seen."""
    newest: tuple[int, int] = (0, 0)
    """Acknowledgement and sequence number of the segment that told it."""

    def update(self, sequence: int, acknowledgement: int, window: int) -> None:
        """A segment of the peer with its numbers and window."""
        edge, numbers = acknowledgement + window, (acknowledgement, sequence)
        if (
            self.edge is None
            or numbers > self.newest
            or (numbers == self.newest and (window == 0 or edge > self.edge))
        ):
            self.edge, self.newest = edge, numbers

    def third(self) -> int:
        """A third of the window, in bytes.

        Linux waits until so much of it is free, to send more at once (tcp_tso_should_defer of
        net/ipv4/tcp_output.c).
        """
        return 0 if self.edge is None else (self.edge - self.newest[0]) // 3

    def room(self, end: int) -> int:
        """Bytes between `end` and the edge."""
        return _ENDLESS if self.edge is None else self.edge - end
