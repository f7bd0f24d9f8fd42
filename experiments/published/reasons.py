"""Why rows differ, each with the run that shows it.

A study has its own reasons, as `REASONS` of its module `reasons`: patterns and texts. A row whose
reason is not known has none, and its page says so.
"""

from __future__ import annotations

import re

from experiments.definition.catalogue import part

COUNTS = (
    "With SACK today's settings know losses by time (RACK), and find also a lost retransmission"
    " without a time-out. Those of the time count three duplicate ACKs, and wait 200 ms or more"
    " where so many cannot come. "
)
"""A reason of studies on paths that lose packets at random."""
NO_FACK = (
    "Not tried: kernels of the time also took a segment for lost when one three places ahead was"
    " SACKed (FACK, the default before Linux 4.11), which needs fewer duplicate ACKs. "
)
"""What the settings of the time do not bring back."""


def reason(experiment: str, row: str) -> str:
    """Why the row, `where: quantity`, may differ; empty if nobody knows. The first match counts."""
    module = part(experiment, "reasons")
    pairs: tuple[tuple[str, str], ...] = module.REASONS if module else ()
    return next((text for pattern, text in pairs if re.search(pattern, row)), "")
