"""Connections that never opened: without an answer, refused, left half open, or of a scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from analysis.analyze import short_numbers
from analysis.analyze.listed import ListedCapture

_SCAN = 10
"""Targets that one host tries to open within a capture before this counts as a scan."""
_NAMED = 3
_COLUMNS = (
    "syns_a2b",
    "syns_b2a",
    "total_packets_a2b",
    "total_packets_b2a",
    "resets_sent_a2b",
    "resets_sent_b2a",
    "actual_data_pkts_a2b",
    "actual_data_pkts_b2a",
)


class Attempt(StrEnum):
    """The ways in which a connection does not open; the values are words for a reader."""

    UNANSWERED = "never answered"
    REFUSED = "refused"
    HALF_OPEN = "answered and left half open"


@dataclass
class _Tried:
    """Attempts that one sentence describes. Of the targets hashes are kept, for memory."""

    kinds: Counter[Attempt] = field(default_factory=Counter)
    sources: set[str] = field(default_factory=set)
    hosts: set[int] = field(default_factory=set)
    targets: set[int] = field(default_factory=set)
    named: dict[str, None] = field(default_factory=dict)
    open: dict[str, None] = field(default_factory=dict)

    def add(self, kind: Attempt, source: str, host: str, port: int) -> None:
        self.kinds[kind] += 1
        self.sources.add(source)
        self.hosts.add(hash(host))
        self.targets.add(hash((host, port)))
        names = self.open if kind == Attempt.HALF_OPEN else self.named
        if len(names) <= _NAMED:
            names[short_numbers.end(host, port)] = None


def attempts(capture: ListedCapture) -> tuple[list[int], list[str]]:
    """Return the places of connections that opened, and sentences on the others."""
    kinds = [_kind(*row) for row in capture.values(*_COLUMNS)]
    opened = [at for at, kind in enumerate(kinds) if kind is None]
    if len(opened) == len(kinds):
        return opened, []
    return opened, list(_sentences(capture, kinds))


def _kind(
    syns: int, answers: int, sent: int, back: int, resets: int, refusals: int, *data: int
) -> Attempt | None:
    if not syns or any(data) or sent > syns + resets:
        return None
    if not back:
        return Attempt.UNANSWERED
    if back <= refusals:
        return Attempt.REFUSED
    return Attempt.HALF_OPEN if answers else None


def _sentences(capture: ListedCapture, kinds: list[Attempt | None]) -> Iterator[str]:
    hosts = capture.column("host_a")
    numbers = Counter(host for host, kind in zip(hosts, kinds, strict=True) if kind)
    scans = {host: _Tried() for host, number in numbers.items() if number >= _SCAN}
    others = {kind: _Tried() for kind in Attempt}
    ends = capture.values("host_a", "host_b", "port_b")
    for (source, host, port), kind in zip(ends, kinds, strict=True):
        if kind and source in scans:
            scans[source].add(kind, source, host, port)
    repeated = {source for source, tried in scans.items() if len(tried.targets) < _SCAN}
    ends = capture.values("host_a", "host_b", "port_b")
    for (source, host, port), kind in zip(ends, kinds, strict=True):
        if kind and (source not in scans or source in repeated):
            others[kind].add(kind, source, host, port)
    found = [(source, tried) for source, tried in scans.items() if source not in repeated]
    yield from (_scan(source, tried) for source, tried in found[:_NAMED])
    if rest := found[_NAMED:]:
        several = sum(tried.kinds.total() for _, tried in rest)
        yield f"Scans by {len(rest):,} more addresses: {several:,} connections."
    yield from (_other(kind, tried) for kind, tried in others.items() if tried.kinds)


def _scan(source: str, tried: _Tried) -> str:
    hosts = short_numbers.counted(len(tried.hosts), "address", "addresses")
    found = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tried.kinds.items()))
    targets = short_numbers.counted(len(tried.targets), "port")
    return f"Scan by {source} of {targets} at {hosts}: {found}{_listed(tried.open)}."


def _other(kind: Attempt, tried: _Tried) -> str:
    number = short_numbers.counted(tried.kinds.total(), "connection")
    source = "".join(tried.sources)
    if len(tried.sources) > 1:
        source = f"{len(tried.sources):,} addresses"
    names = tried.open if kind == Attempt.HALF_OPEN else tried.named
    targets = short_numbers.listed(list(names))
    if len(tried.targets) > _NAMED:
        targets = f"{len(tried.targets):,} ports{_listed(names)}"
    return f"{kind.capitalize()}: {number}, from {source} to {targets}."


def _listed(names: dict[str, None]) -> str:
    """Return the first names in brackets; empty without any."""
    shown = list(names)[:_NAMED]
    return f" ({', '.join([*shown, *(['...'] if len(names) > _NAMED else [])])})" if shown else ""
