"""How late the timers of a run in real time were, and how long its programs waited."""

from __future__ import annotations

from msgspec import Struct, field

from analysis.network.asked_network import TrialNetwork
from analysis.network.findings import CheckFinding, duration, outcome_of, percent, unmeasured
from analysis.records.json_reader import parse

KIND = "Timers and processors"
_FILE = "realtime.json"
LATE = 1_000_000
"""Nanoseconds: queues and delay lines are made of timers, and 1 ms is the shortest usual delay."""
WAITED = 0.05
"""Share of the run's time; beyond it, programs and not the network may have set the rate."""
FAR = 10.0
"""Tolerances."""


class LateTimers(Struct, frozen=True):
    """Seconds by which timers fired late."""

    one_in_a_hundred: float = 0.0


class RealTimeFile(Struct, frozen=True):
    """realtime.json of a seed (docs/run-directory.md)."""

    seconds: float | None = None
    waited_seconds: float = 0.0
    timer_late_seconds: LateTimers = field(default_factory=LateTimers)


def lateness(network: TrialNetwork) -> int:
    """Nanoseconds by which one timer in a hundred was late or later; 0 in virtual time."""
    if not network.real_time:
        return 0
    return max(0, round(1e9 * _read(network).timer_late_seconds.one_in_a_hundred))


def _read(network: TrialNetwork) -> RealTimeFile:
    return parse(RealTimeFile, network.trial.folder.parent / _FILE).record


def real_time(network: TrialNetwork) -> list[CheckFinding]:
    """Late timers and waiting programs of a run in real time; nothing for virtual time."""
    if not network.real_time:
        return []
    facts, place = _read(network), f"seed {network.trial.seed}"
    if not facts.seconds:
        return [unmeasured(KIND, place, "on time", f"it has no {_FILE}")]
    late, waited = lateness(network), facts.waited_seconds / facts.seconds
    excess = max(late / LATE, waited / WAITED)
    measured = f"1 in 100 later than {duration(late)}; {percent(waited)} of the time waiting"
    sentence = (
        f"One timer in a hundred was {duration(late)} late or later, and programs waited"
        f" {percent(waited)} of the time for a processor: packets left when the computer had"
        " time, not when the network would have let them."
    )
    asked = f"1 in 100 later than {duration(LATE)} at most; {percent(WAITED)}"
    return [CheckFinding(KIND, place, asked, measured, outcome_of(excess, FAR), sentence, excess)]
