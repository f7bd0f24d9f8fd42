"""A reference: FAST (Wei, Jin, Low and Hegde, 2006) alone, and AIMD next to a greedy flow."""


class Control:
    """Keeps three packets in the queue, and none for a moment of each second.

    If the queue is not empty then, it is another flow's, which yields to losses only.
    """

    window, least = 10.0, 9.0
    cut, kept, blind, drained, dipped = 0.0, 0.0, 0.0, 0.0, 0.0
    greedy, starting, contested = False, True, 0.0

    def acknowledged(self, now: float, round_trip: float, on_the_way: int) -> None:
        self.least = min(self.least, round_trip)
        if self.kept:  # after an outage, the wait says nothing of the queue
            self.window, self.kept = self.kept, 0.0
            self.blind = self.drained = now + 0.2
        if now < self.blind:
            return
        self.look(now, round_trip - self.least)
        if self.starting:
            self.window += 1
        elif self.greedy:
            self.window += 2.5 / self.window
        else:
            queued = 0 if now - self.dipped < 2 * round_trip else 3
            aim = self.window * self.least / round_trip + queued
            self.window = max(2.0, self.window + (aim - self.window) / self.window)

    def look(self, now: float, waiting: float) -> None:
        """Find out whether another flow fills the queue."""
        if not self.drained or waiting < 0.015:
            self.drained, self.greedy = now, now < self.contested
        elif not self.greedy:
            self.starting = self.greedy = now - self.drained > 3.5
        if now - self.dipped > 1:
            self.dipped = now

    def lost(self, now: float, sent: float) -> None:
        if sent > self.cut:
            self.contested = 0.0 if self.starting else now + 8  # three packets fill no queue
            self.cut, self.starting = now, False
            self.window = max(2.0, 0.7 * self.window)

    def silent(self, now: float) -> None:
        self.kept, self.window = max(self.kept, self.window), 1.0
