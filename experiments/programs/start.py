"""Start a network of the lab kernel for programs of the user's, and run them twice."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, Literal, Unpack, cast

from experiments.programs.folders import OF_IMAGE, VisibleFolders, environment, folders_for
from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.program import SECOND, Program
from experiments.programs.words import LinkWords, NetworkWords, OptionWords
from experiments.run.session import lab_on
from experiments.run.verify import by_time
from testbed.guest.driven import DrivenSpec
from testbed.guest.kernel_modules import DRIVER
from testbed.guest.packet_ring import WHOLE
from testbed.host.job_archive import job_archive
from testbed.host.processes import claimed_processor
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits
from testbed.lab.kernel import DEFAULT
from testbed.lab.ready import Lab
from testbed.virtual.guest import GuestSettings, guest
from testbed.virtual.run import compiled_code
from testbed.virtual.sandbox import Sandbox
from topologies.data import to_data
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.spec import TopologySpec

_JOB = "testbed.guest.driven"
CLOCK = "2026-12-01"
"""The day that programs see unless another is named: certificates of this year are valid."""
_BOOT = 120.0  # wall seconds of a network, which gets one more for each node
_FOREVER = 1e9  # wall seconds of a debugger's session
_ANY_PYTHON = "python3"  # of a tree
_ANY_SIZE = 1 << 60  # bytes


@dataclass(frozen=True)
class NetworkOptions:
    """Settings of a network other than topology and seed.

    `project` is a folder that programs see and may write to, for the guest alone; `folders` are
    more that they see. `root` is an unpacked system that they see instead of this computer's; with
    `image` they see the lab's, and none of these.
    `sysctls` are of all hosts. `captures` are interfaces of switches and routers, such as r1-eth1,
    that are captured as hosts are. A capture above 16 MiB has headers only, unless `whole_packets`
    is true. `clock` is the time at the start, in ISO 8601. `patience` are
    wall seconds that an order may take. With cpu="host" computing takes virtual time as it takes
    this computer's, so no run repeats another.
    """

    project: Path | str = field(default_factory=Path.cwd)
    folders: tuple[Path | str, ...] = ()
    root: Path | str | None = None
    image: bool = False
    sysctls: Mapping[str, str] = field(default_factory=dict)
    captures: tuple[str, ...] = ()
    whole_packets: bool = False
    kernel: str = DEFAULT
    clock: str = CLOCK
    memory_mib: int = 1024
    patience: float = 120.0
    cpu: Literal["free", "host"] = "free"
    sandbox: type[Sandbox] | None = None


_FIELDS = {field.name for field in fields(NetworkOptions)}


def options_and_link(settings: NetworkWords) -> tuple[OptionWords, LinkWords]:
    """Return the settings that are NetworkOptions, and those of a link."""
    options = {name: value for name, value in settings.items() if name in _FIELDS}
    link = {name: value for name, value in settings.items() if name not in _FIELDS}
    return cast(OptionWords, options), cast(LinkWords, link)


@contextmanager
def network(
    topology: TopologySpec | None = None,
    *,
    seed: int = 1,
    out: Path | str | None = None,
    **settings: Unpack[NetworkWords],
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
    clock, computing = _clock(options.clock), options.cpu == "host"
    if options.cpu not in ("free", "host"):
        problem = f"'{options.cpu[:40]}' is no cost of computing."
        raise UsageError(problem, 'Choose cpu="free" or "host".')
    with ExitStack() as stack:
        place = Path(out) if out else stack.enter_context(scratch())
        place.mkdir(parents=True, exist_ok=True)
        place, project = place.resolve(), Path(options.project).resolve()
        visible = None
        if not options.image:
            copies = stack.enter_context(scratch())
            visible = folders_for(project, map(Path, options.folders), options.root, copies)
        with aloud():
            ready = lab_on(options.kernel)
        if not ready.takes_orders:
            raise UsageError(
                f"Linux {options.kernel} runs no programs of users: it takes no orders.",
                f"Choose {DEFAULT}, or a kernel of your own that is like it.",
            )
        settings = GuestSettings(
            ready,
            place,
            Limits(wall_seconds=_FOREVER, memory_mib=options.memory_mib),
            stack.enter_context(claimed_processor()),
            sandbox=options.sandbox,
            takes_orders=True,
            folders=dict(visible.sources) if visible else {},
            clock=clock,
            computing=computing,
        )
        archive = _archive(_spec(topology, visible, options), ready, seed, clock)
        running = stack.enter_context(guest(settings, compiled_code(ready), archive))
        running.first_message("The network", _BOOT + len(topology.nodes))
        foreign = options.root or options.image
        network = Network(
            running,
            topology,
            seed,
            place,
            project,
            environment(foreign),
            options.patience,
            _ANY_PYTHON if foreign else sys.executable,
            None if foreign else visible,
            computing,
            options.whole_packets,
        )
        yield network
        network.end()


def _spec(
    topology: TopologySpec, visible: VisibleFolders | None, options: NetworkOptions
) -> DrivenSpec:
    return DrivenSpec(
        topology,
        visible.for_guest if visible else OF_IMAGE,
        tuple(options.sysctls.items()),
        options.captures,
        _ANY_SIZE if options.whole_packets else WHOLE,
    )


def _archive(spec: DrivenSpec, ready: Lab, seed: int, clock: int) -> bytes:
    tunnel = ready.tunnel.read_bytes() if ready.tunnel.is_file() else b""
    more: dict[str, Any] = {"ahead": True, "open_vswitch": False, "seed": seed, "clock": clock}
    return job_archive(_JOB, to_data(spec), {DRIVER: tunnel}, **more)


def _clock(text: str) -> int:
    """Return nanoseconds since 1970. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"'{text[:40]}' is no time.", "Write 2026-12-01T12:00.") from error
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) * SECOND


