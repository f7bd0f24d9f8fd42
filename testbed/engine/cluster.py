"""The engine of a cluster: tasks go to workers with the same lab and code, by Dask.

Dask gives tasks of a lost worker to another, and keeps equal keys from running twice. Tasks ask for
a resource whose name holds the identity of lab and code, which only workers of that identity offer.

Scheduler and workers run as this very process, so that any end of it ends Dask and frees its port.
They listen on the loopback interface by default, and only for holders of the cluster's key.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import Any

import dask
from click import Command
from distributed import Client, Future, Security, Worker, WorkerPlugin, as_completed, get_worker
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker
from distributed.comm.addressing import get_address_host_port
from distributed.core import Status
from distributed.utils import LoopRunner, get_ip, sync
from tornado.ioloop import IOLoop

from testbed.engine import Done, Listener, Stopped, Task
from testbed.engine.certificates import TLS, Certificates, certificates
from testbed.host import PREFIX
from testbed.host.job_archive import fingerprint
from testbed.host.scratch import scratch
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab_if_ready
from topologies.errors import TcplabError, UsageError

PROGRESS, WORKERS = "tcplab-progress", "tcplab-workers"
"""Topics of the scheduler's event log."""
_AT_WORK = (Status.running, Status.paused)
_BETWEEN = 0.25  # seconds between two words about the progress of a task


def identity(lab: Lab) -> str:
    """Return the SHA-256 of what results depend on: lab, code, libraries, names of modules."""
    return hashlib.sha256(f"{lab.digests['whole']} {PREFIX}{fingerprint()}".encode()).hexdigest()


@cache
def _own_lab(kernel: str) -> Lab | None:
    return lab_if_ready(chosen(kernel))


def entrance(wanted: str, kernel: str) -> WorkerPlugin:
    """Return a plugin, sent as a whole, that admits workers of the identity `wanted`."""

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

    offer, topic = f"guest-{wanted[:16]}", WORKERS
    return Entrance()


def problem_with_us(wanted: str, kernel: str) -> str:
    """Return why this worker cannot take tasks of that identity; empty if it can."""
    lab = _own_lab(kernel)
    if lab is None:
        needed = f"lab kernel {kernel} and image of its code's recipes"
        return f"it has no {needed} (./tcplab image import FILE)"
    lab_digest, own = lab.digests["whole"][:12], identity(lab)
    other = f"lab {lab_digest}, all {own[:12]} and not {wanted[:12]}"
    return "" if own == wanted else f"it has another version: {other}"


def perform(function: Callable[..., Any], arguments: tuple[Any, ...], kernel: str) -> Any:
    """Call `function(*arguments, lab, progress)` on a worker until it is cancelled or closes."""
    worker, lab, last = get_worker(), _own_lab(kernel), 0.0
    key = str(worker.get_current_task())
    if lab is None:
        raise TcplabError("This worker's lab kernel has gone.", "Run ./tcplab image build there.")

    def tell(phase: str, elapsed: float) -> None:
        nonlocal last
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled" or worker.status not in _AT_WORK:
            raise Stopped(key)
        if time.monotonic() - last > _BETWEEN:
            last = time.monotonic()
            worker.log_event(PROGRESS, {"key": key, "phase": phase, "elapsed": elapsed})

    return function(*arguments, lab, tell)


_PATIENCE = 10.0  # seconds in which a scheduler must answer
_REST = 0.05  # seconds; the sender of messages waits for 10 ms at most
_LOOK, _NOTED = 0.1, 10  # seconds between two looks for a worker; looks until a note
_GRACE = 10  # seconds in which a worker of use may follow those that are refused
# Each member starts an HTTP server, even with --no-dashboard; one of its pages is a proxy.
_ROUTES = ("distributed.scheduler.http.routes", "distributed.worker.http.routes")
_PAGES = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")


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
        """Yield the results as they come; the scheduler has a few tasks for each slot.

        What still runs is cancelled if the caller goes away. Raises TcplabError if no worker is of
        use.
        """
        self._wait_for_worker()
        waiting, futures = iter(tasks), as_completed(loop=self.client.loop)
        pending: set[Future[Any]] = set()
        try:
            self._submit(waiting, futures, pending)
            for future in futures:
                pending.discard(future)
                if future.status in ("cancelled", "lost"):  # not by us: with the scheduler
                    remedy = "Start it and its workers again; the same command then goes on."
                    raise TcplabError("The connection to the Dask scheduler was lost.", remedy)
                key, error = str(future.key), future.exception()
                yield Done.failed(key, error) if error else Done(key, future.result())
                self._submit(waiting, futures, pending)
        finally:
            if self.client.status == "running":
                self.client.cancel(list(pending), force=True)

    def _submit(self, waiting: Iterator[Task], futures: Any, pending: set[Future[Any]]) -> None:
        room = 2 * sum(self.slots.values()) + 2 - len(pending)
        for task in islice(waiting, max(0, room)):
            what = (perform, task.function, task.arguments, self.kernel)
            how: dict[str, Any] = {
                "resources": {f"guest-{self.identity[:16]}": 1},
                "priority": -next(self.order),
            }
            future = self.client.submit(*what, key=task.key, pure=False, **how)
            pending.add(future)
            futures.add(future)

    def _wait_for_worker(self) -> None:
        """Wait until one worker is let in: on a cluster the first may come hours later."""
        hopeful = time.monotonic()
        for look in count():
            for event in self.client.get_events(WORKERS):  # from before we subscribed
                self._add_worker(event)
            if self.slots:
                return
            if not self.refused or set(self.client.nthreads()) - set(self.refused):
                hopeful = time.monotonic()
            if time.monotonic() - hopeful > _GRACE:  # others may follow those that are refused
                refused = "; ".join(f"{at}: {why}" for at, why in self.refused.items())
                remedy = "Give each this version of tcplab and this lab: ./tcplab image export."
                raise TcplabError(f"No worker can be used: {refused}.", remedy)
            if look == _NOTED:
                self.listener.note("No worker has come yet; waiting. Ctrl-C costs no result.")
            time.sleep(_LOOK)

    def _add_worker(self, event: tuple[float, dict[str, Any]]) -> None:
        news = event[1]
        address, refused = news["address"], news["refused"]
        if news["offer"] != f"guest-{self.identity[:16]}":
            return  # meant for another client, whose lab is another
        if not refused:
            self.slots[address] = news["slots"]
        elif address not in self.refused:
            self.refused[address] = refused
            self.listener.note(f"Worker {address} is refused: {refused}.")


