"""The 95th percentile with a probe, and with a time-out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.study.law import law, law_study, law_targets
from experiments.study.published import Target

STUDY = law_study(__file__, 2.0, first_seed=101)
_ROUND_TRIP, _LEAST_TIMEOUT = 40.0, 200.0  # ms


def targets(_quick: bool) -> Iterator[Target]:
    """Yield the most with TLP and RACK, and the least with neither."""
    (row,) = law_targets(__file__, {})
    probed = 5 * _ROUND_TRIP
    most = probed * (1 + law(__file__).tolerance)
    least = 3 * _ROUND_TRIP + _LEAST_TIMEOUT
    yield replace(row, where="TLP and RACK", published=probed, allowed=(None, most))
    yield replace(row, where="neither", condition="without", published=least, allowed=(least, None))
