"""evidence.json of a trial and environment.json of a seed: what the kernel was seen to have."""

from __future__ import annotations

from msgspec import Struct, field


class ProofEntry(Struct, frozen=True):
    """One claim about the condition, what was observed, and whether that shows it."""

    claim: str = ""
    observed: tuple[str, ...] = ()
    source: str = ""
    held: bool | None = None


class EvidenceFile(Struct, frozen=True):
    """evidence.json. `sysctls` are those of each host, as they were read back.

    `warnings` are of what was cut off or missed while the condition was measured.
    """

    held: bool | None = None
    warnings: tuple[str, ...] = ()
    sysctls: dict[str, dict[str, str]] = field(default_factory=dict)
    proofs: tuple[ProofEntry, ...] = ()


class SettingEntry(Struct, frozen=True):
    """One setting of an interface: as asked for and as the kernel had it."""

    interface: str = ""
    field: str = ""
    asked: str = ""
    found: str = ""


class EnvironmentFile(Struct, frozen=True):
    """environment.json. `clock` is virtual or real.

    `lines` says whether shaped ports were lines or token buckets, `same_draws` whether each
    condition met the same losses; None in runs from before these were written down. Of the settings
    of hosts an old kernel has the `shared_sysctls` only once, for all, and lacks the
    `absent_sysctls`. `switches` are "Open vSwitch" or, on a kernel without it, "bridge".
    """

    kernel: str = ""
    clock: str = ""
    asked_and_found: tuple[SettingEntry, ...] = ()
    lines: bool | None = None
    same_draws: bool | None = None
    shared_sysctls: tuple[str, ...] = ()
    absent_sysctls: tuple[str, ...] = ()
    switches: str = ""
    tools: dict[str, str] = field(default_factory=dict)
