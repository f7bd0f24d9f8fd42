"""The course of a flow over time, from samples of its socket: short enough to keep for all seeds.

The standard library only: a run has no use for NumPy.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from analysis.records.socket_samples import SocketSample


def _numbers() -> array[float]:
    return array("d")


@dataclass(frozen=True)
class FlowCourse:
    """A column for each quantity, a place for each sample.

    `times` are in seconds since 1970, `windows` in segments. `delays` are in ms: the smoothed round
    trip less the least of the flow, which is waiting in queues. `delivered` are bytes that arrived,
    also behind a gap: the count of segments, at the mean size of one. Acknowledged bytes would
    stand still at a gap, and leap above the link's rate when it is filled.
    """

    times: array[float] = field(default_factory=_numbers)
    delivered: array[float] = field(default_factory=_numbers)
    delays: array[float] = field(default_factory=_numbers)
    windows: array[float] = field(default_factory=_numbers)

    @classmethod
    def of(cls, samples: Sequence[SocketSample]) -> FlowCourse:
        """Return the course of a socket from its first measured round trip on."""
        known = [sample for sample in samples if sample.rtt > 0]
        least = min((s.least_rtt or s.rtt for s in known), default=0.0)
        return cls(*(array("d", column) for column in zip(*_rows(known, least), strict=True)))

    def __len__(self) -> int:
        return len(self.times)


def _rows(samples: Sequence[SocketSample], least: float) -> Iterator[tuple[float, ...]]:
    size = _bytes_of_segment(samples)
    for sample in samples:
        delay = 1000 * max(0.0, sample.rtt - least)
        yield sample.time, size * sample.delivered or sample.bytes_acked, delay, sample.cwnd


def _bytes_of_segment(samples: Sequence[SocketSample]) -> float:
    """Return the mean size of a delivered segment; 0 if the kernel does not count them."""
    last = samples[-1] if samples else None
    return last.bytes_acked / last.delivered if last and last.delivered else 0.0
