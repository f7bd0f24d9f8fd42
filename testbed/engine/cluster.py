"""The engine of a cluster: tasks go to workers with the same lab and code, by Dask.

    with cluster_engine("tls://10.0.0.1:8786", lab, listener) as engine:
        for done in engine.run(tasks): ...

Dask's scheduler hands tasks out, gives those of a lost worker to another, and keeps equal keys
from running twice. A worker of another lab or of other code would mix results that cannot be
compared, so it gets no task at all: tasks ask for a resource whose name holds the identity, and
only a worker that finds the same identity in itself offers it.

Scheduler and workers run as this very process. A separate process for Dask would survive this one
when it is killed. In one process, any end of it ends Dask and frees its port; Dask itself ends in
order at SIGINT and SIGTERM (distributed/_signals.py). They listen on the loopback interface unless
told otherwise, and only for those who have the cluster's key (testbed/engine/certificates.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from click import Command
from distributed import Client, Future, Security, Worker, WorkerPlugin, as_completed, get_worker
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker
from distributed.comm.addressing import get_address_host_port
from distributed.core import Status
from distributed.utils import LoopRunner, sync

from testbed.engine import Done, Listener, Stopped, Task
from testbed.engine.certificates import TLS, Certificates, certificates
from testbed.host import PREFIX
from testbed.host.job_archive import fingerprint
from testbed.host.scratch import scratch
from testbed.host.supervise import Progress
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab_if_ready
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from tornado.ioloop import IOLoop


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
                from testbed.engine.cluster import problem_with_us
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


_PATIENCE = 10.0  # seconds in which a scheduler must answer
_REST = 0.05  # seconds; the sender of messages waits for 10 ms at most
_LOOK = 0.1  # seconds between two looks for a worker
_GRACE = 10  # seconds in which a worker of use may follow those that are refused
PAGES = "127.0.0.1:0"
"""The address of Dask's HTTP servers: each member starts one, even with --no-dashboard."""
_ROUTES = ("distributed.scheduler.http.routes", "distributed.worker.http.routes")
_NO_PAGES: dict[str, Any] = {name: [] for name in _ROUTES}
"""Dask's configuration for no page there: they are not used, and one is a proxy to elsewhere."""


@dataclass
class ClusterEngine:
    """The workers of a cluster (testbed.engine.Engine)."""

    client: Client
    identity: str
    kernel: str
    listener: Listener
    slots: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    order: Iterator[int] = field(default_factory=count)

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Yield the results in the order in which they come.

        Only a few tasks for each slot are with the scheduler.

        What is still running is cancelled if the caller goes away. Raises TcplabError if all
        workers had to be refused.
        """
        self._wait_for_worker()
        waiting, futures = iter(tasks), as_completed(loop=self.client.loop)
        pending: set[Future[Any]] = set()
        try:
            self._submit(waiting, futures, pending)
            for future in futures:
                pending.discard(future)
                if future.status in ("cancelled", "lost"):  # not by us: with the scheduler
                    raise TcplabError(
                        "The connection to the Dask scheduler was lost.",
                        "Start it and its workers again; the same command then goes on, and what"
                        " is known is kept.",
                    )
                key, error = str(future.key), future.exception()
                yield Done.failed(key, error) if error else Done(key, future.result())
                self._submit(waiting, futures, pending)
        finally:
            if self.client.status == "running":
                self.client.cancel(list(pending), force=True)

    def _submit(self, waiting: Iterator[Task], futures: Any, pending: set[Future[Any]]) -> None:
        room = 2 * sum(self.slots.values()) + 2 - len(pending)
        for task in islice(waiting, max(0, room)):
            future = self.client.submit(
                perform,
                task.function,
                task.arguments,
                self.kernel,
                key=task.key,
                pure=False,
                resources={resource(self.identity): 1},
                priority=-next(self.order),
            )
            pending.add(future)
            futures.add(future)

    def _wait_for_worker(self) -> None:
        """Wait until one worker is let in: on a cluster the first may come hours later."""
        begun = hopeful = time.monotonic()
        noted = False
        while True:
            for event in self.client.get_events(WORKERS):  # from before we subscribed
                self._hear_worker(event)
            if self.slots:
                return
            if not self.refused or set(self.client.nthreads()) - set(self.refused):
                hopeful = time.monotonic()
            if time.monotonic() - hopeful > _GRACE:  # others may follow those that are refused
                refused = "; ".join(f"{at}: {why}" for at, why in self.refused.items())
                raise TcplabError(
                    f"No worker can be used: {refused}.",
                    "Give every worker this version of tcplab and this lab: ./tcplab image export"
                    " and import.",
                )
            if time.monotonic() - begun > 1 and not noted:
                self.listener.note(
                    "No worker has come yet; waiting. Ctrl-C ends this without loss."
                )
                noted = True
            time.sleep(_LOOK)

    def _hear_worker(self, event: tuple[float, dict[str, Any]]) -> None:
        address = event[1]["address"]
        if event[1]["offer"] != resource(self.identity):
            return  # meant for another client, whose lab is another
        if not event[1]["refused"]:
            self.slots[address] = event[1]["slots"]
        elif address not in self.refused:
            self.refused[address] = event[1]["refused"]
            self.listener.note(f"Worker {address} is refused: {event[1]['refused']}.")


def configured(folder: Path) -> AbstractContextManager[Any]:
    """Dask's configuration meanwhile: no pages, and `folder` for what it writes."""
    return dask.config.set(_NO_PAGES | {"temporary-directory": str(folder)})


