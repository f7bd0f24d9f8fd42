"""What each target runs, today and under the profile of its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Literal

import experiments
from experiments.definition.catalogue import catalogue, find
from experiments.definition.grid import Combination, combination
from experiments.definition.kernel_needs import refuse_what_is_lacking
from experiments.definition.profiles import Profile
from experiments.published.target import Target
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec

Time = Literal["today", "period"]
TIMES: tuple[Time, ...] = ("today", "period")


def combinations(
    targets: Iterable[Target], kernel: str = DEFAULT_KERNEL
) -> dict[Target, dict[Time, Combination]]:
    """What each target runs, today and under the profile of its time; both may be in one.

    Without those that are not run. All run on `kernel`. Raises UsageError if that lacks something.
    """
    names = {named.name for named in catalogue()}
    return {
        target: {time: _on(kernel, each) for time, each in _combinations(target).items()}
        for target in targets
        if target.is_run and target.experiment in names
    }


def _on(kernel: str, combination: Combination) -> Combination:
    spec = replace(combination.spec, kernel=kernel)
    refuse_what_is_lacking(spec)
    return replace(combination, spec=spec)


def specs(targets: Iterable[Target], kernel: str = DEFAULT_KERNEL) -> Iterator[ExperimentSpec]:
    """The spec of everything that the targets run."""
    chosen = combinations(targets, kernel)
    return (combination.spec for both in chosen.values() for combination in both.values())


def _combinations(target: Target) -> dict[Time, Combination]:
    return {
        time: _combination(target.experiment, tuple(asked(target, time).items()))
        for time in times(target.experiment)
    }


def times(experiment: str) -> tuple[Time, ...]:
    """A study without a profile is measured as today only."""
    return TIMES if profile_of(experiment) else TIMES[:1]


def asked(target: Target, time: Time) -> dict[str, str]:
    """What `--set` is given for a target.

    Its own settings stay under a profile, but for what the row had `then`. If the network was
    another one, each time has a run of its own.
    """
    profile, settings = profile_of(target.experiment), dict(target.settings)
    if profile is None:
        return settings
    if not profile.path:
        return settings | {"period": "today+period"}
    if time == "today":
        return settings | {"period": time}
    path = {setting.name: setting.value for setting in profile.path}
    return path | settings | dict(target.then) | {"period": time}


def command(target: Target) -> str:
    """How to run it with the settings of its time, if it has such."""
    chosen = asked(target, times(target.experiment)[-1])
    return f"./tcplab run {target.experiment} " + " ".join(
        f"--set {name}={value}" for name, value in chosen.items()
    )


def described(target: Target) -> dict[str, Any]:
    """What a row of published and own values says of the published one."""
    return {
        "where": target.where,
        "series": target.series,
        "x": target.x,
        "quantity": target.quantity,
        "unit": target.unit,
        "published": target.published,
        "published_low": target.low,
        "published_high": target.high,
        "published_note": target.note,
        "mean_of": target.mean_of,
        "group": target.group,
        "needs": target.needs,
        "listed": target.listed,
        "why": target.why or None,
    }


def profile_of(experiment: str) -> Profile | None:
    """The profile that a study declares."""
    module = import_module(f"{experiments.__name__}.{experiment}")
    profile: Profile | None = getattr(module, "PROFILE", None)
    return profile


@cache
def _combination(experiment: str, chosen: tuple[tuple[str, str], ...]) -> Combination:
    """Several numbers of one run have one combination."""
    return combination(find(experiment), dict(chosen))
