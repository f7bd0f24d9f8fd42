"""What each target runs: today, under the profile of its time, on the kernel of its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Literal

import experiments
from experiments.harness.definition.catalogue import catalogue, find
from experiments.harness.definition.grid import Combination, combination
from experiments.harness.definition.kernel_needs import refuse_what_is_lacking
from experiments.harness.definition.profiles import Profile
from experiments.harness.published.target import Target
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec
from testbed.lab.kernel.kernel_version import as_numbers

Time = Literal["today", "period", "period_kernel"]
TIMES: tuple[Time, ...] = ("today", "period", "period_kernel")
"""As today's kernel is; with the settings of the study's time; with these on a kernel of it."""
NO_KERNELS: Mapping[str, str] = {}


def combinations(
    targets: Iterable[Target],
    kernel: str = DEFAULT_KERNEL,
    period_kernels: Mapping[str, str] = NO_KERNELS,
) -> dict[Target, dict[Time, Combination]]:
    """What each target runs, today and in its time; today and the profile may be in one.

    Without those that are not run. `period_kernels` are the kernels of their time, by study; all
    else runs on `kernel`. Raises UsageError if a kernel lacks something.
    """
    names = {named.name for named in catalogue()}
    return {
        target: {
            time: _on(kernel if time != "period_kernel" else own, each)
            for time, each in _combinations(target, own).items()
        }
        for target in targets
        for own in [period_kernels.get(target.experiment, "")]
        if target.is_run and target.experiment in names
    }


def _on(kernel: str, combination: Combination) -> Combination:
    spec = replace(combination.spec, kernel=kernel)
    refuse_what_is_lacking(spec)
    return replace(combination, spec=spec)


def specs(
    targets: Iterable[Target],
    kernel: str = DEFAULT_KERNEL,
    period_kernels: Mapping[str, str] = NO_KERNELS,
) -> Iterator[ExperimentSpec]:
    """The spec of everything that the targets run."""
    chosen = combinations(targets, kernel, period_kernels)
    return (combination.spec for each in chosen.values() for combination in each.values())


def _combinations(target: Target, kernel: str) -> dict[Time, Combination]:
    return {
        time: _combination(target.experiment, tuple(asked(target, time, kernel).items()))
        for time in (*times(target.experiment), *([TIMES[2]] if kernel else []))
    }


def times(experiment: str) -> tuple[Time, ...]:
    """When a study is measured on one kernel: without a profile as today only."""
    return TIMES[:2] if profile_of(experiment) else TIMES[:1]


def condition_of(target: Target, time: Time) -> str:
    """The name of the condition that gives a target's value."""
    has_profile = profile_of(target.experiment) is not None
    return target.period_condition if time != "today" and has_profile else target.condition


def asked(target: Target, time: Time, kernel: str = "") -> dict[str, str]:
    """What `--set` is given for a target; `kernel` is the lab's one of its time.

    Its own settings stay under a profile, but for what the row had `then`. If the network was
    another one, each time has a run of its own.
    """
    profile, settings = profile_of(target.experiment), dict(target.settings)
    if profile is None:
        return settings
    if not profile.path and time != "period_kernel":
        return settings | {"period": "today+period"}
    if time == "today":
        return settings | {"period": "today"}
    path = {
        setting.name: setting.value
        for setting in profile.path
        if time == "period" or as_numbers(kernel) >= as_numbers(setting.since or "0")
    }
    return path | settings | dict(target.then) | {"period": "period"}


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
