"""Traffic of applications in the guest: exchanges over TCP, and datagrams.

FLOW.exchanges.json has when each began and ended, in seconds after the flow's start, and its error,
with which the flow goes on. A summary as of iperf lets a flow be read like others.
"""

import asyncio
import errno
import json
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterable

from experiments.flows.traffic import TRAFFIC, Exchange, result_line
from experiments.flows.trial import LiveTrial
from experiments.spec import Flow
from testbed.guest.namespaces import network_namespace
from testbed.guest.programs import Stop
from topologies.addresses import address_of
from topologies.errors import TcplabError
from topologies.units import Duration

_HEAD = struct.Struct("=IQQ")  # number, bytes that follow, bytes of the answer
_PIECE = 1 << 18
_CONGESTION = 13  # TCP_CONGESTION
_ERRORS = {
    *("ETIMEDOUT", "ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "EPIPE"),
    *("EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "EMSGSIZE"),
}
"""Errors that the network causes, not the lab (tcp(7), udp(7), ip(7))."""


class Application:
    """One flow's sender and receiver."""

    def __init__(self, flow: Flow, trial: LiveTrial) -> None:
        self.flow, self.trial = flow, trial
        self.to = (address_of(trial.spec.topology, flow.receiver), flow.port)
        self._pids = trial.live.pid(flow.sender), trial.live.pid(flow.receiver)
        self.began: dict[int, float] = {}
        self.ended: dict[int, float] = {}
        self.failed: dict[int, str] = {}
        self.received = 0
        self.start = self.observed = 0.0
        self.listening = self._socket(1)
        self.listening.bind(("", flow.port))
        if flow.protocol == "tcp":
            self.listening.listen(1024)
        self._tasks: set[asyncio.Task[None]] = set()

    def _socket(self, end: int) -> socket.socket:
        """Return a socket at the sender (0) or the receiver (1)."""
        kind = socket.SOCK_STREAM if self.flow.protocol == "tcp" else socket.SOCK_DGRAM
        with network_namespace(self._pids[end]):
            made = socket.socket(socket.AF_INET, kind)
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of the condition before
        if self.flow.congestion_control:
            made.setsockopt(socket.IPPROTO_TCP, _CONGESTION, self.flow.congestion_control.encode())
        return made

    async def run(self, begin: float) -> None:
        """Send and receive until the flow's time and its last exchange are over."""
        with self.listening:  # the next condition binds its port
            self.start = begin + self.flow.start.seconds
            tcp = self.flow.protocol == "tcp"
            self._spawn(self._accept() if tcp else self._datagrams())
            await self._until(self.start)
            limit = self.start + self.flow.duration.seconds - time.monotonic()
            sending = asyncio.create_task(self._send_all() if tcp else self._send_datagrams())
            tasks = (sending, *self._tasks)
            await asyncio.wait(tasks, timeout=max(0.0, limit), return_when=asyncio.FIRST_COMPLETED)
            self.observed = self._now()
            sending.cancel()  # what has no answer by then counts as not ended
            if not tcp:
                await asyncio.sleep(_deadline(self.flow))
                self.observed = self._now()
            await _end([sending, *self._tasks])
        self._write()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.add(asyncio.create_task(work))

    async def _until(self, instant: float) -> None:
        await asyncio.sleep(max(0.0, instant - time.monotonic()))

    def _now(self) -> float:
        return round(time.monotonic() - self.start, 9)

    async def _send_all(self) -> None:
        connections: dict[int, list[tuple[int, Exchange]]] = defaultdict(list)
        for number, each in enumerate(self.flow.exchanges):
            connections[each.connection].append((number, each))
        await asyncio.gather(*map(self._send_over, connections.values()))

    async def _send_over(self, exchanges: list[tuple[int, Exchange]]) -> None:
        loop = asyncio.get_running_loop()
        connection: socket.socket | None = None
        try:
            for number, each in exchanges:
                if each.after and number != exchanges[0][0]:
                    await asyncio.sleep(each.at.seconds)
                else:
                    await self._until(self.start + each.at.seconds)
                self.began[number] = self._now()
                is_open, connection = connection is not None, connection or self._socket(0)
                try:
                    if not is_open:
                        await loop.sock_connect(connection, self.to)
                    await self._exchange(connection, number, each)
                    if number == exchanges[-1][0]:
                        connection.shutdown(socket.SHUT_WR)
                        await loop.sock_recv(connection, 1)
                except (OSError, EOFError) as error:  # of all exchanges that it leaves open
                    name = _of_network(error)
                    for begun, _ in exchanges:
                        if begun in self.began and begun not in self.ended:
                            self.failed.setdefault(begun, name)
                    connection.close()
                    connection = None
        finally:
            if connection:
                connection.close()

    async def _exchange(self, connection: socket.socket, number: int, each: Exchange) -> None:
        """Send, and read the answer. Raises OSError, EOFError."""
        head = _HEAD.pack(number, each.size.base, each.answer.base)
        await asyncio.get_running_loop().sock_sendall(connection, head)
        await self._write_to(connection, each.size.base)
        if each.answer.base:
            await self._read_from(connection, each.answer.base)
            self.ended[number] = self._now()

    async def _write_to(self, connection: socket.socket, amount: int) -> None:
        for done in range(0, amount, _PIECE):
            piece = bytes(min(_PIECE, amount - done))
            await asyncio.get_running_loop().sock_sendall(connection, piece)

    async def _read_from(self, connection: socket.socket, amount: int) -> bytes:
        """Return the last piece of so many bytes. Raises EOFError at an early end."""
        piece = b""
        while amount:
            piece = await asyncio.get_running_loop().sock_recv(connection, min(_PIECE, amount))
            if not piece:
                raise EOFError
            amount -= len(piece)
        return piece

    async def _accept(self) -> None:
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(self.listening)
            except OSError as error:
                _of_network(error)  # accept(2): that of a connection which is gone already
                continue
            self._spawn(self._serve(connection))

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                head = b""
                while len(head) < _HEAD.size:
                    piece = await loop.sock_recv(connection, _HEAD.size - len(head))
                    if not piece:
                        return
                    head += piece
                number, size, answer = _HEAD.unpack(head)
                await self._read_from(connection, size)
                self.received += size
                if answer:
                    await self._write_to(connection, answer)
                else:
                    self.ended[number] = self._now()
        except (OSError, EOFError) as error:
            _of_network(error)  # the sender notes it
        finally:
            connection.close()

    async def _send_datagrams(self) -> None:
        loop, sending = asyncio.get_running_loop(), self._socket(0)
        sending.connect(self.to)
        self._spawn(self._answers(sending))
        for number, each in enumerate(self.flow.exchanges):
            await self._until(self.start + each.at.seconds)
            self.began[number] = self._now()
            head = _HEAD.pack(number, each.size.base, each.answer.base)
            try:
                await loop.sock_sendall(sending, head.ljust(each.size.base, b"\0"))
            except OSError as error:
                self.failed[number] = _of_network(error)

    async def _answers(self, sending: socket.socket) -> None:
        while True:
            try:
                data = await asyncio.get_running_loop().sock_recv(sending, 1 << 16)
            except OSError as error:
                _of_network(error)  # an ICMP message about a datagram, which has no answer then
                continue
            self.ended.setdefault(_HEAD.unpack_from(data)[0], self._now())

    async def _datagrams(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            data, sender = await loop.sock_recvfrom(self.listening, 1 << 16)
            number, _size, answer = _HEAD.unpack_from(data)
            self.received += len(data)
            if answer:
                await loop.sock_sendto(self.listening, data, sender)
            else:
                self.ended[number] = self._now()

    def _write(self) -> None:
        rows = [
            {
                "size": each.size.base,
                "began": self.began.get(number),
                "ended": self.ended.get(number),
                "failed": "" if number in self.ended else self.failed.get(number, ""),
            }
            for number, each in enumerate(self.flow.exchanges)
        ]
        found = {
            "deadline": _deadline(self.flow),
            "observed": self.observed,
            "as_time_allows": TRAFFIC[self.flow.traffic.split()[0]].as_time_allows,
            "exchanges": rows,
        }
        file = self.trial.folder / f"{self.flow.name}.exchanges.json"
        file.write_text(json.dumps(found) + "\n")
        line = result_line(max([1.0, *self.ended.values()]), self.received)
        for side in ("client", "server"):
            self.trial.output(self.flow, side).write_text(line)


def _deadline(flow: Flow) -> float:
    """Return the deadline of a call in seconds; a probe waits as long for its last answer."""
    values = dict(text.partition("=")[::2] for text in flow.traffic.split()[1:])
    default = {"call": "150ms", "ping": "10s"}.get(flow.traffic.split()[0], "0s")
    return Duration.parse(values.get("deadline", default)).seconds


def _of_network(error: Exception) -> str:
    """Return the name of an error that a connection may have. Raises any other one."""
    if isinstance(error, EOFError):
        return "EOF"
    if isinstance(error, OSError) and (name := errno.errorcode.get(error.errno or 0)) in _ERRORS:
        return name
    raise error


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """End tasks. Raises the error of one that had ended by it."""
    for task in tasks:
        task.cancel()
    for found in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(found, BaseException) and not isinstance(found, asyncio.CancelledError):
            raise found


def work(applications: list[Application], begin: float, _stop: Stop) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*(each.run(begin) for each in applications))

    try:
        asyncio.run(all_of_them())
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        raise TcplabError(
            "More connections are open at once than a guest's 4096 files suffice for.",
            "Let flows make fewer requests, or smaller ones: every=exp:500ms size=exp:10kB.",
        ) from None
