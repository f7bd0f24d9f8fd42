"""JSON text piece by piece, so that a table's rows are never all in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator


def json_pieces(value: object, indent: int | None = None, depth: int = 0) -> Iterator[str]:
    """Yield the text of `json.dumps(value, indent=indent, allow_nan=False)`.

    An iterator within `value` becomes a list, and each of its entries one piece.
    """
    inner = depth + 1
    if isinstance(value, dict):
        pairs = (
            (f"{json.dumps(key)}: ", json_pieces(each, indent, inner))
            for key, each in value.items()
        )
        yield from _enclosed("{}", pairs, indent, depth)
    elif isinstance(value, list):
        entries = (("", json_pieces(each, indent, inner)) for each in value)
        yield from _enclosed("[]", entries, indent, depth)
    elif isinstance(value, Iterator):
        entries = (("", iter([_whole(each, indent, inner)])) for each in value)
        yield from _enclosed("[]", entries, indent, depth)
    else:
        yield json.dumps(value, allow_nan=False)


def _whole(value: object, indent: int | None, depth: int) -> str:
    """The text of one entry; a line end within it is always one of the layout's."""
    return json.dumps(value, indent=indent, allow_nan=False).replace("\n", _line(indent, depth))


def _line(indent: int | None, depth: int) -> str:
    return "" if indent is None else "\n" + " " * (indent * depth)


def _enclosed(
    brackets: str, items: Iterable[tuple[str, Iterable[str]]], indent: int | None, depth: int
) -> Iterator[str]:
    """Yield brackets around items, each of which has a text before its own pieces."""
    between = brackets[0] + _line(indent, depth + 1)
    for before, pieces in items:
        yield between + before
        yield from pieces
        between = (", " if indent is None else ",") + _line(indent, depth + 1)
    is_empty = between[0] == brackets[0]
    yield brackets if is_empty else _line(indent, depth) + brackets[1]
