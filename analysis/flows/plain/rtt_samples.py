"""Sums and histograms of times, in whole numbers: the same in any order and in any language."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import numpy.typing as npt

_PENDING = 1024
"""Times that are kept until they are counted together."""
_MOST = 2**128 - 1
"""The largest sum of squares, as in the compiled engine."""
_BITS = 6
"""Bits of a value that a bucket keeps: its width is at most 1/64 of its value."""


class RttSamples:
    """Count, extremes, sum and sum of squares of times in nanoseconds.

    tcptrace takes a smallest time of 0 for none (`compatible`).
    """

    __slots__ = ("_compatible", "_pending", "count", "max", "min", "squares", "sum")

    def __init__(self, compatible: bool = False) -> None:
        self._compatible = compatible
        self._pending: list[int] = []
        self.count = self.min = self.max = self.sum = self.squares = 0

    def add(self, time: int) -> None:
        self._pending.append(time)
        if len(self._pending) == _PENDING:
            self.settle()

    def settle(self) -> RttSamples:
        """Counts what was added, so that the fields are right."""
        times, self._pending = self._pending, []
        if times:
            self.min = self._smallest(times)
            self.max = max(times) if self.count == 0 else max(self.max, *times)
            self.count += len(times)
            self.sum += sum(times)
            self.squares = min(self.squares + sum(time * time for time in times), _MOST)
        return self

    def _smallest(self, times: list[int]) -> int:
        smallest = times[0] if self.count == 0 else self.min
        if not self._compatible:
            return min(smallest, *times)
        for time in times:
            if time < smallest or smallest == 0:
                smallest = time
        return smallest

    def mean(self) -> float:
        """Nanoseconds; tcptrace divides by a little more than the count."""
        if self.count == 0:
            return 0.0
        return float(self.sum) / (
            float(self.count) + 0.0001 if self._compatible else float(self.count)
        )

    def deviation(self) -> float:
        """Nanoseconds, for n - 1; 0 for fewer than three, as tcptrace has it."""
        if self.count <= 2:
            return 0.0
        count, total = float(self.count), float(self.sum)
        return math.sqrt(max((float(self.squares) - total * total / count) / (count - 1.0), 0.0))


class Histogram:
    """How often each bucket was met.

    The rule: below 128 each value is a bucket of its own; above, the highest bit and the six
    after it choose the bucket. It stands for its middle, `low + width / 2`.
    """

    __slots__ = ("_counts", "_pending")

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._pending: list[int] = []

    def add(self, time: int) -> None:
        self._pending.append(time)
        if len(self._pending) == _PENDING:
            self._settle()

    def _settle(self) -> None:
        times, self._pending = np.array(self._pending, np.int64), []
        buckets, counts = np.unique(_buckets(np.maximum(times, 0)), return_counts=True)
        for bucket, count in zip(buckets.tolist(), counts.tolist(), strict=True):
            self._counts[bucket] += count

    def total(self) -> int:
        return self._counts.total() + len(self._pending)

    def percentile(self, percent: int) -> int | None:
        """The value that `percent` of the times do not exceed.

        It is that of the bucket of the `ceil(percent * n / 100)`-th.
        """
        if self._pending:
            self._settle()
        if not self._counts:
            return None
        wanted, counted = (percent * self._counts.total() + 99) // 100, 0
        for bucket in sorted(self._counts):
            counted += self._counts[bucket]
            if counted >= wanted:
                return _middle(bucket)
        return None


def _buckets(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    length = np.zeros(len(values), np.int64)
    for bit in range(63):
        length += values >> bit != 0
    shift = np.maximum(length - (_BITS + 1), 0)
    buckets: npt.NDArray[np.int64] = (shift << _BITS) + (values >> shift)
    return buckets


def _middle(bucket: int) -> int:
    if bucket < 2 << _BITS:
        return bucket
    shift = (bucket >> _BITS) - 1
    low = bucket - (shift << _BITS) << shift
    return low + (1 << shift >> 1)
