"""What the points of a sweep warn of: a warning that many give is one sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from experiments.harness.sweep.point import Point, Record


def warnings(points: Iterable[tuple[Point, Record]]) -> list[str]:
    """Each warning once, in the order in which they come, with how many points give it."""
    givers: dict[str, list[Point]] = defaultdict(list)
    for point, record in points:
        for warning in record["warnings"]:
            # a record's own sentences begin so (experiments.harness.running.seed.judge)
            givers[warning.removeprefix(f"Seed {point.seed}")].append(point)
    return [_sentence(warning, of) for warning, of in givers.items()]


def _sentence(warning: str, givers: list[Point]) -> str:
    first = f"{givers[0].combination}, seed {givers[0].seed}"
    if len(givers) == 1:
        return f"{first[0].upper()}{first[1:]}{warning}"
    return f"{len(givers):,} points, the first {first}{warning}"
