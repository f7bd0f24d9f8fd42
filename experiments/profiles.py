"""Period profiles: sysctls that bring back what the kernels of a published study did, each with its reason.

A study measures every condition as today's kernel is (*today*) and under the profile of its time (*period*). Nothing
here is chosen for a published number without saying so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from experiments.spec import Condition, words
from topologies.errors import UsageError

PERIODS = ("today", "period")


@dataclass(frozen=True)
class Setting:
    """A sysctl, its value, and why the period had it."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Profile:
    """The settings of one time; `name` says which."""

    name: str
    settings: tuple[Setting, ...]


_NO_RACK = Setting(
    "net.ipv4.tcp_recovery",
    "0",
    "RACK, which takes time instead of duplicate ACKs for loss, came with Linux 4.4. From 6.17 on there is no other "
    "recovery, so on such a kernel this changes nothing.",
)
_NO_PROBES = Setting("net.ipv4.tcp_early_retrans", "0", "Tail loss probes came with Linux 3.10.")
_SMALL_WINDOWS = Setting(
    "net.ipv4.tcp_rmem",
    "4096 87380 1835008",
    "Chosen from the published rates: 31.3 Mbit/s at 300 ms and 17.7 at 500 ms are one window of 1.1 MB a round trip, "
    "which is what a receiver of that memory advertises.",
)

LINUX_2_6 = Profile("Linux 2.6.27 to 3.9", (_NO_RACK, _NO_PROBES, _SMALL_WINDOWS))
LINUX_3_10 = Profile("Linux 3.10", (_NO_RACK,))
LINUX_2_4 = Profile(
    "Linux 2.4",
    (
        _NO_RACK,
        _NO_PROBES,
        Setting("net.ipv4.tcp_congestion_control", "reno", "CUBIC came with 2.6.13 and was the default from 2.6.19."),
        Setting("net.ipv4.tcp_frto", "0", "F-RTO, which takes back a needless time-out, came with 2.4.21 and was off."),
        Setting("net.ipv4.tcp_rmem", "4096 87380 174760", "The default of 2.4: no window above 64 to 128 KiB."),
        Setting("net.ipv4.tcp_wmem", "4096 16384 131072", "The default of 2.4 for the sender's buffer."),
    ),
)


def under(profile: Profile, periods: str, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Each condition as it is, under the profile, or both, as `periods` says: today, period, or today+period.

    A setting of the condition itself stays. Raises UsageError for another word.
    """
    chosen = words(periods)
    if not set(chosen) <= set(PERIODS) or len(set(chosen)) < len(chosen):
        raise UsageError(f"'{periods[:40]}' is no period.", "Write today, period, or today+period.")
    return tuple(_in(word, profile, condition) for condition in conditions for word in chosen)


def _in(word: str, profile: Profile, condition: Condition) -> Condition:
    if word == "today":
        return condition
    own = dict(condition.sysctls)
    settings = {setting.name: setting.value for setting in profile.settings} | own
    return replace(
        condition, name=f"{condition.name}_period", label=f"{condition.label}, as {profile.name}",
        sysctls=tuple(settings.items()),
    )  # fmt: skip
