"""What the page of a published study's own sweep has besides: its table, its graph, its answers.

A sweep of anything else, or one that varies more than its study did, has none of this.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.answers import Answer
from analysis.draw import Picture
from analysis.sweep.folder import Sweep
from analysis.sweep.samples import Samples
from analysis.sweep.studies import loss
from analysis.sweep.studies.loss_figure import picture
from analysis.sweep.studies.summary import Summary


@dataclass(frozen=True)
class Study:
    """`summary` is a table in the original's columns and order."""

    summary: Summary
    picture: Picture
    answers: tuple[Answer, ...]


def study_of(sweep: Sweep, samples: Samples) -> Study | None:
    """The study that the sweep is, if it is one."""
    ours = loss.ours(sweep, samples) if sweep.experiment == "sack_loss_sweep" else ()
    if not ours:
        return None
    published = loss.published()
    return Study(
        loss.summary(ours, published), picture(ours, published), loss.answers(ours, published)
    )
