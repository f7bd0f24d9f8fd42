"""Windows at the first loss with three queues, with pacing and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.pacing import TOLERANCE, PacingParameters
from experiments.study.law import law_study, law_targets
from experiments.study.published import Target
from topologies.units import Packets

STUDY = law_study(__file__, 5.0, first_seed=101)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield the window of each sender."""
    for queue in (15, 25, 35):
        (row,) = law_targets(__file__, {"queue": str(queue)})
        parameters = PacingParameters(queue=Packets(queue))
        windows = {"paced": parameters.paced_window, "burst": parameters.burst_window}
        for flow, window in windows.items():
            yield replace(
                row,
                where=f"{row.where}, {flow}",
                metric=parameters.metric(flow),
                published=float(f"{window:.4g}"),
                allowed=(window * (1 - TOLERANCE), window * (1 + TOLERANCE)),
            )
