"""Rows with equal keys: groups, and what came before a row in its group."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: Knuth, TAOCP 3, section 6.4


class RowGroups:
    """The rows of some arrays in groups: in each all that have the same values in every array.

    `order` has the rows group by group, those of a group in their own order; `begins` says where in
    `order` each group begins, and `sizes` how many rows it has. Groups of one array come in the
    order of its values.
    """

    def __init__(self, *keys: NDArray[Any]) -> None:
        numbers = [_as_numbers(key) for key in keys]
        self.order: Places = _together(numbers)
        self._is_first = _differs([key[self.order] for key in numbers])
        self.begins: Places = np.flatnonzero(self._is_first)
        self.sizes: Places = np.diff(self.begins, append=len(self.order))

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def rows(self) -> list[Places]:
        """The rows of each group."""
        return np.split(self.order, self.begins[1:]) if len(self) else []

    @property
    def first(self) -> Places:
        """The first row of each group."""
        return self.order[self.begins]

    def spread(self, of_group: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each group for each of its rows."""
        return self._by_row(np.repeat(of_group, self.sizes))

    @cached_property
    def numbers(self) -> Places:
        """The number of each row's group, from 0."""
        return self.spread(np.arange(len(self)))

    @property
    def turns(self) -> Places:
        """The number of rows that precede each row in its group."""
        return self._by_row(np.arange(len(self.order)) - self._begin)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of each group; truths are counted."""
        numbers = values.astype(np.int64) if values.dtype == np.bool_ else values
        return np.add.reduceat(numbers[self.order], self.begins) if len(self) else numbers

    def sums_so_far(self, values: NDArray[Any]) -> Places:
        """The sum of each row's group up to the row and with it."""
        ordered = values[self.order].astype(np.int64)
        sums = np.cumsum(ordered)
        return self._by_row(sums - (sums - ordered)[self._begin])

    def greatest_so_far(self, values: NDArray[Any]) -> NDArray[Any]:
        """The greatest value of each row's group up to the row and with it."""
        ordered = values[self.order]
        ranked = np.argsort(ordered, kind="stable")
        ranks = np.empty(len(ordered), np.int64)
        ranks[ranked] = np.arange(len(ordered))
        above = self.numbers[self.order] * len(ordered)  # no group's ranks reach the next group's
        return self._by_row(ordered[ranked[np.maximum.accumulate(ranks + above) - above]])

    @cached_property
    def previous(self) -> Places:
        """The row before each row in its group; -1 for the first."""
        return self._by_row(np.where(self._is_first, -1, np.roll(self.order, 1)))

    def last(self, fits: NDArray[np.bool_]) -> Places:
        """The last row that `fits` of each row's group, up to the row and with it; -1 for none."""
        places = np.maximum.accumulate(np.where(fits[self.order], np.arange(len(self.order)), -1))
        return self._by_row(np.where(places >= self._begin, self.order[places], -1))

    @cached_property
    def _begin(self) -> Places:
        """The begin in `order` of the group of each place of `order`."""
        return np.repeat(self.begins, self.sizes)

    def _by_row(self, ordered: NDArray[Any]) -> NDArray[Any]:
        values = np.empty_like(ordered)
        values[self.order] = ordered
        return values


def _as_numbers(key: NDArray[Any]) -> NDArray[Any]:
    """Text by its place in the alphabet: numbers are sorted in less time."""
    return np.unique(key.astype(str), return_inverse=True)[1] if key.dtype == np.object_ else key


def _together(keys: Sequence[NDArray[Any]]) -> Places:
    """The rows, equal ones side by side in their order.

    Several keys are mixed to one number, which is sorted instead of all of them. Different rows
    with one number would stand among each other: then all keys are sorted.
    """
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ key.astype(np.uint64)) * _ODD
    order = np.argsort(mixed, kind="stable")
    is_new = _differs([mixed[order]])
    return np.lexsort(keys) if (_differs([key[order] for key in keys]) > is_new).any() else order


def _differs(ordered: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """True for each row that differs from the row before it in any of the arrays."""
    differs = np.zeros(len(ordered[0]), np.bool_)
    differs[:1] = True
    for key in ordered:
        differs[1:] |= key[1:] != key[:-1]
    return differs
