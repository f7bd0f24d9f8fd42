"""A network whose hosts run any program, driven by orders of the program outside.

Between two orders the guest's kernel rests, so virtual time stands still (testbed.guest.job_entry).
An order is an object: "do" names a method `_do_NAME` of DrivenNetwork, the other members are its
arguments. The reply has its result, or the error in a sentence, the time, and what each program
printed. Captures of all hosts can be read while they go on.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from testbed.guest.host_root import HostFolders, make_root, make_roots
from testbed.guest.job_entry import JobContext, OrderLine, copy_out
from testbed.guest.middlebox import (
    Translations,
    add_ipv6,
    add_spare_routes,
    set_carrier,
    shape_loopback,
)
from testbed.guest.namespaces import allow_algorithms, available_algorithms
from testbed.guest.network import LiveNetwork, cabled_network
from testbed.guest.programs import printed, wait_for
from testbed.guest.user_program import EventLoop, ProgramStart, UserProgram
from topologies.addresses import address_of
from topologies.data import from_data, to_data
from topologies.errors import TcplabError
from topologies.spec import Channel, TopologySpec

_START = 10.0  # seconds that tcpdump may take to start
_SLEEPS = "S"  # proc_pid_stat(5)
_TURNS = 100  # given to tcpdump at most


@contextmanager
def captured(
    live: LiveNetwork, job: JobContext, also: tuple[str, ...] = ()
) -> Iterator[dict[str, int]]:
    """Capture on each host, and on the interfaces `also`, until the block ends.

    Yields the process of each capture's file.
    """
    started = {}
    for port in live.topology.ports:
        if port.name in also or live.topology.kind(port.node) == "host":
            said = job.work / f"{port.name}.tcpdump.txt"
            command = f"tcpdump -Z root -n -p -i {port.name} -B 8192 --immediate-mode -U --nano -w"
            words = [*command.split(), str(job.work / f"{port.name}.pcap")]
            started[port.name] = live.start(port.node, words, said, job.patience)
            wait_for("tcpdump", partial(printed, said, "listening on"), _START, 0.001)
    try:
        yield {f"{name}.pcap": process.pid for name, process in started.items()}
    finally:
        for process in started.values():
            process.send_signal(signal.SIGINT)
        for name, process in started.items():
            process.wait()
            job.deliver(f"{name}.pcap")


def give_turns(pid: int) -> None:
    """Let a process run until it sleeps, which takes no time."""
    for _turn in range(_TURNS):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == _SLEEPS:
            return
        os.sched_yield()


_LOOPBACK = {"net.ipv6.conf.lo.disable_ipv6": "0"}
_LOOK = 1_000_000  # nanoseconds between two looks whether a port is open
_LISTENS = "0A"  # TCP_LISTEN in /proc/net/tcp


@dataclass(frozen=True)
class DrivenSpec:
    """A network to drive, and what its programs see.

    All hosts are captured, and the interfaces of `captures`.
    """

    topology: TopologySpec
    folders: HostFolders
    sysctls: tuple[tuple[str, str], ...] = ()
    captures: tuple[str, ...] = ()


def perform(data: Any, job: JobContext) -> None:
    """Build the network that `data` describes, and obey orders until one says to end."""
    spec: DrivenSpec = from_data(DrivenSpec, data)
    job.line.network()
    hosts = {name: address_of(spec.topology, name) for name in spec.topology.named("host")}
    ways = [(one, other) for one in hosts for other in hosts if one != other]
    # Go, Node and the JVM reserve far more memory than they use.
    Path("/proc/sys/vm/overcommit_memory").write_text("1")
    make_roots(spec.folders, hosts)
    with cabled_network(
        spec.topology, disposable=True, has_lines=job.virtual, bridges=True, ways=ways
    ) as live:
        add_ipv6(live)
        add_spare_routes(live)
        allow_algorithms(available_algorithms())
        for host in hosts:
            make_root(host, live.pid(host), spec.folders)
            live.set_sysctls(host, {**_LOOPBACK, **dict(spec.sysctls)})
        job.start_links()
        with captured(live, job, spec.captures) as captures:
            live.shape()
            job.start_flows()
            network = DrivenNetwork(live, job, captures)
            try:
                network.obey(OrderLine())
            finally:
                network.kill_all()


class DrivenNetwork:
    """A live network and its programs, numbered from 0 in the order of their starts."""

    def __init__(self, live: LiveNetwork, job: JobContext, captures: dict[str, int]) -> None:
        self._live, self._job, self._captures = live, job, captures
        self._loop = EventLoop()
        self._programs: list[UserProgram] = []
        self._channels = {port.name: port.channel for port in live.topology.ports if port.channel}
        self._translations = Translations(live)
        self._begun, self._clock = time.monotonic_ns(), time.time_ns()

    def obey(self, line: OrderLine) -> None:
        """Carry out orders until one says to end."""
        message = self._message({"ok": None})
        while (order := line.next(message))["do"] != "end":
            message = self._message(self._answer(order))

    def kill_all(self) -> None:
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
        program = UserProgram(self._live.pid(host), host, wanted, self._loop)
        program.watch(self._now)
        self._programs.append(program)

    def _do_wait(self, program: int, timeout: int) -> bool:
        waited = self._programs[program]
        return self._until(lambda: waited.ended_at is not None, timeout)

    def _do_wait_text(self, program: int, text: str, timeout: int) -> bool:
        waited, wanted = self._programs[program], text.encode()
        self._until(lambda: waited.has_printed(wanted) or waited.ended_at is not None, timeout)
        return waited.has_printed(wanted)

    def _do_wait_port(self, host: str, port: int | None, timeout: int) -> bool:
        deadline = self._moment(timeout)
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
        return self._loop.run(holds, self._moment(timeout))

    def _moment(self, later: int) -> int:
        return time.monotonic_ns() + later

    def _do_link(
        self, ports: list[str], values: dict[str, Any], at: int, lasts: int | None
    ) -> None:
        fresh = {
            name: from_data(Channel, {**to_data(self._channels[name]), **values}, name)
            for name in ports
        }
        if lasts is None:
            self._later(at, lambda: self._keep(fresh))
        else:
            before = {name: self._channels[name] for name in ports}
            self._later(at, lambda: self._set(fresh), lasts, lambda: self._set(before))

    def _do_carrier(self, interface: str, up: bool, at: int, lasts: int | None) -> None:
        change = partial(set_carrier, self._live, interface)
        self._later(at, lambda: change(up), lasts, lambda: change(not up))

    def _later(
        self,
        at: int,
        begin: Callable[[], None],
        lasts: int | None = None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """Do something `at` ns from now, which is at once for 0, and its end `lasts` ns later."""
        moment = self._moment(at)
        self._loop.at(moment, begin)
        if lasts is not None:
            self._loop.at(moment + lasts, end)
        if not at:
            self._loop.run(lambda: False, moment)

    def _do_translate(self, router: str, hosts: list[str]) -> str:
        return self._translations.renew(router, hosts)

    def _do_sysctls(self, host: str, values: dict[str, str]) -> dict[str, str]:
        return self._live.set_sysctls(host, values)

    def _keep(self, channels: dict[str, Channel]) -> None:
        self._channels |= channels
        self._set(channels)

    def _set(self, channels: dict[str, Channel]) -> None:
        for name, channel in channels.items():
            self._live.change(name, channel)

    def _do_loopback(self, host: str, values: dict[str, Any]) -> None:
        shape_loopback(self._live, host, from_data(Channel, values))

    def _do_packets(self) -> list[str]:
        """Deliver what was captured so far, once tcpdump has written all of it."""
        for pid in self._captures.values():
            give_turns(pid)
        for name in self._captures:
            copy_out(self._job.work / name, self._job.delivery / name)
        return sorted(self._captures)
