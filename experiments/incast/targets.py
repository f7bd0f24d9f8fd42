"""The time of the last block, with and without pauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.study.law import law_study, law_targets
from experiments.study.published import Target

STUDY = law_study(__file__, 2.0, first_seed=101)
_LEAST_TIMEOUT = 200.0  # ms


def targets(_quick: bool) -> Iterator[Target]:
    """Yield the time for each condition; that of the default is at least a time-out."""
    (short,) = law_targets(__file__, {})
    yield replace(short, where="time-out from 5 ms")
    yield replace(short, where="DCTCP", condition="dctcp")
    yield replace(
        short,
        where="time-out from 200 ms",
        condition="default",
        published=_LEAST_TIMEOUT,
        allowed=(_LEAST_TIMEOUT, None),
    )
