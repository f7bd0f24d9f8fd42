"""The members of a Dask cluster: its scheduler and its workers, each run as this very process.

A separate process for Dask would survive this one when it is killed. In one process, any end of it
ends Dask and frees its port; Dask itself ends in order at SIGINT and SIGTERM
(distributed/_signals.py).

Members listen on the loopback interface unless told otherwise, and in all cases only for those who
have the cluster's key (testbed/engine/certificates.py).
"""

from __future__ import annotations

import logging
import socket

from click import Command
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker
from distributed.comm.addressing import get_address_host_port

from testbed.engine.certificates import TLS, Certificates
from testbed.engine.cluster import PAGES, configured
from testbed.host.scratch import scratch
from topologies.foundation.errors import TcplabError, UsageError

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
