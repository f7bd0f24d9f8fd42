"""Names that users type: looked up in a table, with a close match for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from topologies.foundation.errors import UsageError

T = TypeVar("T")


def named(problem: str, name: str, known: Mapping[str, T]) -> T:
    """Return the one of that name. Raises UsageError with all names and a close match."""
    if name in known:
        return known[name]
    choices = f"{close_to(name, known)}Choose from {', '.join(known)}." if known else "It has none."
    raise UsageError(f"{problem} '{name[:40]}'.", choices)


def close_to(name: str, known: Iterable[str]) -> str:
    """Return a question with the closest of the known names; empty if none is close."""
    close = get_close_matches(name, list(known), 1)
    return f"Do you mean {close[0]}? " if close else ""
