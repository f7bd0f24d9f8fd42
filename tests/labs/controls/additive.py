"""A textbook's answer: doubling until a loss, then one packet more in a round trip, and halving."""


class Control:
    window, cut, threshold = 2.0, 0.0, 1e9

    def acknowledged(self, now: float, round_trip: float, on_the_way: int) -> None:
        self.window += 1 if self.window < self.threshold else 1 / self.window

    def lost(self, now: float, sent: float) -> None:
        if sent > self.cut:
            self.cut = now
            self.window = self.threshold = max(2.0, self.window / 2)

    def silent(self, now: float) -> None:
        self.threshold, self.window = max(2.0, self.window / 2), 1.0
