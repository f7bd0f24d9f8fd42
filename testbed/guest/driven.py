"""A network whose hosts run any program, driven by orders of the program outside.

Between two orders virtual time stands still (testbed.guest.job_entry). In an order "do" names a
method `_do_NAME` of DrivenNetwork, the other members are its arguments. The reply has its result or
error, the time, and what each program printed.
"""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from testbed.guest import middlebox
from testbed.guest.faults import Faults
from testbed.guest.host_root import HostFolders, make_root, make_roots
from testbed.guest.job_entry import JobContext, OrderLine
from testbed.guest.kernel_modules import DRIVER, load_tunnel
from testbed.guest.namespaces import allow_algorithms, available_algorithms, network_namespace
from testbed.guest.network import LiveNetwork, cabled_network
from testbed.guest.packet_ring import WHOLE, PacketRing, block_size
from testbed.guest.user_program import EventLoop, ProgramStart, UserProgram
from topologies.addresses import address_of
from topologies.data import from_data, to_data
from topologies.errors import TcplabError
from topologies.faults import Fault, Spot
from topologies.spec import Channel, TopologySpec


class Captures:
    """Captures in files of `place`, which keep headers only after `whole` bytes."""

    def __init__(self, live: LiveNetwork, place: Path, loop: EventLoop, whole: int) -> None:
        self._live, self.place, self._loop, self._whole = live, place, loop, whole
        self._rings: dict[str, PacketRing] = {}
        self._block = block_size(2 * len(live.topology.named("host")))

    def begin(self, node: str, interface: str, name: str) -> None:
        """Capture an interface of a node in a file of that name, once. Raises OSError."""
        if name in self._rings:
            return
        with network_namespace(self._live.pid(node)):
            file = self.place / f"{name}.pcap"
            ring = self._rings[name] = PacketRing(interface, file, self._block, self._whole)
        self._loop.watch(ring.fileno(), ring.take)

    def write(self) -> list[str]:
        """Write what was captured so far, and return the files' names."""
        for ring in self._rings.values():
            ring.flush()
        return sorted(self._rings)

    def end(self) -> None:
        """Write all of it. Raises TcplabError if the kernel had no place for a packet."""
        for ring in self._rings.values():
            ring.close()
        if missed := {name: ring.missed for name, ring in self._rings.items() if ring.missed}:
            raise TcplabError(f"Captures lack packets: {missed}.", "Report it with your programs.")


_LOOPBACK = {"net.ipv6.conf.lo.disable_ipv6": "0"}
_LOOK = 1_000_000  # nanoseconds between two looks whether a port is open
_LISTENS = "0A"  # TCP_LISTEN in /proc/net/tcp


@dataclass(frozen=True)
class DrivenSpec:
    """A network to drive, its captures (whole up to `whole` bytes), what programs see."""

    topology: TopologySpec
    folders: HostFolders
    sysctls: tuple[tuple[str, str], ...] = ()
    captures: tuple[str, ...] = ()
    whole: int = WHOLE


def perform(data: Any, job: JobContext) -> None:
    """Build the network that `data` describes, and obey orders until one says to end."""
    spec: DrivenSpec = from_data(DrivenSpec, data)
    if job.attached(DRIVER):
        load_tunnel(job)
    job.line.network()
    hosts = {name: address_of(spec.topology, name) for name in spec.topology.named("host")}
    ways = _ways(spec.topology, list(hosts))
    # Go, Node and the JVM reserve far more memory than they use.
    Path("/proc/sys/vm/overcommit_memory").write_text("1")
    make_roots(spec.folders, hosts)
    with cabled_network(
        spec.topology, disposable=True, has_lines=job.virtual, bridges=True, ways=ways
    ) as live:
        middlebox.add_ipv6(live)
        middlebox.add_spare_routes(live)
        allow_algorithms(available_algorithms())
        for host in hosts:
            make_root(host, live.pid(host), spec.folders)
            live.set_sysctls(host, {**_LOOPBACK, **dict(spec.sysctls)})
        job.start_links()
        loop = EventLoop()
        captures = Captures(live, job.delivery, loop, spec.whole)
        for port in spec.topology.ports:
            if port.name in spec.captures or spec.topology.kind(port.node) == "host":
                captures.begin(port.node, port.name, port.name)
        live.shape()
        job.start_flows()
        network = DrivenNetwork(live, loop, captures, Faults(live, loop, job.line.seed))
        try:
            network.obey(OrderLine())
        finally:
            captures.end()


