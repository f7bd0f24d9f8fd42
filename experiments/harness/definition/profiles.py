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

from collections.abc import Iterable
from dataclasses import dataclass, replace

from experiments.spec import Condition, words
from topologies.foundation.errors import UsageError

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


_NO_RACK = PeriodSetting(
    "net.ipv4.tcp_recovery",
    "0",
    "RACK, which takes time instead of duplicate ACKs for loss, came with Linux 4.4. With 0 the lab"
    " kernel counts duplicate ACKs (RFC 6675), as Linux did before 6.17; a later kernel without our"
    " change cannot.",
)
_NO_PROBES = PeriodSetting(
    "net.ipv4.tcp_early_retrans", "0", "Tail loss probes came with Linux 3.10."
)
_SMALL_WINDOWS = PeriodSetting(
    "net.ipv4.tcp_rmem",
    "4096 87380 1835008",
    "Chosen from the published rates: 31.3 Mbit/s at 300 ms and 17.7 at 500 ms are one window of"
    " 1.1 MB a round trip, which is what a receiver of that memory advertises.",
)

_ROUND_TRIP = PeriodSetting(
    "topology.links.1.rightward.delay",
    "200us",
    "The way back of a 100 Mbit/s laboratory with a router; no text states its round trip. A full"
    " frame takes 0.12 ms out of the sender's own port, which has no rate here, and interrupts add"
    " as much. Chosen for that, not from a rate: experiments/cubic_vs_reno/README.md shows what"
    " none to 2 ms would give.",
)
_ETHERNET = PeriodSetting(
    "bw",
    "98.44mbit",
    "100 Mbit/s on the wire: a frame of 1514 bytes takes 24 more there (check sum, preamble, gap"
    " between frames), which tc does not count.",
)
_SHORT_LINE = PeriodSetting(
    "topology.links.0.rightward.line",
    "1000",
    "netem's own limit, which `tc qdisc add ... netem delay 500ms` leaves as it is: so many packets"
    " on their way.",
)

LINUX_2_6 = Profile(
    "Linux 2.6.27 to 3.9",
    (_NO_RACK, _NO_PROBES, _SMALL_WINDOWS),
    (_ETHERNET, _ROUND_TRIP),
    "With SACK and random loss they make CUBIC slower than Reno, and Linux 2.6.32 does not: it has"
    " 15.8 and 14.2 Mbit/s (CUBIC, Reno) at 5 % where these settings on Linux 7.2 give 7.0 and"
    " 14.3, 3.2 and 2.5 at 10 % where they give 1.8 and 3.1. Linux 3.13 has 21.6 and 37.6, 4.0 and"
    " 4.9. Without SACK nothing was shown to differ (medians of six seeds, 60 s).",
)
LINUX_2_6_FULL_LINE = replace(LINUX_2_6, path=(*LINUX_2_6.path, _SHORT_LINE))
LINUX_2_6_32 = Profile(
    "Linux before 3.6",
    (
        _NO_RACK,
        PeriodSetting(
            "net.ipv4.tcp_max_reordering",
            "127",
            "A constant of 127 before Linux 3.19 made it a setting.",
        ),
    ),
    (
        PeriodSetting(
            "netem",
            "old",
            "With today's netem a correlation of 100 % reorders nothing; before Linux 3.6 every"
            " second packet left at once. Chosen because the published hosts did reorder; which"
            " kernel they had is not published.",
            since="3.6",
        ),
    ),
)
_GIGABIT_ETHERNET = PeriodSetting(
    "bw", "984.4mbit", "1 Gbit/s on the wire, with the same 24 bytes for each frame."
)
_OWN_NETEM = PeriodSetting(
    "place",
    "host",
    "The published netem was on the sender's own port, so packets were lost and waited there, where"
    " TCP small queues see them.",
)
_SMALL_QUEUES = PeriodSetting(
    "net.ipv4.tcp_limit_output_bytes",
    "262144",
    "What a connection may have in its own host's queues in Red Hat's 3.10, which was published;"
    " 4 MiB today.",
)
LINUX_3_10 = Profile(
    "Linux 3.10",
    (_NO_RACK, _SMALL_QUEUES),
    (_GIGABIT_ETHERNET, _OWN_NETEM),
    "With SACK and 5 % loss Linux 3.13 has 16.5 Mbit/s where these settings on Linux 7.2 give 22.4"
    " (medians of six seeds, 30 s), and 4.4 has 80 to 94 (four seeds).",
)
DROPPER = "topology.links.1.rightward.bandwidth"
"""The setting of the rate at which the dropping router sends on."""
LINUX_2_4 = Profile(
    "Linux 2.4",
    (
        _NO_RACK,
        _NO_PROBES,
        PeriodSetting(
            "net.ipv4.tcp_congestion_control",
            "reno",
            "CUBIC came with 2.6.13 and was the default from 2.6.19.",
        ),
        PeriodSetting(
            "net.ipv4.tcp_frto",
            "0",
            "F-RTO, which takes back a needless time-out, came with 2.4.21 and was off.",
        ),
        PeriodSetting(
            "net.ipv4.tcp_rmem",
            "4096 87380 174760",
            "The default of 2.4: no window above 64 to 128 KiB.",
        ),
        PeriodSetting(
            "net.ipv4.tcp_wmem", "4096 16384 131072", "The default of 2.4 for the sender's buffer."
        ),
    ),
    (
        _ETHERNET,
        PeriodSetting(
            DROPPER,
            "43.5mbit",
            "What the router carries with the dropping module in it. Chosen from one published"
            " number: with hardly any loss (0.1 %) all took 27.9 s, give or take 0.02; without the"
            " module, the row of 0 %, 12.4 s.",
        ),
    ),
    "At 10 % dropped Linux 3.13 takes 236 s where these settings on Linux 7.2 take 394 (medians of"
    " six seeds).",
)


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
