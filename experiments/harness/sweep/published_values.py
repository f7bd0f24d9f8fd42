"""The published numbers that a sweep's points were measured for, with what they gave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analysis.measures.metrics import Row
from experiments.harness.published.points import command, described, published_beside, taken
from experiments.harness.published.target import Target, published_study
from experiments.spec import ExperimentSpec

Cell = tuple[ExperimentSpec, Iterable[tuple[int, list[Row]]]]
"""What a combination runs, and each seed with the rows of its run, which is proved."""


def published_of(cells: Iterable[Cell]) -> dict[str, Any]:
    """The `published` of sweep.json: rows as a reproduction has them.

    The rows are of the short forms if nothing was run as published, and there are none if no point
    has the settings of a published number.
    """
    measured = list(cells)
    for quick in (False, True):
        rows = [row for row in _rows(measured, quick).values() if row["today"] or row["period"]]
        if rows:
            note = published_study(measured[0][0].name).short_form if quick else ""
            return {"note": note, "rows": rows}
    return {}


def _rows(cells: Iterable[Cell], quick: bool) -> dict[Target, dict[str, Any]]:
    """One row a target, whose two times may be points of their own, if their networks differ."""
    rows: dict[Target, dict[str, Any]] = {}
    for spec, runs in cells:
        matched = [
            (match, rows.setdefault(match.target, _empty(match.target)))
            for match in published_beside(spec, quick)
        ]
        seeds: set[int] = set()
        for seed, measured in runs if matched else ():
            seeds.add(seed)
            for match, row in matched:
                row["today"] += taken(match.target, match.today, [measured])
                row["period"] += taken(match.target, match.period, [measured])
        for _, row in matched:
            row["seeds"] = sorted({*row["seeds"], *seeds})
    return rows


def _empty(target: Target) -> dict[str, Any]:
    empty = {"today": [], "period": [], "seeds": [], "command": command(target)}
    return described(target) | empty
