"""Completion times of three sizes from four initial windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.initial_window import TOLERANCE, WINDOWS, InitialWindowParameters
from experiments.study.law import law_study, law_targets
from experiments.study.published import Target
from topologies.units import Count

STUDY = law_study(__file__, 4.5)
_SIZES = (10, 30, 100)  # segments


def targets(_quick: bool) -> Iterator[Target]:
    """Yield the time of the law for each size and initial window."""
    for size in _SIZES:
        (row,) = law_targets(__file__, {"segments": str(size)})
        parameters = InitialWindowParameters(segments=Count(size))
        for window in WINDOWS:
            time = parameters.completion_ms(window)
            yield replace(
                row,
                where=f"segments {size}, from {window}",
                condition=f"from_{window}",
                published=time,
                allowed=(time, time * (1 + TOLERANCE)),
            )
