"""Why rows differ, each with the run that shows it.

A study has its own reasons, as `REASONS` of its module `reasons`: patterns and texts. A row whose
reason is not known has none, and its page says so.
"""

from __future__ import annotations

import re

from experiments.harness.definition.catalogue import part

COUNTS = (
    "With SACK today's settings know losses by time (RACK, RFC 8985), also that of a"
    " retransmission. Those of the time count three duplicate ACKs (RFC 6675) on Linux 7.2; if so"
    " few segments follow that three cannot come, or if a retransmission is lost, they wait for the"
    " time-out: 200 ms or more on Linux (TCP_RTO_MIN in include/net/tcp.h; RFC 6298 asks for 1 s). "
)
"""A reason of studies on paths that lose packets at random."""


def reason(experiment: str, row: str) -> str:
    """Why the row, `where: quantity`, may differ; empty if nobody knows. The first match counts."""
    module = part(experiment, "reasons")
    pairs: tuple[tuple[str, str], ...] = module.REASONS if module else ()
    return next((text for pattern, text in pairs if re.search(pattern, row)), "")
