"""Losses by a policer's token bucket, and by chance, in made captures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from analysis import flows
from analysis.analyze.causes import Cause
from analysis.analyze.listed import of_reading
from analysis.analyze.verdict import verdict
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.looking import analyze

FULL = 1448
TRIP = 0.08


@dataclass
class DrawnBucket:
    """A policer of 2 Mbit/s whose bucket holds 20 kB."""

    tokens: float = 20_000
    last: float = 0.0

    def drops(self, at: float) -> bool:
        self.tokens = min(self.tokens + (at - self.last) * 250_000, 20_000)
        self.last = at
        self.tokens -= 1500 if (passes := self.tokens >= 1500) else 0
        return not passes


def transfer(drops: Callable[[float], bool], seen_at_b: bool) -> MadeFlow:
    """Let a send 18 new segments each round trip; what was lost is sent again one later."""
    flow, again = MadeCapture().flow().open(rtt=TRIP, seen_at_b=seen_at_b), list[int]()
    for number in range(60):
        again = _round(flow, 1.0 + number * TRIP, again, drops, seen_at_b)
    return flow


def _round(
    flow: MadeFlow, at: float, again: list[int], drops: Callable[[float], bool], seen_at_b: bool
) -> list[int]:
    new = [max(flow.a.next, 1) + place * FULL for place in range(18)]
    missing = set(again)
    for place, first in enumerate([*again, *new]):
        now = at + place * 3e-4
        lost = drops(now)
        if not (lost and seen_at_b):
            flow.a.send(now, FULL, seq=first)
        (missing.add if lost else missing.discard)(first)
        if not lost:
            hole = min(missing, default=first + FULL)
            upto = min(hole, first + FULL) if first in new else hole
            blocks = [(hole + FULL, first + FULL)] if hole < first else []
            flow.b.ack(now + (1e-5 if seen_at_b else TRIP - 0.01), to=upto, sacks=blocks)
    flow.a.next = new[-1] + FULL
    return sorted(missing)


@pytest.mark.parametrize("seen_at_b", [False, True])
def test_a_token_bucket_is_told_from_chance(tmp_path: Path, seen_at_b: bool) -> None:
    draw = Random(3)
    for drops, cause in ((DrawnBucket().drops, Cause.POLICER), (_rarely(draw), Cause.LOSS)):
        path = transfer(drops, seen_at_b).capture.write(tmp_path)
        (facts,) = of_reading(flows.read(path, packets=True)).facts()
        assert facts.policing is not None
        assert (facts.policing > 1) == (cause == Cause.POLICER), facts.policing
        assert verdict(facts).cause == cause


def _rarely(draw: Random) -> Callable[[float], bool]:
    return lambda _at: draw.random() < 0.15


def test_the_terminal_reads_packets_again_for_a_policer(tmp_path: Path) -> None:
    path = transfer(DrawnBucket().drops, False).capture.write(tmp_path)
    (facts,) = of_reading(flows.read(path)).facts()
    assert facts.policing is None
    output = analyze(path).output
    assert "Slow because: a policer drops" in " ".join(output.split())