@contextmanager
def cluster_engine(address: str, lab: Lab, listener: Listener) -> Iterator[ClusterEngine]:
    """Provide an engine on the workers of a Dask scheduler. Raises TcplabError without one."""
    with _event_loop() as loop, _client(address, loop) as client:
        engine = ClusterEngine(client, identity(lab), str(lab.choice), listener)
        client.subscribe_topic(WORKERS, engine._add_worker)
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
    files: dict[str, str] = {}
    for role in ("tls_client", "tls_scheduler", "tls_worker"):
        files |= {f"{role}_cert": str(ours.certificate), f"{role}_key": str(ours.key)}
    return Security(tls_ca_file=str(ours.certificate), require_encryption=True, **files)


@contextmanager
def _event_loop() -> Iterator[IOLoop]:
    """Provide the event loop of a client, with Dask's messages silenced.

    It ends a moment later, in no wait of distributed/batched.py, whose time-out asyncio would
    print.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL + 1)
    runner = LoopRunner()
    runner.start()
    try:
        yield runner.loop
    finally:
        sync(runner.loop, asyncio.sleep, _REST)
        runner.stop()


LOOPBACK = "127.0.0.1"


def run_scheduler(host: str, port: int, protection: Certificates) -> None:
    """Run a scheduler at an address until a signal ends it. Raises TcplabError if that is taken."""
    _run(dask_scheduler, ["--port", str(port), *protection.options()], host, port)


def run_worker(scheduler: str, slots: int, host: str, port: int, protection: Certificates) -> None:
    """Work for the scheduler, `slots` guests at once, until it or a signal ends.

    The worker listens on `host`, at any free port if `port` is 0. Raises TcplabError if it cannot.
    """
    numbers = f"--worker-port {port} --nworkers 1 --nthreads {slots} --memory-limit 0"
    # Dask removes its part of the folder at exit, when the folder is gone, and would call that an
    # error.
    logging.getLogger("distributed.diskutils").setLevel(logging.CRITICAL)
    words = [scheduler, "--no-nanny", *numbers.split(), *protection.options()]
    _run(dask_worker, words, host, port)


def _run(command: Command, words: list[str], host: str, port: int) -> None:
    """Run a member of Dask without pages, and with a scratch folder for what it writes."""
    with scratch() as folder:
        settings: dict[str, Any] = {name: [] for name in _ROUTES}
        try:
            with dask.config.set(settings | {"temporary-directory": str(folder)}):
                own = ["--host", _in_brackets(host), *_PAGES]
                command.main([*words, *own], standalone_mode=False)
        except (OSError, RuntimeError) as error:
            cause = error.__cause__ or error  # RuntimeError: "Scheduler failed to start."
            if not isinstance(cause, OSError):
                raise
            problem = f"The Dask {command.name} did not start at {host}, port {port}: {cause}."
            raise TcplabError(problem, "Choose another --host or --port.") from error


def address_of(host: str, port: int) -> str:
    """Return the address of a scheduler that listens on `host`, for a worker or a sweep."""
    known = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return f"{TLS}{_in_brackets(known)}:{port}"


def towards(scheduler: str) -> str:
    """Return this machine's address as a scheduler sees it. Raises UsageError."""
    try:
        return str(get_ip(*get_address_host_port(scheduler, strict=True)))
    except ValueError:
        problem = f"'{scheduler[:80]}' is no scheduler's address."
        raise UsageError(problem, "Write it like tls://10.0.0.1:8786.") from None


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host
