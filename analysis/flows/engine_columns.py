"""What an engine hands over for a column, as a list of Python's own values.

For few rows nothing else must be loaded.

A column is (type, values, valid): NumPy's name of the type and the values' bytes, or "text" and a
list of strings; `valid` has a byte per value, 0 for a missing one, or is empty if none is missing.
If all rows have the same, an engine may hand over one value, or one byte of `valid`.
"""

from __future__ import annotations

from typing import Any

Handed = tuple[str, Any, bytes]

_CODES = {
    "uint64": "Q",
    "int64": "q",
    "uint32": "I",
    "uint16": "H",
    "uint8": "B",
    "bool": "?",
    "float64": "d",
}
"""NumPy's names of the types, and what the standard library's `struct` calls them."""


def listed(kind: str, values: Any, valid: bytes, rows: slice = slice(None)) -> list[Any]:
    """The column's values in some rows, or one that stands for all; None for a missing one."""
    numbers = values if kind == "text" else memoryview(values).cast(_CODES[kind])  # type: ignore[call-overload]
    cells = list(numbers if len(numbers) == 1 else numbers[rows])
    valid = valid if len(valid) == 1 else valid[rows]
    if 0 not in valid:
        return cells
    shared = len(cells) == 1
    return [cells[0 if shared else row] if present else None for row, present in enumerate(valid)]
