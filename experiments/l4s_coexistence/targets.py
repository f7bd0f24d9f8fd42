"""The wait below which the scalable queue keeps its packets."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.study.law import law_study, law_targets
from experiments.study.published import Target

STUDY = law_study(__file__, 1.0)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield the wait with one flow of each kind."""
    return law_targets(__file__, {})
