"""How long a reproduction may take, before it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.published.targets import published_study
from experiments.sweep.point import Point


def estimated(
    points: Sequence[Point], missing: Sequence[Point], quick: bool, slots: int | None
) -> str:
    """A sentence with the time of what is missing, by what each study says that a seed takes.

    `slots` guests run at once; None if that is not known, as on a cluster.
    """
    if not missing:
        return "Everything is known: nothing has to be run."
    all_points, left = (
        Counter(point.combination.spec.name for point in some) for some in (points, missing)
    )
    costs = {name: published_study(name) for name in left}
    seconds = sum(
        study.processor_seconds[not quick] * study.seeds[not quick] * left[name] / all_points[name]
        for name, study in costs.items()
        if study.processor_seconds
    )
    silent = sorted(name for name, study in costs.items() if not study.processor_seconds)
    known = [_sentence(seconds, slots)] if seconds else []
    unknown = [f"How long {', '.join(silent)} takes is not known."] if silent else []
    return " ".join(known + unknown)


def _sentence(seconds: float, slots: int | None) -> str:
    whole = f"This takes about {_long(seconds)} of a processor"
    return f"{whole}, {_long(seconds / slots)} with {slots} at once." if slots else f"{whole}."


def _long(seconds: float) -> str:
    """Minutes up to two hours, then hours."""
    minutes = max(round(seconds / 60), 1)
    if minutes < 120:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / 3600:.1f} hours"
