"""A lazy answer: the window is larger, and as fixed as that of the template."""


class Control:
    window = 100.0

    def acknowledged(self, now: float, round_trip: float, on_the_way: int) -> None: ...

    def lost(self, now: float, sent: float) -> None: ...

    def silent(self, now: float) -> None: ...
