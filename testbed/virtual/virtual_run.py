"""The virtual testbed: a job in the lab kernel, sandboxed, in virtual time, repeatable by seed.

The options of the kernel are those of Documentation/virt/uml and of the design's measurements.
What the guest may do to this computer is in testbed/virtual/sandbox.py, guest_processes.py and
adoption.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.host.capacity import claimed_processor
from testbed.host.sudo_user import invoking_user
from testbed.jobs.archive import job_archive, job_file
from testbed.jobs.following import CONSOLE, Limits, Progress, Usage, follow, started, usage_of
from testbed.lab.ready import Lab
from testbed.virtual.adoption import adopted
from testbed.virtual.guest_processes import GuestBounds, ProcessNamespace
from testbed.virtual.sandbox import Sandbox

_EPOCH = 1_700_000_000_000_000_000  # nanoseconds since 1970 at which every guest starts
_NOBODY = 65534
_ALL_USERS = ["0", "0", "4294967295"]  # user_namespaces(7): every user is itself


def run_in_guest(
    lab: Lab,
    module: str,
    data: Any,
    seed: int,
    out: Path,
    progress: Progress,
    limits: Limits | None = None,
    files: Mapping[str, bytes] | None = None,
    real_time: bool = False,
) -> Usage:
    """Run `perform(data, job)` of `module` in a fresh guest, with its results in `out`.

    `out` is an empty folder. `files` go along, by name. In `real_time` nothing is repeatable: for a
    guest that somebody types into.

    Raises TcplabError with the guest's own message if it fails, is stopped or dies; what it had
    delivered by then stays in `out`.
    """
    limits = limits or Limits()
    user = _ordinary_user()
    with (
        claimed_processor() as processor,
        adopted(out, user),
        job_file(job_archive(module, data, files)) as job,
        (out / CONSOLE).open("wb") as console,
        ProcessNamespace() as namespace,
    ):
        sandbox = Sandbox(lab, out, job.fileno(), namespace.report, user, limits)
        command = sandbox.command() + _kernel(lab, seed, limits, real_time)
        with started(command, console, [job.fileno(), namespace.report], processor) as process:
            namespace.started()
            ended = follow(
                process, out, progress, limits, GuestBounds(out, limits, namespace).check
            )
    return usage_of(ended, out)


def _ordinary_user() -> tuple[int, int] | None:
    """The user of the guest if root starts it: the user behind sudo, or nobody.

    None if the caller is an ordinary user, who then is the guest's too. Root of a user namespace,
    as in a rootless container, is an ordinary user outside.
    """
    if os.geteuid() != 0 or Path("/proc/self/uid_map").read_text().split() != _ALL_USERS:
        return None
    return invoking_user() or (_NOBODY, _NOBODY)


def _kernel(lab: Lab, seed: int, limits: Limits, real_time: bool) -> list[str]:
    """The lab kernel's command line.

    It is mixed into the kernel's random pool, so nothing in it varies but the seed.
    """
    travels = lab.time_travel and not real_time
    clock = ["time-travel=inf-cpu", f"time-travel-start={_EPOCH}"] if travels else []
    return [
        "/lab/linux",
        f"mem={limits.memory_mib}M",
        "root=none",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "init=/init",
        "hostfs=/lab",
        f"seed={seed}",
        *clock,
        "norandmaps",
        *(["seccomp=on"] if lab.seccomp else []),
        "uml_dir=/tmp/",
        "umid=lab",
        "con=null",
        "con0=null",
        "console=stderr0",
        "stderr=1",
        "quiet",
    ]
