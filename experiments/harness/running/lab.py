"""The lab made ready for runs, and what manifests and pages record about it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from typing import Any

from experiments.spec import DEFAULT_KERNEL
from testbed.jobs.archive import code_digest
from testbed.jobs.following import Limits
from testbed.lab.kernel.choice import chosen
from testbed.lab.parts import release_of
from testbed.lab.ready import Lab, lab_for
from testbed.recipes.building import shown
from testbed.virtual.choice import allowed_sandbox
from testbed.virtual.guest import require_limits


def ready_lab(kernels: Iterable[str] | None = None) -> Lab:
    """Return the lab with these kernels, by default its newest; each is built the first time.

    Raises TcplabError also if the limits of this process (ulimit) are too small for a guest: with
    less memory the build may fail first.
    """
    require_limits(Limits())
    with shown(sys.stderr) as report:
        return lab_for([DEFAULT_KERNEL] if kernels is None else kernels, report)


def lab_on(kernel: str | None) -> Lab:
    """Return the lab on the kernel that `--kernel` names, as it was typed."""
    return ready_lab([str(chosen(kernel))] if kernel else None)


def facts_of(lab: Lab | None) -> dict[str, Any]:
    """Return the facts about the place of a run for its manifest; a native run has no lab."""
    if not lab:
        return {"kernel": {"release": platform.release()}}
    return lab_facts(lab) | {"sandbox": allowed_sandbox(lab.confine).as_data()}


def lab_facts(ready: Lab) -> dict[str, Any]:
    """Return the facts about the lab of a run for its manifest."""
    return {
        "kernel": {
            "release": ready.kernel_release,
            "seccomp": ready.seccomp,
            "digest": ready.digests["kernel"],
        },
        "image": {"digest": ready.digests["image"]},
        "lab_digest": ready.digests["whole"],
        "release": release_of(ready.digests),
        "tools": dict(ready.packages),
    }


def for_page(ready: Lab) -> dict[str, Any]:
    """Return the facts about the lab for a page, without the list of packages."""
    facts = {name: value for name, value in lab_facts(ready).items() if name != "tools"}
    digests = {
        "kernel": ready.digests["kernel"],
        "image": ready.digests["image"],
        "code": code_digest(),
    }
    return facts | {"digests": digests}
