"""Figures of runs and sweeps from Python, and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from analysis.graphs.paper_size import PaperSize
from analysis.pages.papers.figures import (
    KINDS,
    QUANTITIES,
    FigureRequest,
    Kind,
    PaperFigure,
    make_figure,
    require_ending,
)
from analysis.pages.papers.tables import PaperTable
from experiments.harness.reporting.studies import report_of

__all__ = ["KINDS", "figure", "require_ending"]


def figure(
    folder: Path | str,
    kind: str = "series",
    *,
    paper: str = "ieee",
    columns: int = 1,
    metric: str | None = None,
    quantities: Sequence[str] = (),
) -> PaperFigure | PaperTable:
    """Return a figure or a table of a run or sweep, which a notebook shows and `save` writes.

    `kind` is series, shares, cdf, box, grid or table; `paper` and `columns` give the width.
    Raises UsageError for a kind that the folder has no data for.
    """
    request = FigureRequest(
        Path(folder),
        cast(Kind, kind),
        PaperSize(paper, columns),
        metric,
        tuple(quantities) or QUANTITIES,
        report_of,
    )
    return make_figure(request)
