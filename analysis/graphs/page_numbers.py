"""Numbers as short text: rounded, differences, bytes by weight, deflate, base64.

Differences of times, sequence numbers and ACKs are small and alike. With the bytes of one weight
beside each other, deflate finds that. page/decode.js is the way back.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.tabular.column_table import Whole

DIGITS = 6
"""Decimal digits that are kept of the greatest of numbers that are not whole."""


class PageColumns:
    """The columns of a page. Equal columns are stored once, since many graphs share their times."""

    def __init__(self) -> None:
        self.stored: list[dict[str, Any]] = []
        self._places: dict[tuple[float, bytes], int] = {}

    def put(self, numbers: Numbers, step: int = 1) -> int:
        """The place of `numbers`, rounded to multiples of `step`.

        Numbers that are not whole are rounded to six digits.
        """
        integers, kept = _rounded(numbers, step)
        key = (kept, integers.tobytes())
        if key not in self._places:
            self._places[key] = len(self.stored)
            self.stored.append({"length": len(integers), "step": kept, **_packed(integers)})
        return self._places[key]


def _rounded(numbers: Numbers, step: int) -> tuple[Whole, float]:
    if numbers.dtype.kind == "f":
        fine = 10.0 ** (np.ceil(np.log10(float(np.abs(numbers).max(initial=0)) or 1)) - DIGITS)
        return np.rint(numbers / fine).astype(np.int64), fine
    integers = numbers.astype(np.int64, copy=False)
    return (integers if step == 1 else (integers + step // 2) // step), step


def _packed(integers: Whole) -> dict[str, Any]:
    differences = np.diff(integers, prepend=0)
    unsigned = ((differences << 1) ^ (differences >> 63)).astype(
        "<u8"
    )  # the sign goes to the lowest bit
    width = max(1, -(-int(unsigned.max(initial=0)).bit_length() // 8))
    planes = unsigned.view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()
    return {"width": width, "data": base64.b64encode(zlib.compress(planes, 4)).decode("ascii")}
