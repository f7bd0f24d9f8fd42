"""Start a network of the lab kernel for programs of the user's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from experiments.harness.running.lab import lab_on
from experiments.programs.folders import OF_IMAGE, environment, folders_for
from experiments.programs.link import channel
from experiments.programs.network import Network
from testbed.driven.job import DrivenSpec
from testbed.host.capacity import claimed_processor
from testbed.host.scratch import scratch
from testbed.jobs.archive import job_archive
from testbed.jobs.following import Limits
from testbed.lab.kernel.version import DEFAULT
from testbed.lab.ready import Lab
from testbed.virtual.guest import GuestSettings, guest
from testbed.virtual.run import compiled_code
from testbed.virtual.sandbox import Sandbox
from topologies.foundation.data import to_data
from topologies.foundation.errors import UsageError
from topologies.topology_spec import TopologySpec
from topologies.two_hosts import two_hosts

_JOB = "testbed.driven.job"
CLOCK = "2026-12-01"
"""The day that programs see unless another is named: certificates of this year are valid."""
_BOOT = 120.0  # wall seconds
_FOREVER = 1e9  # wall seconds of a debugger's session
_SECOND = 10**9
_ANY_PYTHON = "python3"  # of a tree


@dataclass(frozen=True)
class NetworkOptions:
    """Settings of a network other than topology and seed.

    `project` is a folder that programs see and may write to, for the guest alone; `folders` are
    more that they see. `root` is an unpacked system that they see instead of this computer's; with
    `image` they see the lab's, and none of these.
    `sysctls` are of all hosts. `captures` are interfaces of switches and routers, such as r1-eth1,
    that are captured as hosts are. `clock` is the time at the start, in ISO 8601. `patience` are
    wall seconds that an order may take. With cpu="host" computing takes virtual time as it takes
    this computer's, so no run repeats another.
    """

    project: Path | str = field(default_factory=Path.cwd)
    folders: tuple[Path | str, ...] = ()
    root: Path | str | None = None
    image: bool = False
    sysctls: Mapping[str, str] = field(default_factory=dict)
    captures: tuple[str, ...] = ()
    kernel: str = DEFAULT
    clock: str = CLOCK
    memory_mib: int = 1024
    patience: float = 120.0
    cpu: Literal["free", "host"] = "free"
    sandbox: type[Sandbox] | None = None


_FIELDS = {field.name for field in fields(NetworkOptions)}


def options_and_link(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that are NetworkOptions, and those of a link."""
    options = {name: value for name, value in settings.items() if name in _FIELDS}
    return options, {name: settings[name] for name in settings.keys() - _FIELDS}


@contextmanager
def network(
    topology: TopologySpec | None = None,
    *,
    seed: int = 1,
    out: Path | str | None = None,
    **settings: Any,
) -> Iterator[Network]:
    """Provide a network; without a topology two hosts with a link such as delay="150ms".

    Other settings are those of `tcplab.testing.NetworkOptions`. The captures stay in `out`, an
    empty folder or none yet. Raises TcplabError.
    """
    options, link = options_and_link(settings)
    if topology and link:
        raise UsageError(f"A topology has its links, so {link} is too much.", "Leave it out.")
    shape = topology or two_hosts(channel(**link))
    with started(shape, seed, out, NetworkOptions(**options)) as running:
        yield running


Aloud = Callable[[], AbstractContextManager[None]]


@contextmanager
def started(
    topology: TopologySpec,
    seed: int,
    out: Path | str | None,
    options: NetworkOptions,
    aloud: Aloud = nullcontext,
) -> Iterator[Network]:
    """Provide a network with options; what is built shows it `aloud`. Raises TcplabError."""
    with ExitStack() as stack:
        place = Path(out) if out else stack.enter_context(scratch())
        place.mkdir(parents=True, exist_ok=True)
        running = stack.enter_context(_running(topology, seed, place.resolve(), options, aloud))
        yield running
        running.end()


@contextmanager
def _running(
    topology: TopologySpec, seed: int, out: Path, options: NetworkOptions, aloud: Aloud
) -> Iterator[Network]:
    project, sources = Path(options.project).resolve(), dict[str, Path]()
    seen, folders = OF_IMAGE, None
    if not options.image:
        folders = folders_for(project, map(Path, options.folders), options.root)
        seen, sources = folders.for_guest, dict(folders.sources)
    spec = DrivenSpec(topology, seen, tuple(options.sysctls.items()), options.captures)
    clock, computing = _clock(options.clock), _computing(options.cpu)
    with aloud():
        ready = _lab(options.kernel)
    archive = job_archive(
        _JOB, to_data(spec), None, ahead=True, open_vswitch=False, seed=seed, clock=clock
    )
    with claimed_processor() as processor:
        settings = GuestSettings(
            ready,
            out,
            Limits(wall_seconds=_FOREVER, memory_mib=options.memory_mib),
            processor,
            sandbox=options.sandbox,
            takes_orders=True,
            folders=sources,
            clock=clock,
            computing=computing,
        )
        with guest(settings, compiled_code(ready), archive) as running:
            running.first_message("The network", _BOOT)
            foreign = options.root or options.image
            known = (topology, seed, out, project, environment(foreign), options.patience)
            python = _ANY_PYTHON if foreign else sys.executable
            own = None if foreign else folders
            yield Network(running, *known, python, own, computing=computing)


def _lab(kernel: str) -> Lab:
    ready = lab_on(kernel)
    if not ready.takes_orders:
        raise UsageError(
            f"Linux {kernel} runs no programs of users: it takes no orders.",
            f"Choose {DEFAULT}, or a kernel of your own that is like it.",
        )
    return ready


def _computing(cpu: str) -> bool:
    """Return whether computing takes virtual time. Raises UsageError."""
    if cpu not in ("free", "host"):
        raise UsageError(f"'{cpu[:40]}' is no cost of computing.", 'Choose cpu="free" or "host".')
    return cpu == "host"


def _clock(text: str) -> int:
    """Return nanoseconds since 1970. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"'{text[:40]}' is no time.", "Write 2026-12-01T12:00.") from error
    seconds = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    return round(seconds) * _SECOND
