"""The law's share for two queues, and for one to sixteen rivals."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.study.law import law_study, law_targets
from experiments.study.published import Target

STUDY = law_study(__file__, 9.0, first_seed=101)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield a share for each queue and number of rivals."""
    points = (("2", "1"), ("8", "1"), ("8", "4"), ("8", "16"))
    return law_targets(
        __file__, *({"buffer": buffer, "rivals": rivals} for buffer, rivals in points)
    )
