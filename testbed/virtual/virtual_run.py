"""The virtual testbed: a job in the lab kernel, sandboxed, in virtual time, repeatable by seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.host.capacity import claimed_processor
from testbed.jobs.archive import job_archive
from testbed.jobs.following import Limits, Progress, Usage, usage_of
from testbed.virtual.compiled_code import compiled_code
from testbed.virtual.sandbox import Sandbox
from testbed.virtual.started_guest import guest, lacking

if TYPE_CHECKING:
    from testbed.lab.ready import Lab


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
    sandbox: type[Sandbox] | None = None,
    loud: bool = False,
) -> Usage:
    """Run `perform(data, job)` of `module` in a fresh guest, with its results in `out`.

    `out` is an empty folder. `files` go along, by name. In `real_time` nothing is repeatable: for a
    guest that somebody types into. `sandbox` is the best that this machine allows, unless named. A
    `loud` kernel prints all that it has to say; its packets are other ones.

    Raises TcplabError with the guest's own message if it fails, is stopped or dies; what it had
    delivered by then stays in `out`.
    """
    limits = limits or Limits()
    code, archive = compiled_code(lab), job_archive(module, data, files, **lacking(lab))
    options = (real_time, sandbox, loud)
    with (
        claimed_processor() as processor,
        guest(lab, code, archive, seed, out, limits, processor, *options) as running,
    ):
        ended = running.follow(progress)
    return usage_of(ended, out)
