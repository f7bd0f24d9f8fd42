"""The moments that --from and --to take."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from analysis.flows.reader import CaptureMoment
from topologies.foundation.errors import UsageError

_SECONDS = re.compile(r"\d+(\.\d+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 2**62 // 10**9
"""Seconds; times of captures end there."""


def moment(text: str) -> CaptureMoment:
    """Seconds since the first packet, as 12.5, or a time, as 2026-11-22T10:00:00.5+01:00.

    A time without a zone is in UTC. Raises UsageError.
    """
    if _SECONDS.fullmatch(text) and float(text) < _LARGEST:
        whole, _, fraction = text.partition(".")
        return CaptureMoment(int(whole) * 10**9 + int(fraction[:9].ljust(9, "0")))
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"'{text}' is no moment.",
            "Give seconds since the first packet, such as 12.5, or a time such as"
            " 2026-11-22T10:00:00.",
        ) from error
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return CaptureMoment(since // timedelta(microseconds=1) * 1000, is_relative=False)
