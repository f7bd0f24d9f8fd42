"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]
Testbed = Literal["virtual", "native", "both"]


@dataclass(frozen=True)
class Finding:
    """The result of one check. These are the names of its fields in `doctor --json`.

    `what` names the thing that was looked at, `said` is the result in one sentence, and `remedy` is
    a command, or what else to do. A `warning` should be known before a result is trusted, or is put
    right by the next command. A `problem` keeps the testbed that it belongs to from running.
    """

    testbed: Testbed
    what: str
    state: State
    said: str
    remedy: str = ""


def judged(
    testbed: Testbed, what: str, good: bool, said: str, otherwise: str, remedy: str
) -> Finding:
    """`ok` with the sentence `said` if `good`, else a `problem` with the sentence `otherwise`."""
    return (
        Finding(testbed, what, "ok", said)
        if good
        else Finding(testbed, what, "problem", otherwise, remedy)
    )
