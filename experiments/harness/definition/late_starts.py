"""Connections that begin later than the others and end with them.

A SYN that is lost, or that a server with a short backlog refuses, is sent again after a time-out:
after 3, 9 and 21 s if the first lasts 3 s (RFC 2988, section 2; TCP_TIMEOUT_INIT in
include/net/tcp.h of Linux before 3.1).
"""

from __future__ import annotations

import itertools
import re

from experiments.spec import words
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Duration

NONE = "none"
MEANING = "Connections that begin late and end with the others, such as 16x3s, or 9x9s+13x6s; none."
_GROUP = re.compile(r"(\d{1,4})x(.+)")


def late_starts(text: str, streams: int, duration: Duration) -> tuple[Duration, ...]:
    """When each of `streams` connections begins: the first ones as `text` says, the others at 0.

    Raises UsageError for another text, for more connections than there are, and for a start
    within the last second of `duration`.
    """
    starts = list(itertools.chain.from_iterable(map(_group, words(text) if text != NONE else ())))
    if len(starts) > streams:
        raise UsageError(
            f"{len(starts)} of {streams} connections cannot be late.", "Name at most all of them."
        )
    if late := [start for start in starts if start.seconds > duration.seconds - 1]:
        raise UsageError(
            f"A connection that begins after {max(late)} has no time left of {duration}.",
            "Let it begin a second before the end or earlier.",
        )
    return (*starts, *[Duration(0)] * (streams - len(starts)))


def _group(text: str) -> list[Duration]:
    match = _GROUP.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text[:40]}' names no late connections.", "Write it like 16x3s.")
    return [Duration.parse(match[2])] * int(match[1])
