"""What the page of a published study's own sweep has besides: its table, its graph, its answers.

A sweep of anything else, or one that varies more than its study did, has none of this.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.answers import Answer
from analysis.reporting.run_pictures import Picture
from analysis.reporting.sweep_summary import PublishedOrder
from analysis.statistics.sweep_samples import SweepSamples
from experiments.sack_loss_sweep import loss_summary
from experiments.sack_loss_sweep.loss_figure import picture


@dataclass(frozen=True)
class SweepStudy:
    """`summary` is a table in the original's columns and order."""

    summary: PublishedOrder
    picture: Picture
    answers: tuple[Answer, ...]


def study_of(sweep: SweepRecord, samples: SweepSamples) -> SweepStudy | None:
    """The study that the sweep is, if it is one."""
    ours = loss_summary.ours(sweep, samples) if sweep.experiment == "sack_loss_sweep" else ()
    if not ours:
        return None
    published = loss_summary.published()
    return SweepStudy(
        loss_summary.summary(ours, published),
        picture(ours, published),
        loss_summary.answers(ours, published),
    )
