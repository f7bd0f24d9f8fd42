"""The verdicts on the networks of a sweep's points, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from experiments.running.strictness import GOOD
from experiments.sweep.point import Point, Record

NETWORK = "network"
"""The column of rows.csv, and the place in sweep.json and in records."""


def verdict_of(record: Record) -> str | None:
    """The verdict on a point's network (docs/verdict.md); None of one that was not judged."""
    verdict: str | None = record.get(NETWORK, {}).get("verdict")
    return verdict


def counted(records: Iterable[Record]) -> dict[str, int]:
    """How many points have each verdict."""
    return Counter(verdict for record in records if (verdict := verdict_of(record)))


def warnings(points: Iterable[tuple[Point, Record]]) -> list[str]:
    """A sentence if the network of any point is not good, with the worst and its reason."""
    judged = [(point, record) for point, record in points if verdict_of(record)]
    doubtful = [(point, record) for point, record in judged if verdict_of(record) != GOOD]
    if not doubtful:
        return []
    counts = ", ".join(f"{number} {verdict}" for verdict, number in _others(doubtful).items())
    point, record = min(doubtful, key=lambda pair: verdict_of(pair[1]) or "")
    return [
        f"The network of {len(doubtful):,} of {len(judged):,} points is not good ({counts}): see"
        f" column {NETWORK} of rows.csv. For example {point.combination}, seed {point.seed}:"
        f" {record[NETWORK]['reasons'][0]}"
    ]


def _others(doubtful: Iterable[tuple[Point, Record]]) -> dict[str, int]:
    return counted(record for _, record in doubtful)
