"""The round trip that each discipline promises."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.study.law import law_study, law_targets
from experiments.study.published import Target

STUDY = law_study(__file__, 10.0, first_seed=101)
_DISCIPLINES = ("fifo", "red", "pie", "codel", "fq_codel", "cake")


def targets(_quick: bool) -> Iterator[Target]:
    """Yield a round trip for each discipline."""
    return law_targets(__file__, *({"queueing": name} for name in _DISCIPLINES))