AGAIN = "again"  # the folder of the second run's captures, in that of the first
_SHOWN, _BEFORE = 80, 20  # characters of a line, and of these before the first that differs


def twice(
    work: Callable[[Network], object],
    topology: TopologySpec | None = None,
    *,
    out: Path | str | None = None,
    seed: int = 1,
    **settings: Unpack[NetworkWords],
) -> list[str]:
    """Do `work` in two networks with the same seed, and return the differences as sentences.

    The list is empty if captures, output and exit statuses are equal. The second captures are in
    the folder `again` of `out`. Other settings are those of `tcplab.network`. Raises TcplabError.
    """
    require_virtual(settings.get("cpu"))
    with nullcontext(Path(out)) if out else scratch() as place:
        return compared(
            work, lambda folder: network(topology, seed=seed, out=folder, **settings), place
        )


def require_virtual(cpu: object) -> None:
    """Raise UsageError for a network in which computing takes this computer's time."""
    if cpu == "host":
        raise UsageError(
            'With cpu="host" computing takes this computer\'s time, so no run repeats another.',
            "Leave it out to run twice.",
        )


def compared(
    work: Callable[[Network], object],
    start: Callable[[Path], AbstractContextManager[Network]],
    out: Path,
) -> list[str]:
    ended = []
    for place in (out, out / AGAIN):
        with start(place) as running:
            work(running)
        ended.append(running)
    return differences(*ended)


def differences(first: Network, second: Network) -> list[str]:
    """Return the first packet and line that differ of captures and outputs, by time."""
    names = sorted(file.name for file in first.out.glob("*.pcap"))
    captures = by_time(first.out, second.out, names)
    pairs = zip_longest(first.programs.values(), second.programs.values())
    printed = [f"{text}." for one, other in pairs for text in _of_program(one, other)]
    return [f"{capture.sentence}." for capture in captures] + printed


def _of_program(one: Program | None, other: Program | None) -> Iterator[str]:
    program = one or other
    assert program is not None
    name = f"{program.number + 1}. {program.host}: {shlex.join(program.argv)}"
    if one is None or other is None:
        yield f"{name}: it was started once only"
        return
    for stream in one.printed:
        before, now = bytes(one.printed[stream]), bytes(other.printed[stream])
        if before != now:
            yield f"{name}: {_first_line(stream, before, now)}"
    if one.status != other.status:
        yield f"{name}: the exit status was {one.status} and is {other.status}"


def _first_line(stream: str, before: bytes, now: bytes) -> str:
    one, other = (text.decode(errors="surrogateescape") for text in (before, now))
    pairs = enumerate(zip_longest(one.split("\n"), other.split("\n")), 1)
    number, lines = next((number, lines) for number, lines in pairs if lines[0] != lines[1])
    characters = zip(*(line or "" for line in lines), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], characters))
    begin = max(0, alike - _BEFORE)
    was, now_is = ("absent" if line is None else repr(line[begin:][:_SHOWN]) for line in lines)
    return f"line {number} of {stream} was {was} and is {now_is}"