def _ways(topology: TopologySpec, hosts: list[str]) -> list[tuple[str, str]]:
    """Return pairs by whose first packets all switches learn; one alone learns from each host."""
    if not topology.named("switch"):
        return []
    if len(topology.named("switch")) == 1 and not topology.named("router"):
        return [*pairwise(hosts), (hosts[-1], hosts[0])]
    return [(one, other) for one in hosts for other in hosts if one != other]


LinkValues = tuple[list[str], dict[str, Any]]
"""Ports, and values that their channels get, such as {"loss": "10%"}."""


def _changed(channel: Channel, change: LinkValues) -> Channel:
    """Return a channel with these values. Raises UsageError."""
    changed: Channel = from_data(Channel, to_data(channel) | change[1], "link")
    return changed


class DrivenNetwork:
    """A live network and its programs, numbered from 0 in the order of their starts."""

    def __init__(
        self, live: LiveNetwork, loop: EventLoop, captures: Captures, faults: Faults
    ) -> None:
        self._live, self._loop, self._captures, self._faults = live, loop, captures, faults
        self._fault_numbers = count()
        self._programs: list[UserProgram] = []
        self._channels = {port.name: port.channel for port in live.topology.ports if port.channel}
        self._shaped, self._changes = dict(self._channels), list[LinkValues]()
        self._translations = middlebox.Translations(live)
        self._begun, self._clock = time.monotonic_ns(), time.time_ns()

    def obey(self, line: OrderLine) -> None:
        message = self._message({"ok": None})
        try:
            while (order := line.next(message))["do"] != "end":
                message = self._message(self._answer(order))
        finally:
            for program in self._programs:
                program.kill()

    def _answer(self, order: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"ok": getattr(self, f"_do_{order.pop('do')}")(**order)}
        except TcplabError as error:  # the caller's: time has not ended
            return {"error": error.problem, "remedy": error.remedy}
        except (OSError, ValueError, LookupError) as error:
            return {"error": f"{error}.", "remedy": ""}

    def _message(self, answer: dict[str, Any]) -> dict[str, Any]:
        self._loop.drain()
        news = {number: program.news() for number, program in enumerate(self._programs)}
        fresh = {number: new for number, new in news.items() if new}
        return {**answer, "now": self._now(), "begun": self._clock, "news": fresh}

    def _now(self) -> int:
        return time.monotonic_ns() - self._begun

    def _do_start(self, host: str, **start: Any) -> None:
        wanted: ProgramStart = from_data(ProgramStart, start)
        pid = self._live.pid(host)
        self._programs.append(UserProgram(pid, host, wanted, self._loop, self._now))

    def _do_wait(self, program: int, timeout: int) -> bool:
        waited = self._programs[program]
        return self._until(lambda: waited.ended_at is not None, timeout)

    def _do_wait_text(self, program: int, text: str, timeout: int) -> bool:
        waited, wanted = self._programs[program], text.encode()
        self._until(lambda: waited.has_printed(wanted) or waited.ended_at is not None, timeout)
        return waited.has_printed(wanted)

    def _do_wait_port(self, host: str, port: int | None, timeout: int) -> bool:
        deadline = time.monotonic_ns() + timeout
        while not (listens := self._listens(host, port)) and time.monotonic_ns() < deadline:
            if all(program.ended_at is not None for program in self._programs):
                break
            self._do_sleep(_LOOK)
        return listens

    def _listens(self, host: str, port: int | None) -> bool:
        """Return whether a socket of TCP listens on the port, or one of UDP has it; None: any."""
        tables = Path(f"/proc/{self._live.pid(host)}/net")
        for kind in ("tcp", "tcp6", "udp", "udp6"):
            for line in (tables / kind).read_text().splitlines()[1:]:
                _number, local, _remote, state = line.split()[:4]
                is_open = state == _LISTENS or kind.startswith("udp")
                if is_open and port in (None, int(local.rpartition(":")[2], 16)):
                    return True
        return False

    def _do_signal(self, program: int, name: str) -> None:
        self._programs[program].signal(signal.Signals[name])

    def _do_sleep(self, timeout: int) -> None:
        self._until(lambda: False, timeout)

    def _until(self, holds: Callable[[], bool], timeout: int) -> bool:
        return self._loop.run(holds, time.monotonic_ns() + timeout)

    def _do_link(
        self, ports: list[str], values: dict[str, Any], at: int, lasts: int | None
    ) -> None:
        change, changes = (ports, values), self._changes
        if lasts is None:  # for good, under the changes that are for a time

            def keep() -> None:
                self._channels |= {name: _changed(self._channels[name], change) for name in ports}

            self._later(at, lambda: self._reshape(keep))
        else:
            add, remove = (partial(each, change) for each in (changes.append, changes.remove))
            self._later(at, lambda: self._reshape(add), lasts, lambda: self._reshape(remove))

    def _do_fault(
        self, fault: dict[str, Any], ports: dict[str, list[str]], at: int, lasts: int | None
    ) -> list[int]:
        """Put a fault at several ports, and return the numbers of what that makes."""
        wanted: Fault = from_data(Fault, fault)
        places = [Spot(port, tuple(sources)) for port, sources in ports.items()]
        numbers = [next(self._fault_numbers) for _ in places]

        def begin() -> None:
            for number, place in zip(numbers, places, strict=True):
                self._faults.put(number, place, wanted)

        self._later(at, begin, lasts, lambda: self._do_heal(numbers))
        return numbers

    def _do_heal(self, faults: list[int] | None) -> None:
        """End faults, or all that were ever asked for."""
        for number in range(next(self._fault_numbers)) if faults is None else faults:
            self._faults.heal(number)

    def _do_hits(self, faults: list[int]) -> int:
        return sum(map(self._faults.hits, faults))

    def _do_reset(self, ends: list[tuple[str, int]]) -> int:
        self._captures.write()
        return self._faults.reset(ends, self._captures.place)

    def _do_carrier(self, interface: str, up: bool, at: int, lasts: int | None) -> None:
        change = partial(middlebox.set_carrier, self._live, interface)
        self._later(at, lambda: change(up), lasts, lambda: change(not up))

    def _later(
        self,
        at: int,
        begin: Callable[[], None],
        lasts: int | None = None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """Do something `at` ns from now, which is at once for 0, and its end `lasts` ns later."""
        moment = time.monotonic_ns() + at
        self._loop.at(moment, begin)
        if lasts is not None:
            self._loop.at(moment + lasts, end)
        if not at:
            self._loop.run(lambda: False, moment)

    def _do_translate(self, router: str, hosts: list[str]) -> str:
        return self._translations.renew(router, hosts)

    def _do_sysctls(self, host: str, values: dict[str, str]) -> dict[str, str]:
        return self._live.set_sysctls(host, values)

    def _reshape(self, prepare: Callable[[], None]) -> None:
        """Give ports whose values differ now their channels; all others keep their chance."""
        prepare()
        for name, channel in self._channels.items():
            for change in self._changes:
                channel = _changed(channel, change) if name in change[0] else channel
            if channel != self._shaped[name]:
                self._shaped[name] = channel
                self._live.change(name, channel)

    def _do_loopback(self, host: str, values: dict[str, Any]) -> None:
        self._captures.begin(host, "lo", f"{host}-lo")
        middlebox.shape_loopback(self._live, host, from_data(Channel, values))

    def _do_packets(self) -> list[str]:
        return self._captures.write()
