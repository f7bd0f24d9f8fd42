"""Why rows differ, each with the run that shows it.

A study has its own reasons, as `REASONS` of its module `reasons`: patterns and texts. A row whose
reason is not known has none, and its page says so.
"""

from __future__ import annotations

import re

from experiments.definition.catalogue import part

COUNTS = (
    "With SACK today's settings know losses by time (RACK, RFC 8985), also that of a"
    " retransmission. Those of the time here count three duplicate ACKs (RFC 6675); if so few"
    " segments follow that three cannot come, or if a retransmission is lost, they wait for the"
    " time-out: 200 ms or more on Linux (TCP_RTO_MIN in include/net/tcp.h; RFC 6298 asks for 1 s). "
)
"""A reason of studies on paths that lose packets at random."""
NO_FACK = (
    "Not brought back is FACK, the default before Linux 4.11: it took a segment for lost if one"
    " more than three places ahead was SACKed, which needs fewer duplicate ACKs, and before 4.4 it"
    " found lost retransmissions without a time-out (tcp_mark_lost_retrans in"
    " net/ipv4/tcp_input.c). "
)
"""What the settings of the time lack of kernels of the time."""
NO_EARLY_RETRANSMIT = (
    "Nor is early retransmit (RFC 5827; Linux 3.5 to 4.10), which needs fewer than three duplicate"
    " ACKs if fewer than four segments are outstanding. "
)
"""The same of kernels that had tail loss probes already."""


def reason(experiment: str, row: str) -> str:
    """Why the row, `where: quantity`, may differ; empty if nobody knows. The first match counts."""
    module = part(experiment, "reasons")
    pairs: tuple[tuple[str, str], ...] = module.REASONS if module else ()
    return next((text for pattern, text in pairs if re.search(pattern, row)), "")
