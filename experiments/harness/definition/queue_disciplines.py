"""The discipline of a queue, from the word that a user typed."""

from __future__ import annotations

from typing import get_args

from topologies.foundation.errors import UsageError
from topologies.topology_spec import Discipline

DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)


def discipline_from(word: str) -> Discipline:
    """The discipline of that name. Raises UsageError with the names there are."""
    if word not in DISCIPLINES:
        raise UsageError(
            f"There is no queueing discipline '{word[:40]}'.",
            f"Choose from {', '.join(DISCIPLINES)}.",
        )
    return word
