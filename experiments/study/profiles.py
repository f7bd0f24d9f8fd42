"""Period profiles: settings that stand in for the kernel and network of a study, with reasons.

A study measures every condition as today's kernel is (*today*) and under the profile of its time
(*period*). Values that were chosen to fit a published number say so.

Settings do not make an old kernel: `tcplab reproduce` holds each profile against a kernel of its
time, if one is built, and `differs` says what was measured. What such a kernel lacks is set on it
as well, since it then does the same (`always` in its kernel.toml).

The sysctls are a condition's, so `period=today+period` measures both over one network. What the
network itself had is the profile's `path`: names and values as `--set` takes them. `tcplab
reproduce` sets them for *period* only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from experiments.spec import Condition, words
from topologies.errors import UsageError

PERIODS = ("today", "period")


@dataclass(frozen=True)
class PeriodSetting:
    """A sysctl, or in a path what `--set` takes; its value; and why the period had it.

    Kernels before `since` do so by themselves: on them it is not set.
    """

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
    """Read the settings and the profiles, which name their settings."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    settings = msgspec.convert(content["setting"], dict[str, PeriodSetting])
    for profile in content["profile"].values():
        for part in ("settings", "path"):
            profile[part] = tuple(settings[name] for name in profile[part])
    return settings, {name: Profile(**facts) for name, facts in content["profile"].items()}


_SETTINGS, _PROFILES = _profiles()
LINUX_2_4, LINUX_2_6 = _PROFILES["LINUX_2_4"], _PROFILES["LINUX_2_6"]
LINUX_2_6_32, LINUX_3_10 = _PROFILES["LINUX_2_6_32"], _PROFILES["LINUX_3_10"]
LINUX_2_6_FULL_LINE = replace(LINUX_2_6, path=(*LINUX_2_6.path, _SETTINGS["short_line"]))
DROPPER = _SETTINGS["dropper"].name
"""The setting of the rate at which the dropping router sends on."""


def under(profile: Profile, periods: str, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Each condition as it is (today), under the profile (period), or both (today+period).

    Settings of the condition itself stay. Raises UsageError for other `periods`.
    """
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
