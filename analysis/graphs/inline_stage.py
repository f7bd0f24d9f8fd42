"""One frame of the stage as SVG, until its script draws: geometry is that of stage/strip.js."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal

import numpy as np

from analysis import rendering
from analysis.fmt import rate, seconds
from analysis.graphs import layers
from analysis.graphs.stored import FRAME_HEADERS, Columns, StagedTrial
from analysis.table import Truths, Whole

STAGE_WIDE, _HIGH = 1100, 158  # px
_LEFT, _RIGHT = 122, STAGE_WIDE - 136
_DATA, _ACK = 63, 126
_SLOT, _MOST_SLOTS = 13, 18
_FALLING = 0.3  # round trips that a lost packet is seen to fall


def first_repair(trials: Sequence[StagedTrial]) -> int:
    """Return when data is first sent again, in ns after the start; 0 if it never is."""
    repairs = [each.sent["sent"][_is_again(each.sent)] - each.start for each in trials]
    return min((int(times.min()) for times in repairs if len(times)), default=0)


def stage_frames(trials: Sequence[StagedTrial]) -> str:
    """Return a strip for each trial at the first retransmission of any."""
    time = first_repair(trials)
    return "".join(
        f'<p class="stage-name">{escape(each.label)}</p>'
        f'<svg class="first stage-first" viewBox="0 0 {STAGE_WIDE} {_HIGH}" role="img"'
        f' aria-label="One moment of the stage">{StageFrame(each, time).drawn()}</svg>'
        for each in trials
    )


def _is_again(sent: Columns) -> Truths:
    return np.asarray(np.isin(sent["kind"], list(layers.RETRANSMITTED)) & (sent["length"] > 0))


class StageFrame:
    """The packets of a trial on their way `time` ns after its start."""

    def __init__(self, staged: StagedTrial, time: int) -> None:
        self.staged, self.shape = staged, staged.shape
        self.time = time + staged.start
        self.sent, self.arrived = staged.sent["sent"], staged.sent["arrived"]
        self.fall = int(_FALLING * 2 * max((self.arrived - self.sent).max(initial=0), 1_000_000))
        self.delay = round(1e9 * self.shape.delay)
        self.join = self.sent + self.delay
        size = 8 * (staged.sent["length"] + FRAME_HEADERS)
        wire = 1e9 * size / self.shape.rate if self.shape.rate else 0 * size
        self.leave = np.maximum(self.join, self.arrived - wire.astype(np.int64))
        came = self.arrived >= 0
        joins, leaves = np.sort(self.join[came]), np.sort(self.leave[came])
        left = np.searchsorted(leaves, joins, side="right")
        waiting = int((np.arange(1, len(joins) + 1) - left).max(initial=0))
        self.slots = max(3, min(_MOST_SLOTS, waiting)) if self.shape.rate else 0
        room = _RIGHT - _LEFT - self.slots * _SLOT
        longest = float(wire.max(initial=1))
        part = min(0.85, max(0.25, self.delay / (self.delay + longest))) if self.shape.rate else 1
        self.queue = _LEFT + room * part
        self.wire = self.queue + self.slots * _SLOT

    def drawn(self, part: Literal["all", "still", "moving"] = "all") -> str:
        """Return the elements of an SVG."""
        context = {
            "frame": self,
            "part": part,
            "delay": seconds(self.delay),
            "rate": rate(self.shape.rate) if self.shape.rate else "",
            "colours": layers,
            "left": _LEFT,
            "right": _RIGHT,
            "data": _DATA,
            "ack": _ACK,
            "high": _HIGH,
        }
        return rendering.render("stage/frame.html", context)

    @property
    def waiting(self) -> int:
        return int(((self.join <= self.time) & (self.time < self.leave)).sum())

    @property
    def packets(self) -> Iterator[tuple[float, float, bool, bool]]:
        """Yield the place of each, and whether it is sent again or lost."""
        is_again, is_lost, rank = _is_again(self.staged.sent), self.arrived < 0, 0
        until = np.where(is_lost, self.sent + self.fall, self.arrived)
        for at in np.flatnonzero((self.sent <= self.time) & (self.time < until)):
            rank += bool(self.join[at] <= self.time < self.leave[at])
            yield *self._place(int(at), rank), bool(is_again[at]), bool(is_lost[at])

    def _place(self, at: int, rank: int) -> tuple[float, float]:
        time, sent, join, leave = self.time, self.sent[at], self.join[at], self.leave[at]
        if self.arrived[at] < 0:
            return _LEFT + 8, _DATA + (time - sent) / self.fall * (_ACK - _DATA - 14)
        if not self.shape.rate:
            passed = (time - sent) / max(1, self.arrived[at] - sent)
            return _LEFT + passed * (_RIGHT - _LEFT), _DATA
        if time < join:
            return _LEFT + (time - sent) / max(1, self.delay) * (self.queue - _LEFT), _DATA
        if time < leave:
            return self.wire - (min(rank, self.slots) - 0.5) * _SLOT, _DATA
        passed = (time - leave) / max(1, self.arrived[at] - leave)
        return self.wire + passed * (_RIGHT - self.wire), _DATA

    @property
    def acks(self) -> Iterator[tuple[float, bool]]:
        """Yield where each is along its way, and whether it has SACK blocks."""
        sent: Whole = self.staged.acks["sent"]
        arrived: Whole = self.staged.acks["arrived"]
        with_blocks = {*self.staged.blocks["ack"].tolist()}
        for at in np.flatnonzero((sent <= self.time) & (self.time < arrived)):
            passed = (self.time - sent[at]) / max(1, arrived[at] - sent[at])
            yield _RIGHT - passed * (_RIGHT - _LEFT), at in with_blocks