@contextmanager
def cluster_engine(address: str, lab: Lab, listener: Listener) -> Iterator[ClusterEngine]:
    """Provide an engine on the workers of a Dask scheduler. Raises TcplabError without one."""
    with _quiet(), _event_loop() as loop, _client(address, loop) as client:
        engine = ClusterEngine(client, identity(lab), str(lab.choice), listener)
        client.subscribe_topic(WORKERS, engine._hear_worker)
        client.subscribe_topic(PROGRESS, lambda event: listener.running(**event[1]))
        name = f"tcplab-{client.id}"
        client.register_plugin(entrance(engine.identity, engine.kernel), name=name)
        try:
            yield engine
        finally:
            if client.status == "running":
                client.unregister_worker_plugin(name)


def _client(address: str, loop: IOLoop) -> Client:
    name, protection = f"tcplab-{os.getpid()}", security()
    try:
        return Client(address, timeout=_PATIENCE, name=name, loop=loop, security=protection)
    except (OSError, ValueError) as error:
        remedy = "Start one with ./tcplab scheduler; its first lines say its address."
        raise TcplabError(f"No Dask scheduler answers at {address}: {error}.", remedy) from error


def security() -> Security:
    """Dask's settings that let in holders of the key only. Raises TcplabError without a key."""
    ours = certificates()
    files = {
        f"tls_{role}_{kind}": str(file)
        for role in ("client", "scheduler", "worker")
        for kind, file in (("cert", ours.certificate), ("key", ours.key))
    }
    return Security(tls_ca_file=str(ours.certificate), require_encryption=True, **files)


@contextmanager
def _event_loop() -> Iterator[IOLoop]:
    """Provide the event loop of a client and a cluster, which ends a moment after both are closed.

    They would end those at once, in the middle of a wait of the sender of messages
    (distributed/batched.py): its time-out would go unheard, which asyncio prints.
    """
    runner = LoopRunner()
    runner.start()
    try:
        yield runner.loop
    finally:
        sync(runner.loop, asyncio.sleep, _REST)
        runner.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's own messages, which would tear the progress bar."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


LOOPBACK = "127.0.0.1"
_ALL = ("0.0.0.0", "::")


def run_scheduler(host: str, port: int, protection: Certificates) -> None:
    """Run a scheduler at an address until a signal ends it. Raises TcplabError if that is taken."""
    words = ["--host", _in_brackets(host), "--port", str(port), *protection.options()]
    with scratch() as folder, configured(folder):
        _run(dask_scheduler, words, f"{host}, port {port}")


def run_worker(scheduler: str, slots: int, host: str, port: int, protection: Certificates) -> None:
    """Work for the scheduler, `slots` guests at once, until it or a signal ends.

    The worker listens on `host`, at any free port if `port` is 0, since the scheduler calls back.
    Raises TcplabError if it cannot listen there.
    """
    numbers = f"--worker-port {port} --nworkers 1 --nthreads {slots} --memory-limit 0"
    words = [scheduler, "--host", _in_brackets(host), *numbers.split(), "--no-nanny"]
    words += protection.options()
    # Dask removes its part of the folder at exit, when the folder is gone, and would call that an
    # error.
    logging.getLogger("distributed.diskutils").setLevel(logging.CRITICAL)
    with scratch() as folder, configured(folder):
        _run(dask_worker, words, f"{host}, port {port}")


def _run(command: Command, words: list[str], place: str) -> None:
    pages = ["--no-dashboard", "--dashboard-address", PAGES]
    try:
        command.main([*words, *pages], standalone_mode=False)
    except (OSError, RuntimeError) as error:
        cause = error.__cause__ or error  # RuntimeError: "Scheduler failed to start."
        if not isinstance(cause, OSError):
            raise
        problem = f"The Dask {command.name} did not start at {place}: {cause}."
        raise TcplabError(problem, "Choose another --host or --port.") from error


def address_of(host: str, port: int) -> str:
    """Return the address of a scheduler that listens on `host`, for a worker or a sweep."""
    return f"{TLS}{_in_brackets(socket.gethostname() if host in _ALL else host)}:{port}"


def towards(scheduler: str) -> str:
    """Return this machine's address as a scheduler sees it. Raises UsageError, TcplabError."""
    try:
        host, port = get_address_host_port(scheduler, strict=True)
    except ValueError:
        problem = f"'{scheduler[:80]}' is no scheduler's address."
        raise UsageError(problem, "Write it like tls://10.0.0.1:8786.") from None
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as unsent:
            unsent.connect(place)  # of UDP this only chooses the route (udp(7))
            return str(unsent.getsockname()[0])
    except OSError as error:
        problem = f"There is no way to {host}: {error.strerror}."
        raise TcplabError(problem, "Check the scheduler's address.") from None


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host
