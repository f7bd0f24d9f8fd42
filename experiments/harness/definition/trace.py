"""Traces of packet opportunities, in the format of Mahimahi's mm-link, as rates of a link.

A line is a time in whole milliseconds at which the link can carry 1500 bytes of IP. The last line
is also the length after which the trace repeats. The link gets one rate for each 100 ms, which
loses the times within them. Without an opportunity it carries one packet until the outage's end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from experiments.spec import ExperimentSpec, LinkChange
from topologies.foundation.errors import UsageError
from topologies.foundation.units import TIMES, Duration, Rate
from topologies.topology_spec import SLOWEST, Link, Port

PACKAGED = ("slow_sine", "on_off")
"""Traces that come with tcplab; tests/unit/test_traces.py has their formulas."""
BIN = 100  # ms
_FRAME = 8 * 1514  # bits of an opportunity on Ethernet
_MOST_BINS = 10_000
_MOST_BYTES = 20_000_000
_LONGEST_STAMP = 12  # digits


@dataclass(frozen=True)
class LinkTrace:
    """The times of all opportunities, in milliseconds, in their order."""

    stamps: tuple[int, ...]

    @property
    def mean(self) -> Rate:
        """The rate in the long run."""
        return _rate(len(self.stamps), self.stamps[-1])

    def opportunities(self, until: int) -> int:
        """Count those up to a time, with the repetitions of the trace."""
        repeated, rest = divmod(until, self.stamps[-1])
        return repeated * len(self.stamps) + bisect_right(self.stamps, rest)

    def rates(self, bins: int) -> list[Rate]:
        """Return the rate of each bin.

        A packet keeps the rate at which it began: the rates of an outage let it end with the
        outage.
        """
        counted = [0, *(self.opportunities(BIN * number) for number in range(1, bins + 1))]
        rates, outage = [], 0
        for before, after in reversed(list(pairwise(counted))):
            outage = 0 if after > before else outage + 1
            rates.append(_rate(max(1, after - before), BIN * max(1, outage)))
        return rates[::-1]


def _rate(packets: int, milliseconds: int) -> Rate:
    return max(SLOWEST, Rate(1000 * _FRAME * packets // milliseconds))


def read_trace(name: str) -> LinkTrace:
    """Read a packaged trace or a file. Raises UsageError."""
    file = Path(__file__).with_name(f"{name}.txt") if name in PACKAGED else Path(name)
    shown = name[-80:]
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        remedy = f"Name a file of Mahimahi, or {' or '.join(PACKAGED)}."
        raise UsageError(f"Trace {shown}: {error.strerror}.", remedy) from None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"Trace {shown} has over {_MOST_BYTES:,} bytes.", "Shorten it.")
    stamps: list[int] = []
    for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
        stamps.append(_stamp(line.strip(), stamps[-1] if stamps else 0, f"{shown}:{number}"))
    if not stamps or not stamps[-1]:
        raise UsageError(
            f"Trace {shown} has no time above 0.", "Its last line is its length: 1000."
        )
    return LinkTrace(tuple(stamps))


def _stamp(text: str, before: int, place: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_STAMP):
        raise UsageError(
            f"{place}: '{text[:20]}' is no time in whole milliseconds.",
            "Write one time a line, such as 20.",
        )
    if int(text) < before:
        raise UsageError(f"{place}: {text} comes after {before}.", "Sort the times.")
    return int(text)


def with_trace(spec: ExperimentSpec, name: str) -> ExperimentSpec:
    """Return the spec whose slowest links towards receivers follow a trace until the flows end.

    The spec has the rates, and needs the file no more. Its topology has their mean, to which the
    links return at the end. Raises UsageError.
    """
    trace = read_trace(name)
    end = max(flow.end for flow in spec.flows)
    bins = -(-end.base // (BIN * TIMES["ms"]))
    if bins > _MOST_BINS:
        raise UsageError(
            f"A trace for {end} changes the link too often.",
            f"Let all flows end within {_at(_MOST_BINS)}.",
        )
    traced = {_slowest(spec, flow.sender, flow.receiver) for flow in spec.flows}
    if fixed := {port.name for port in traced} & {change.port for change in spec.changes}:
        raise UsageError(
            f"{min(fixed)} changes already, and is to follow a trace.", "Leave out one of both."
        )
    rates = [*trace.rates(bins), trace.mean]
    ports = sorted(traced, key=attrgetter("name"))
    changes = [change for port in ports for change in _changes(port, rates)]
    topology = replace(spec.topology, links=tuple(_links(spec, traced, trace.mean)))
    return replace(spec, topology=topology, changes=(*spec.changes, *changes))


def _at(number: int) -> Duration:
    return Duration(number * BIN * TIMES["ms"])


def _slowest(spec: ExperimentSpec, sender: str, receiver: str) -> Port:
    slowest = spec.topology.bottleneck(sender, receiver)
    return next(port for port in spec.topology.path(sender, receiver) if port.channel == slowest)


def _changes(port: Port, rates: list[Rate]) -> Iterator[LinkChange]:
    """Yield a change for each bin whose rate differs from that of the bin before."""
    assert port.channel
    last = None
    for number, rate in enumerate(rates):
        if rate != last:
            channel = replace(port.channel, bandwidth=rate)
            yield LinkChange(_at(number), port.name, channel)
        last = rate


def _links(spec: ExperimentSpec, traced: set[Port], mean: Rate) -> Iterator[Link]:
    """Yield each link, with the mean as rate of the ports that are traced."""
    ends = [
        replace(port.channel, bandwidth=mean) if port.channel and port in traced else port.channel
        for port in spec.topology.ports
    ]
    for link, rightward, leftward in zip(spec.topology.links, ends[::2], ends[1::2], strict=True):
        yield replace(link, rightward=rightward, leftward=leftward)
