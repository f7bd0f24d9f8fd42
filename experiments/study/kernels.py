"""Kernels of studies: needs of a spec, and profiles that stand in for the kernels of other times.

A study measures every condition as *today*, and in the *period*, by the sysctls of a profile.
`path` is what the network had, as `--set` takes it, for `tcplab reproduce` only. Values that were
chosen to fit say so; `differs` compares a profile with a kernel of its time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from experiments.spec import (
    CONGESTION_CONTROLS,
    Condition,
    ExperimentSpec,
    Proof,
    unknown_congestion_control,
    words,
)
from testbed.guest.namespaces import CONGESTION_CONTROL
from testbed.lab.kernel import ACCURATE_ECN, DEFAULT, KernelVersion, kernel_version
from testbed.lab.kernel.choice import chosen
from topologies.errors import UsageError, close_to
from topologies.notation import toml_file

MODULES, REAL_TIME = "modules", "real time"  # needs of a spec with modules, and of a shell
_BY_INTERFACE = re.compile(r"net\.ipv[46]\.(conf|neigh)\.")


def refuse_what_is_lacking(spec: ExperimentSpec) -> None:
    """Raise UsageError, with the reason, if the spec's kernel lacks a need of the spec."""
    known = {*CONGESTION_CONTROLS, *(module.algorithm for module in spec.modules)}
    for condition in spec.conditions:
        algorithm = dict(condition.sysctls).get(CONGESTION_CONTROL)
        if algorithm is not None and algorithm not in known:
            raise unknown_congestion_control(algorithm)
    choice = chosen(spec.kernel)
    if choice.name == DEFAULT:
        _refuse_unknown_sysctls(spec)
    kernel = kernel_version(choice.series)
    for need in _needs(spec, kernel.always):
        if need in kernel.lacks:
            raise _lacking(spec.name, need, choice.name, kernel.lacks[need])


def _refuse_unknown_sysctls(spec: ExperimentSpec) -> None:
    """Raise UsageError for a sysctl that neither the lab kernel nor this computer has."""
    names = {name for condition in spec.conditions for name, _ in condition.sysctls}
    for name in sorted(names - lab_sysctls()):
        here = Path("/proc/sys", name.replace(".", "/"))
        if _BY_INTERFACE.match(name) or here.exists():  # a native run may ask for it
            continue
        remedy = close_to(name, lab_sysctls()).rstrip() or "ip-sysctl.rst of Linux lists them."
        raise UsageError(f"Linux {DEFAULT} has no sysctl {name[:60]}.", remedy)


@cache
def lab_sysctls() -> frozenset[str]:
    """Return the sysctls of the lab kernel's hosts but those of an interface."""
    return frozenset(Path(__file__).with_name("sysctls.txt").read_text().split())


def refuse_virtual_time_only(kernel: str) -> None:
    """Raise UsageError for a kernel without real time."""
    choice = chosen(kernel)
    lacks = kernel_version(choice.series).lacks
    if REAL_TIME in lacks:
        raise _lacking("A shell", REAL_TIME, choice.name, lacks[REAL_TIME])


def without_what_always_holds(spec: ExperimentSpec) -> ExperimentSpec:
    """Return the spec with proofs for settings that its kernel lacks and behaves by."""
    kernel = kernel_version(chosen(spec.kernel).series)
    conditions = tuple(_told(condition, kernel) for condition in spec.conditions)
    return replace(spec, conditions=conditions)


def _told(condition: Condition, kernel: KernelVersion) -> Condition:
    held = [pair for pair in condition.sysctls if pair in kernel.always.items()]
    proofs = (
        Proof("absent_setting", f"{name}={value}: {kernel.lacks[name]}") for name, value in held
    )
    settable = tuple(pair for pair in condition.sysctls if pair not in held)
    return replace(condition, sysctls=settable, proofs=(*condition.proofs, *proofs))


def _lacking(who: str, need: str, kernel: str, reason: str) -> UsageError:
    problem = f"{who} needs {need}, which Linux {kernel} lacks: {reason}"
    return UsageError(problem, "Choose another kernel, or do without.")


def _needs(spec: ExperimentSpec, always: Mapping[str, str]) -> Iterator[str]:
    """List what a spec needs of its kernel, but for settings that it `always` behaves by."""
    for condition in spec.conditions:
        for name, value in condition.sysctls:
            if always.get(name) != value:
                yield value if name == CONGESTION_CONTROL else name
    yield from (flow.congestion_control for flow in spec.flows if flow.congestion_control)
    yield from (ACCURATE_ECN for flow in spec.flows if flow.ecn == "accurate")
    for port in spec.topology.ports:
        if port.channel:
            yield port.channel.discipline
    if spec.modules:
        yield MODULES


PERIODS = ("today", "period")


@dataclass(frozen=True)
class PeriodSetting:
    """A sysctl or `--set` of a path, and the reason; kernels before `since` have it anyway."""

    name: str
    value: str
    reason: str
    since: str = ""


@dataclass(frozen=True)
class Profile:
    """The settings of the kernels of one time, such as "Linux 2.4" (its `name`).

    `path` holds settings of the published network that are no parameters of the study. `differs`
    describes measured differences from a kernel of the time; it is empty if that was not measured.
    """

    name: str
    settings: tuple[PeriodSetting, ...]
    path: tuple[PeriodSetting, ...] = ()
    differs: str = ""


def _profiles() -> tuple[dict[str, PeriodSetting], dict[str, Profile]]:
    content = toml_file(Path(__file__).with_name("profiles.toml"))
    settings = msgspec.convert(content["setting"], dict[str, PeriodSetting])
    for profile in content["profile"].values():
        for part in ("settings", "path"):
            profile[part] = tuple(settings[name] for name in profile[part])
    return settings, {name: Profile(**facts) for name, facts in content["profile"].items()}


_SETTINGS, _PROFILES = _profiles()
LINUX_2_4, LINUX_2_6 = _PROFILES["LINUX_2_4"], _PROFILES["LINUX_2_6"]
LINUX_2_6_32, LINUX_3_10 = _PROFILES["LINUX_2_6_32"], _PROFILES["LINUX_3_10"]
LINUX_2_6_FULL_LINE = replace(LINUX_2_6, path=(*LINUX_2_6.path, _SETTINGS["short_line"]))
DROPPER = _SETTINGS["dropper"].name  # the setting of the rate at which the dropping router sends on


def under(profile: Profile, periods: str, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return each condition today, in the period, or both. Raises UsageError."""
    chosen = words(periods)
    if not set(chosen) <= set(PERIODS) or len(set(chosen)) < len(chosen):
        raise UsageError(f"'{periods[:40]}' is no period.", "Write today, period, or today+period.")
    return tuple(_in(period, profile, condition) for condition in conditions for period in chosen)


def _in(period: str, profile: Profile, condition: Condition) -> Condition:
    if period == "today":
        return condition
    own = dict(condition.sysctls)
    settings = {setting.name: setting.value for setting in profile.settings} | own
    return replace(
        condition,
        name=f"{condition.name}_period",
        label=f"{condition.label}, settings for {profile.name}",
        sysctls=tuple(settings.items()),
    )
