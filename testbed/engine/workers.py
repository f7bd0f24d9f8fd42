"""Code of a worker: the check that it has the same lab, and a task with its progress.

A worker of another lab or of other code would mix results that cannot be compared, so it gets no
task at all: tasks ask for a resource whose name holds the identity, and only a worker that finds
the same identity in itself offers it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker
from distributed.core import Status

from testbed.engine.tasks import Stopped
from testbed.host.job_archive import fingerprint
from testbed.host.naming import PREFIX
from testbed.host.supervise import Progress
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab_if_ready
from topologies.errors import TcplabError

PROGRESS, WORKERS = "tcplab-progress", "tcplab-workers"
"""Topics of the scheduler's event log."""
_AT_WORK = (Status.running, Status.paused)
_BETWEEN = 0.25  # seconds between two words about the progress of a task


def identity(lab: Lab) -> str:
    """Return the SHA-256 of what results depend on: lab, code, libraries, names of modules."""
    return hashlib.sha256(f"{lab.digests['whole']} {PREFIX}{fingerprint()}".encode()).hexdigest()


def resource(identity: str) -> str:
    """Name the resource that a worker of this identity offers, one for each parallel guest."""
    return f"guest-{identity[:16]}"


@cache
def _own_lab(kernel: str) -> Lab | None:
    return lab_if_ready(chosen(kernel))


def entrance(wanted: str, kernel: str) -> WorkerPlugin:
    """Return a plugin that admits workers of the identity `wanted`, now or later.

    `kernel` is the one of the lab whose identity it is. A worker that is refused says why. The
    class in this function travels as a whole, so a worker without this package can report that.
    """

    class Entrance(WorkerPlugin):
        async def setup(self, worker: Worker) -> None:
            try:
                from testbed.engine.workers import problem_with_us
            except ImportError:
                problem = "tcplab is not installed for its Python"
            else:
                problem = problem_with_us(wanted, kernel)
            offered = 0 if problem else worker.state.nthreads
            if offered:
                await worker.set_resources(**{offer: offered})
            news = {"slots": offered, "refused": problem, "address": worker.address, "offer": offer}
            # By a call: the stream of a worker that is just coming, which log_event uses, is not
            # open yet.
            await worker.scheduler.log_event(topic=topic, msg=news)

    offer, topic = resource(wanted), WORKERS
    return Entrance()


def problem_with_us(wanted: str, kernel: str) -> str:
    """Return why this worker cannot take tasks of that identity; empty if it can."""
    lab = _own_lab(kernel)
    if lab is None:
        return (
            f"it has no lab kernel {kernel} and image of its code's recipes (./tcplab image import"
            " FILE)"
        )
    if identity(lab) != wanted:
        return (
            f"it has another version: lab {lab.digests['whole'][:12]}, all {identity(lab)[:12]} and"
            f" not {wanted[:12]}"
        )
    return ""


def perform(function: Callable[..., Any], arguments: tuple[Any, ...], kernel: str) -> Any:
    """Call `function(*arguments, lab, progress)` on a worker; its progress goes to the client."""
    worker, lab = get_worker(), _own_lab(kernel)
    if lab is None:
        raise TcplabError("This worker's lab kernel has gone.", "Run ./tcplab image build there.")
    return function(*arguments, lab, _progress(worker, str(worker.get_current_task())))


def _progress(worker: Worker, key: str) -> Progress:
    """Report progress to the client; end the task if it is cancelled or the worker closes."""
    last = 0.0

    def tell(phase: str, elapsed: float) -> None:
        nonlocal last
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled" or worker.status not in _AT_WORK:
            raise Stopped(key)
        if time.monotonic() - last > _BETWEEN:
            last = time.monotonic()
            worker.log_event(PROGRESS, {"key": key, "phase": phase, "elapsed": elapsed})

    return tell
