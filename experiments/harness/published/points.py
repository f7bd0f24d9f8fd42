"""Runs of published numbers: today, with the settings of their time, on its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, Literal

import experiments
from analysis.measures.flow_rows import value_of
from analysis.records.row_columns import Row
from experiments.harness.definition.catalogue import catalogue, find
from experiments.harness.definition.grid import Combination, combination
from experiments.harness.definition.kernel_needs import refuse_what_is_lacking
from experiments.harness.definition.profiles import Profile
from experiments.harness.published.target import Target, targets_of
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


_Published = tuple[ExperimentSpec, Any]
"""What a target runs, and what of it matters."""


@dataclass(frozen=True)
class MatchingTarget:
    """A target, and the run's conditions that match it; None for one that the run does not have."""

    target: Target
    today: str | None
    period: str | None

    def described(self) -> dict[str, Any]:
        """The row of a run's spec.json: what was published, and how the run's value is taken."""
        return described(self.target) | {
            "condition": self.today,
            "period_condition": self.period,
            "metric": self.target.metric,
            "flow": self.target.flow,
            "among": self.target.among,
            "scale": self.target.scale,
            "command": command(self.target),
        }


def published_beside(spec: ExperimentSpec, quick: bool = False) -> list[MatchingTarget]:
    """One for each published number of the spec's study that was measured with its settings.

    Everything but captures and other conditions must be the same. `quick` compares with the short
    forms of the published runs.
    """
    measured = _what_matters(spec)
    rows = (
        MatchingTarget(
            target,
            _shared(target.condition, today, spec, measured),
            _shared(target.period_condition, period, spec, measured),
        )
        for target, today, period in _of_study(spec.name, quick)
    )
    return [row for row in rows if row.today or row.period]


@cache
def _of_study(name: str, quick: bool) -> list[tuple[Target, _Published | None, _Published | None]]:
    """Each target with what it runs today and then; a sweep asks this for all of its points."""
    chosen = combinations(targets_of(name, quick))
    return [
        (target, _published(both.get("today")), _published(both.get("period")))
        for target, both in chosen.items()
    ]


def _published(combination: Combination | None) -> _Published | None:
    if combination is None:
        return None
    return combination.spec, _what_matters(combination.spec)


def _shared(
    name: str, published: _Published | None, spec: ExperimentSpec, measured: Any
) -> str | None:
    """The name of the condition if the run has it, the same and over the same network."""
    if published is None or published[1] != measured:
        return None
    shared = set(published[0].conditions) & set(spec.conditions)
    with_modules = set(published[0].modules) <= set(spec.modules)
    return name if with_modules and name in {condition.name for condition in shared} else None


def _what_matters(spec: ExperimentSpec) -> Any:
    """What a run measures, without what is only watched and without the words that describe it."""
    return spec.topology, spec.flows


def taken(target: Target, condition: str | None, runs: Iterable[Iterable[Row]]) -> list[float]:
    """What the runs' rows of this condition give for a target, in its unit.

    A run that has no value is left out.
    """
    chosen = ([row for row in rows if row["condition"] == condition] for rows in runs)
    values = (value_of(rows, target.metric, target.flow, target.among) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]
