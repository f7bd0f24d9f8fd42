"""The ratio of two rates for three congestion controls."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.study.law import law_study, law_targets
from experiments.study.published import Target

STUDY = law_study(__file__, 4.0, first_seed=101)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield the end of each law; BBR needs a deep queue."""
    return law_targets(__file__, {"cc": "reno"}, {"cc": "cubic"}, {"cc": "bbr", "queue": "400"})
