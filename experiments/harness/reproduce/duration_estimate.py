"""How long a reproduction may take, before it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.harness.published.target_points import combinations
from experiments.harness.published.targets import published_study, targets
from experiments.harness.sweep.point import Point


def estimated(missing: Sequence[Point], quick: bool, slots: int | None) -> str:
    """A sentence with the time of what is missing, by what each study says that a seed takes.

    A run on a kernel of the study's time is taken to cost as much as another. `slots` guests run at
    once; None if that is not known, as on a cluster.
    """
    if not missing:
        return "Everything is known: nothing has to be run."
    left = Counter(point.combination.spec.name for point in missing)
    costs = {name: published_study(name) for name in left}
    seconds = sum(
        study.processor_seconds[not quick] * left[name] / _runs_of_a_seed(name, quick)
        for name, study in costs.items()
        if study.processor_seconds
    )
    silent = sorted(name for name, study in costs.items() if not study.processor_seconds)
    known = [_sentence(seconds, slots)] if seconds else []
    unknown = [f"How long {', '.join(silent)} takes is not known."] if silent else []
    return " ".join(known + unknown)


def _runs_of_a_seed(name: str, quick: bool) -> int:
    """How many guests one seed of everything that the study published takes."""
    own = combinations(target for target in targets(quick) if target.experiment == name)
    return len({each.digest for both in own.values() for each in both.values()})


def _sentence(seconds: float, slots: int | None) -> str:
    whole = f"This takes about {_long(seconds)} of a processor"
    return f"{whole}, {_long(seconds / slots)} with {slots} at once." if slots else f"{whole}."


def _long(seconds: float) -> str:
    """Minutes up to two hours, then hours."""
    minutes = max(round(seconds / 60), 1)
    if minutes < 120:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / 3600:.1f} hours"
