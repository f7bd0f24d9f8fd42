"""Exchanges and transfers that ended, of all that were due: the others count as longest."""

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from math import inf, sqrt
from typing import Any

from analysis.fmt import share, written
from analysis.measures.results import FlowMeasures, RunResults
from analysis.records.spec_file import RunCondition
from analysis.statistics.comparisons import ENOUGH
from analysis.statistics.tests import normal_below
from topologies.units import Size

_KBYTE = 1024  # bytes of iperf's KByte
_LIKELY = 0.05  # probability below which two shares differ by more than chance


@dataclass(frozen=True)
class Endings:
    """Numbers of exchanges or transfers; `due` are those planned, or begun by users."""

    planned: int = 0
    begun: int = 0
    ended: int = 0
    failed: int = 0
    due: int = 0

    def __add__(self, other: "Endings") -> "Endings":
        return Endings(*(sum(pair) for pair in zip(astuple(self), astuple(other), strict=True)))

    @property
    def share(self) -> float:
        return self.ended / self.due

    def differs(self, other: "Endings") -> bool:
        """Return whether the shares differ by more than 1 % and chance (normal distribution)."""
        whole = (self.ended + other.ended) / (self.due + other.due)
        deviation = sqrt(whole * (1 - whole) * (1 / self.due + 1 / other.due))
        distance = abs(self.share - other.share)
        return distance > 0.01 and 2 * normal_below(-distance / deviation) < _LIKELY


def endings(results: RunResults, condition: RunCondition) -> Endings:
    trials = [each for each in results.measured if each.trial.condition == condition]
    return sum((_of(flow) for trial in trials for flow in trial.flows), Endings())


def _of(flow: FlowMeasures) -> Endings:
    if flow.flow.amount:
        is_sent = flow.number("client_seconds") not in (None, inf)
        if flow.flow.program:  # its client prints no summary
            wanted = Size.parse(str(flow.flow.amount)).base
            is_sent = _KBYTE * (flow.number("transfer_kbyte") or 0) >= wanted - 1
        return Endings(1, 1, int(is_sent), 0, 1)
    names = ("exchanges_planned", "exchanges_begun", "exchanges", "exchanges_failed")
    planned, begun, ended, failed = (int(flow.number(name) or 0) for name in names)
    return Endings(planned, begun, ended, failed, len(flow.taken))


def data(results: RunResults) -> list[dict[str, Any]]:
    """Return the numbers of each condition for programs; empty if none was due."""
    return [
        {"condition": condition.name, **asdict(found)} for condition, found in _conditions(results)
    ]


def sentence(results: RunResults) -> str:
    """Say how many ended if that is too few, or not the same everywhere; else empty."""
    counted = list(_conditions(results))
    every = [found for _, found in counted]
    few = any(found.share < ENOUGH for found in every)
    if not few and not any(one.differs(other) for one in every for other in every):
        return ""
    several = len(results.run.conditions) > 1
    parts = [
        f"{share(found.ended, found.due)} ({written(found.ended)} of {written(found.due)}"
        + (f", {written(found.failed)} failed" if found.failed else "")
        + ")"
        + (f" with {condition.label}" if several else "")
        for condition, found in counted
    ]
    return f"Not all ended: {', '.join(parts)}; the others count as the longest."


def died(results: RunResults) -> str:
    """Say which flow failed before its duration ended; a transfer's time is infinite."""
    dead = [
        [flow.flow.name for flow in trial.flows if flow.has_died and not flow.flow.amount]
        for trial in results.measured
    ]
    if not any(dead):
        return ""
    first, number = next(filter(None, dead))[0], sum(map(bool, dead))
    ended = f"({number} of {len(dead)} measurements)."
    return f"the connection of {first} failed before its duration ended {ended}"


def _conditions(results: RunResults) -> Iterator[tuple[RunCondition, Endings]]:
    for condition in results.run.conditions:
        if (found := endings(results, condition)).due:
            yield condition, found
