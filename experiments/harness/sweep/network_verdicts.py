"""The verdicts on the networks of a sweep's points, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from experiments.harness.running.report import GOOD
from experiments.harness.sweep.point import Point, Record

NETWORK = "network"
"""The column of rows.csv, and the place in sweep.json and in records."""


def verdict_of(record: Record) -> str | None:
    """The verdict on a point's network (docs/verdict.md); None of one that was not judged."""
    verdict: str | None = record.get(NETWORK, {}).get("verdict")
    return verdict


def counted(records: Iterable[Record]) -> dict[str, int]:
    """How many points have each verdict."""
    return Counter(verdict for record in records if (verdict := verdict_of(record)))


def warnings(points: Iterable[tuple[Point, Record]], counts: Mapping[str, int]) -> list[str]:
    """A sentence if the network of any point is not good, with the worst and its reason.

    `counts` are those of the same points' verdicts.
    """
    doubtful = (pair for pair in points if verdict_of(pair[1]) not in (None, GOOD))
    worst = min(doubtful, key=lambda pair: verdict_of(pair[1]) or "", default=None)
    if worst is None:
        return []
    point, record = worst
    others = {verdict: number for verdict, number in counts.items() if verdict != GOOD}
    listed = ", ".join(f"{number:,} {verdict}" for verdict, number in others.items())
    return [
        f"The network of {sum(others.values()):,} of {sum(counts.values()):,} points is not good"
        f" ({listed}): see column {NETWORK} of rows.csv. For example {point.combination}, seed"
        f" {point.seed}: {record[NETWORK]['reasons'][0]}"
    ]
