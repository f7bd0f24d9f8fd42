"""Runs of published numbers: today, with the settings of their time, on its nearest kernel."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, Literal

import experiments
from experiments.spec import DEFAULT_KERNEL, ExperimentSpec
from experiments.study.catalogue import find
from experiments.study.grid import Combination, combination
from experiments.study.kernels import Profile, refuse_what_is_lacking
from experiments.study.published import Target, published_study, targets_of
from testbed.lab.kernel import all_series, as_numbers, kernel_version
from testbed.lab.ready import built_lab
from topologies.errors import TcplabError, UsageError

Time = Literal["today", "period", "period_kernel"]
TIMES: tuple[Time, ...] = ("today", "period", "period_kernel")
"""Today's kernel; the settings of the study's time; these settings on a kernel of that time."""
NO_KERNELS: Mapping[str, str] = {}


def combinations(
    targets: Iterable[Target],
    kernel: str = DEFAULT_KERNEL,
    period_kernels: Mapping[str, str] = NO_KERNELS,
) -> dict[Target, dict[Time, Combination]]:
    """Return the runs of each target; `period_kernels` are by study. Raises UsageError."""
    found: dict[Target, dict[Time, Combination]] = {}
    for target in targets:
        if target.is_run:
            own = period_kernels.get(target.experiment, "")
            found[target] = {}
            for time in (*times(target.experiment), *(TIMES[2:] if own else ())):
                chosen = _combination(target.experiment, tuple(asked(target, time, own).items()))
                spec = replace(chosen.spec, kernel=own if time == "period_kernel" else kernel)
                refuse_what_is_lacking(spec)
                found[target][time] = replace(chosen, spec=spec)
    return found


def times(experiment: str) -> tuple[Time, ...]:
    """Return when a study is measured on one kernel: without a profile as today only."""
    return TIMES[:2] if profile_of(experiment) else TIMES[:1]


def condition_of(target: Target, time: Time) -> str:
    has_profile = profile_of(target.experiment) is not None
    return target.period_condition if time != "today" and has_profile else target.condition


def asked(target: Target, time: Time, kernel: str = "") -> dict[str, str]:
    """Return the values of `--set` for a target: `then` over its own over those of the profile."""
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
    """Return the command that runs it with the settings of its time, if there are any."""
    chosen = asked(target, times(target.experiment)[-1])
    return f"./tcplab run {target.experiment} " + " ".join(
        f"--set {name}={value}" for name, value in chosen.items()
    )


def described(target: Target) -> dict[str, Any]:
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
        "allowed_low": target.allowed[0] if target.allowed else None,
        "allowed_high": target.allowed[1] if target.allowed else None,
        "why": target.why or None,
    }


def profile_of(experiment: str) -> Profile | None:
    module = import_module(f"{experiments.__name__}.{experiment}")
    profile: Profile | None = getattr(module, "PROFILE", None)
    return profile


@cache
def _combination(experiment: str, chosen: tuple[tuple[str, str], ...]) -> Combination:
    """Return the combination of some settings; several numbers of one run share it."""
    return combination(find(experiment), dict(chosen))


@dataclass(frozen=True)
class MatchingTarget:
    """A target and the run's conditions that match it; None for a condition that is missing."""

    target: Target
    today: str | None
    period: str | None

    def described(self) -> dict[str, Any]:
        """Return the row of a run's spec.json: the published value, and how to read the run's."""
        return described(self.target) | {
            "condition": self.today,
            "period_condition": self.period,
            "metric": self.target.metric,
            "flow": self.target.flow,
            "among": self.target.among,
            "scale": self.target.scale,
            "command": command(self.target),
        }


def published_with_run(spec: ExperimentSpec, quick: bool = False) -> list[MatchingTarget]:
    """Return published numbers, but no law's, that were measured with the spec's settings."""
    rows = (
        MatchingTarget(
            target,
            _shared(target.condition, both.get("today"), spec),
            _shared(target.period_condition, both.get("period"), spec),
        )
        for target, both in _of_study(spec.name, quick).items()
        if not target.allowed
    )
    return [row for row in rows if row.today or row.period]


@cache
def _of_study(name: str, quick: bool) -> dict[Target, dict[Time, Combination]]:
    """Return the runs of each target; a sweep needs them for each of its points."""
    return combinations(targets_of(name, quick))


def _shared(name: str, published: Combination | None, spec: ExperimentSpec) -> str | None:
    """Return the name of the condition if the run has an equal one over an equal network."""
    if published is None:
        return None
    theirs = published.spec
    if (theirs.topology, theirs.flows) != (spec.topology, spec.flows):
        return None
    shared = {condition.name for condition in {*theirs.conditions} & {*spec.conditions}}
    return name if name in shared and {*theirs.modules} <= {*spec.modules} else None


@dataclass(frozen=True)
class PeriodKernelChoice:
    """The kernel for a study as in its time; `series` is empty without one, as `remarks` say."""

    study: str
    series: str
    remarks: tuple[str, ...]


def period_kernels(targets: Iterable[Target]) -> dict[str, PeriodKernelChoice]:
    """Return for each study that names its kernel the nearest usable one that is built."""
    grouped: dict[str, list[Target]] = {}
    for target in targets:
        if target.is_run and published_study(target.experiment).kernel:
            grouped.setdefault(target.experiment, []).append(target)
    return {name: _nearest(name, group) for name, group in grouped.items()}


def _nearest(study: str, targets: list[Target]) -> PeriodKernelChoice:
    kernel, remarks = published_study(study).kernel, list[str]()
    for series in kernel.nearest if kernel else ():
        if not (obstacle := _obstacle(series, targets)):
            return PeriodKernelChoice(study, series, tuple(remarks))
        remarks.append(obstacle)
    return PeriodKernelChoice(study, "", tuple(remarks))


def _obstacle(series: str, targets: list[Target]) -> str:
    if series not in all_series():
        return f"This tcplab does not know Linux {series}."
    try:
        combinations(targets, period_kernels={target.experiment: series for target in targets})
    except UsageError as error:
        return f"Linux {series} is not for this study: {error.problem}"
    try:
        built_lab(series)
    except TcplabError:
        kernel = kernel_version(series)
        source = "" if kernel.package else f" --source linux-{kernel.version}.tar.xz"
        return f"Linux {series} is not built here: ./tcplab kernel build {series}{source}"
    return ""


def told(choices: Iterable[PeriodKernelChoice]) -> Iterator[str]:
    """Yield a line for each kernel that is used, and for each that cannot be."""
    lines: dict[str, list[str]] = {}
    for choice in choices:
        for remark in choice.remarks:
            lines.setdefault(remark, []).append(choice.study)
        taken = f"The kernel of its time is Linux {choice.series}." if choice.series else ""
        lines.setdefault(taken, []).append(choice.study)
    yield from (f"{', '.join(names)}: {line}" for line, names in lines.items() if line)
