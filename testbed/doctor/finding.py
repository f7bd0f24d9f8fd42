"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]
Testbed = Literal["virtual", "native", "both"]


@dataclass(frozen=True)
class Finding:
    """`what` was looked at, what `said` of it in one sentence, and the `remedy`: a command, or what
    else to do.

    A `warning` is to be known before a result is trusted, or is put right by the next command by
    itself. A `problem` keeps the testbed that it belongs to from running.
    """

    testbed: Testbed
    what: str
    state: State
    said: str
    remedy: str = ""


def judged(
    testbed: Testbed, what: str, good: bool, said: str, otherwise: str, remedy: str
) -> Finding:
    """`ok` with `said` where `good` holds, else a `problem` that says `otherwise`."""
    return (
        Finding(testbed, what, "ok", said)
        if good
        else Finding(testbed, what, "problem", otherwise, remedy)
    )
