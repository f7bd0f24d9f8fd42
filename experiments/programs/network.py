"""A network whose hosts run programs, driven step by step: virtual time stands still in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Unpack

from experiments.programs import links
from experiments.programs.capture import CapturedConnection, HostCapture
from experiments.programs.folders import VisibleFolders, doubt
from experiments.programs.program import (
    CALL,
    CALLER,
    RUNNER,
    SECOND,
    Program,
    ProgramFailed,
    answered,
    asked,
    nanoseconds,
)
from experiments.programs.words import (
    Argv,
    FaultWords,
    LinkWords,
    NetworkWords,
    OptionWords,
    StartWords,
    words_of,
)
from testbed.guest.packet_ring import WHOLE
from testbed.host import supervise
from testbed.virtual.guest import LineSilent, RunningGuest
from topologies.addresses import address_of
from topologies.data import to_data
from topologies.errors import TcplabError, UsageError
from topologies.faults import partition
from topologies.spec import TopologySpec

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """An order: the virtual time after it in ns, what it was, and the wall seconds it took."""

    now_ns: int
    do: str
    arguments: dict[str, Any]
    wall: float


@dataclass(frozen=True)
class Host:
    """A host: programs are started in it."""

    network: Network
    name: str

    @property
    def address(self) -> str:
        """The IPv4 address of its first interface."""
        return address_of(self.network.topology, self.name)

    def start(
        self,
        argv: Argv,
        *,
        port: int | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        user: tuple[int, int] = (0, 0),
        input: str = "",
    ) -> Program:
        """Start a program; with `port` return when something listens there.

        Text is split as a shell does. `user` is a user's and a group's number. Raises
        ProgramFailed if the port stays closed, and UsageError for a program of this computer
        that hosts do not see.
        """
        network, words = self.network, words_of(argv)
        folder = str(cwd or network.project)
        variables = {**network.environment, **(env or {})}
        if network.folders and words:
            network.folders.require(Path(words[0]))
            reason = network.doubt(words[0], variables.get("PATH", ""), network.project / folder)
            if reason and reason not in network.doubts:
                network.doubts.append(reason)
        program = Program(network, len(network.programs), self.name, words)
        # Before the order: a short program has ended when the guest rests again.
        network.programs[program.number] = program
        network.order(
            "start",
            host=self.name,
            argv=list(words),
            environment=list(variables.items()),
            folder=folder,
            user=user[0],
            group=user[1],
            input=input,
        )
        if port is not None and not self.listens(port):
            raise program.failed(f"does not listen on port {port}")
        return program

    def listens(self, port: int | None, timeout: str | float = "10s") -> bool:
        """Wait until a program listens on the port, None: any; return whether one does in time."""
        waits = {"port": port, "timeout": nanoseconds(timeout)}
        return bool(self.network.order("wait_port", host=self.name, **waits))

    def run(
        self,
        argv: Argv,
        *,
        timeout: str | float = "1min",
        check: bool = True,
        **options: Unpack[StartWords],
    ) -> Program:
        """Run a program to its end. Raises ProgramFailed unless it ends well, or at all."""
        program = self.start(argv, **options).wait(timeout)
        return program.check() if check else program

    def unplug(
        self, interface: int = 0, at: str | float = 0.0, for_: str | float | None = None
    ) -> None:
        """Pull the cable: the interface has no carrier until `plug`, or for a time."""
        name = self.interface(interface)
        self.network.order("carrier", interface=name, up=False, **links.during(at, for_))

    def plug(self, interface: int = 0, at: str | float = 0.0) -> None:
        """Plug the cable in again."""
        name = self.interface(interface)
        self.network.order("carrier", interface=name, up=True, **links.during(at, None))

    def interface(self, number: int = 0) -> str:
        """Return the name of an interface. Raises UsageError."""
        names = [port.name for port in self.network.topology.ports_of[self.name]]
        if not 0 <= number < len(names):
            raise UsageError(f"{self.name} has no interface {number}.", f"It has {names}.")
        return names[number]

    def set_sysctls(self, values: Mapping[str, str]) -> None:
        """Set sysctls such as {"net.ipv4.tcp_congestion_control": "bbr"}. Raises TcplabError."""
        self.network.order("sysctls", host=self.name, values=dict(values))

    def shape_loopback(self, **link: Unpack[LinkWords]) -> None:
        """Give 127.0.0.1 and ::1 of this host a delay and a loss, each way, for its servers."""
        values = to_data(links.channel(**link))
        self.network.order("loopback", host=self.name, values=values)

    def call(self, function: Callable[..., Any], *given: Any, timeout: str | float = "1min") -> Any:
        """Return what a function of a module returns in this host; an async one is awaited.

        Raises what it raised, if that is one of Python's exceptions, or else ProgramFailed.
        """
        words = [self.network.python, "-c", CALLER, function.__qualname__]
        order = asked(function, given, [str(self.network.project)])
        program = self.start(words, input=order, env={CALL: RUNNER})
        return answered(program.wait(timeout))


@dataclass
class Network:
    """A running network. `out` has the captures as soon as they were asked for, and at the end.

    `patience` are wall seconds that an order may take; `python` runs functions in hosts. `folders`
    of this computer are what hosts see, or None if they see another system.
    """

    running: RunningGuest
    topology: TopologySpec
    seed: int
    out: Path
    project: Path
    environment: dict[str, str]
    patience: float
    python: str
    folders: VisibleFolders | None = None
    computing: bool = False
    has_whole_packets: bool = False
    now_ns: int = 0
    begun_ns: int = 0  # the hosts' clock when the network was ready, in nanoseconds since 1970
    programs: dict[int, Program] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    over: str = ""  # why it takes no more orders; empty if it does
    doubt: Callable[..., str] = field(default_factory=lambda: cache(doubt))  # of its programs
    doubts: list[str] = field(default_factory=list)  # reasons why another run may differ
    _orders: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def two_hosts(self, **settings: Unpack[NetworkWords]) -> tuple[Host, Host]:
        """Start h1 and h2 with a link such as delay="150ms". Raises UsageError if they run."""
        raise running_already()

    def build(self, topology: TopologySpec, **options: Unpack[OptionWords]) -> Network:
        """Start a network with options. Raises UsageError for one that runs."""
        raise running_already()

    @property
    def now(self) -> float:
        """Seconds of virtual time since the network was ready."""
        return self.now_ns / SECOND

    @property
    def link(self) -> links.NetworkLink:
        """All links together."""
        return links.link_of(self)

    def link_between(self, node: str, other: str) -> links.NetworkLink:
        """Return the link between two neighbours, or all packets between two hosts.

        Its right side is from the first to the second. Raises UsageError.
        """
        return links.link_between(self, node, other)

    def partition(self, *groups: Iterable[str], **words: Unpack[FaultWords]) -> links.NetworkFault:
        """Lose all packets between hosts of different groups, such as {"h1"}, {"h2", "h3"}.

        Hosts that are in no group reach all others. Raises UsageError.
        """
        return links.put(self, "drop", partition(self.topology, groups), words)

    def heal(self) -> None:
        """End all faults, also those that have not begun."""
        self.order("heal", faults=None)

    def reset(self, connection: CapturedConnection) -> None:
        """Send a RST to both ends of a connection of a capture, which get it now.

        Raises UsageError if it is over or translated.
        """
        ends = [(connection[f"host_{end}"], connection[f"port_{end}"]) for end in "ab"]
        if not self.order("reset", ends=ends):
            raise UsageError(
                f"No host has the connection {ends[0]} to {ends[1]}.",
                "Choose one of network.capture(host).connections, of a host that is an end.",
            )

    def translate(self, router: str, host: Host | str, *more: Host | str) -> str:
        """Let a router translate addresses of hosts to one outer address (NAT), and return it.

        Several hosts share the address, each with 4,096 ports to send from. A second call chooses
        another address, as when a router starts again.
        """
        hosts = [each if isinstance(each, Host) else self.host(each) for each in (host, *more)]
        names = [each.name for each in hosts]
        return str(self.order("translate", router=router, hosts=names))

    @property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(Host(self, name) for name in self.topology.named("host"))

    @property
    def h1(self) -> Host:
        return self.host("h1")

    @property
    def h2(self) -> Host:
        return self.host("h2")

    def host(self, name: str) -> Host:
        """Return the host of that name. Raises UsageError."""
        names = self.topology.named("host")
        if name not in names:
            raise UsageError(f"There is no host {name}.", f"Choose from {', '.join(names)}.")
        return Host(self, name)

    def sleep(self, time: str | float) -> None:
        """Let virtual time go on."""
        self.order("sleep", timeout=nanoseconds(time))

    def capture(self, host: Host | str = "h1", interface: int = 0) -> HostCapture:
        """Return the packets of a host's interface so far."""
        return HostCapture(self.capture_file(host, interface))

    def capture_file(self, host: Host | str = "h1", interface: int = 0) -> Path:
        """Return the file with the packets of a host's interface so far."""
        chosen = host if isinstance(host, Host) else self.host(host)
        if not self.over:
            self.order("packets")
        return self.out / f"{chosen.interface(interface)}.pcap"

    @property
    def unrepeatable(self) -> str:
        """Reason why another run differs: a program that spins, cpu="host"; or empty."""
        if self.computing:
            return 'computing took time of this computer (cpu="host")'
        return supervise.spin(self.out)

    @property
    def waits(self) -> list[str]:
        """Programs that waited for time in loops, in sentences; known after the end."""
        return supervise.waits(self.out)

    @property
    def notes(self) -> list[str]:
        """Sentences on whose programs ran, and on captures without whole packets."""
        words = [program.argv[0] for program in self.programs.values() if program.argv]
        origins = map(self.folders.origin, dict.fromkeys(words)) if self.folders else ()
        cut = [file.name for file in self.out.glob("*.pcap") if file.stat().st_size > WHOLE]
        more = f"{', '.join(sorted(cut))}: headers only after {WHOLE >> 20} MiB"
        return [*filter(None, origins), *([more] if cut and not self.has_whole_packets else [])]

    def end(self) -> None:
        """Kill the programs, and wait for the captures; then no more orders are taken."""
        if self.over:
            return
        self.over = "The network has ended."
        self._orders.shutdown()
        self.running.order({"do": "end"})
        self.running.follow(lambda *_: None).usage(self.out)

    async def awaited(self, call: Callable[P, T], *given: P.args, **options: P.kwargs) -> T:
        """Await a call that gives orders, such as awaited(h1.run, ["true"]).

        The loop of asyncio goes on meanwhile. Calls happen one by one, as they were awaited; one
        that is cancelled still ends.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._orders, partial(call, *given, **options))

    def order(self, do: str, **arguments: Any) -> Any:
        """Give an order, and return the guest's answer. Raises TcplabError."""
        if self.over:
            raise TcplabError(self.over, "Start a new network.")
        begun = time.monotonic()
        try:
            self.running.order({"do": do, **arguments})
            reply: dict[str, Any] = self.running.heard(self.patience)
        except LineSilent:
            self.over = (
                f"'{do}' took more than {self.patience:g} s of this computer's after"
                f" {self.now:.6f} s: a program computes without end or asks without waiting, or"
                " much happens. Let it wait less at once, or raise `patience`."
            )
            raise ProgramFailed(self.over) from None
        except TcplabError as error:
            self.over = str(error)
            raise
        self.now_ns, self.begun_ns = int(reply["now"]), int(reply["begun"])
        self.steps.append(Step(self.now_ns, do, arguments, time.monotonic() - begun))
        for number, news in reply["news"].items():
            if program := self.programs.get(int(number)):
                program.hear(news)
        if "error" in reply:
            raise TcplabError(f"{do}: {reply['error']}", reply["remedy"])
        return reply["ok"]


def running_already() -> UsageError:
    return UsageError("This network has been started.", "Use one network in a test.")
