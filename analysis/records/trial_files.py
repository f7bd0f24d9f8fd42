"""Files of one condition under one seed: counters, evidence, and a reader that parses each once."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from msgspec import Struct, field

from analysis.records import output
from analysis.records.json_reader import Problems, Record, parse
from analysis.records.output import SocketSample
from topologies import untrusted
from topologies.disciplines import of_kind
from topologies.disciplines.base import Discipline

_COUNTED_SINCE = {"TcpExtTCPTimeouts": (5, 1)}
"""Counters that are no measure before that Linux.

Before 5.1 a time-out that ends a recovery is counted elsewhere, and that follows another nowhere
(tcp_retransmit_timer in net/ipv4/tcp_timer.c; "tcp: fix SNMP TCP timeout under-estimation").
"""


class CountersFile(Struct, frozen=True):
    """The counters of each host, before the trial and after it."""

    before: dict[str, dict[str, float]] = field(default_factory=dict)
    after: dict[str, dict[str, float]] = field(default_factory=dict)

    def growth(self, host: str) -> dict[str, float]:
        before, after = self.before.get(host, {}), self.after.get(host, {})
        return {name: last - before.get(name, 0.0) for name, last in after.items()}

    def on_kernel(self, kernel: str) -> Self:
        """Without the counters that are no measure on a kernel, named as by "Linux 4.4.121"."""
        version = tuple(map(int, re.findall(r"\d+", kernel)[:2]))
        absent = {name for name, since in _COUNTED_SINCE.items() if version and version < since}
        before, after = (
            {
                host: {n: count for n, count in of.items() if n not in absent}
                for host, of in each.items()
            }
            for each in (self.before, self.after)
        )
        return type(self)(before, after)


_LINE, _RATE, _QUEUE, _POLICER = "1:", "2:", "3:", "ffff:"
"""Handles of delay line, rate, queue, and of the filters in front of them."""
_OF_HOST = "10:"  # handle of netem on a host's own port


class CakeTin(Struct, frozen=True):
    """A class of traffic of cake."""

    ecn_mark: float = 0


class Qdisc(Struct, frozen=True):
    """A queueing discipline with its counters, which topologies.disciplines explains."""

    kind: str = ""
    handle: str = ""
    bytes: float | None = None
    packets: float | None = None
    drops: float | None = None
    overlimits: float | None = None
    early: float | None = None
    pdrop: float | None = None
    dropped: float | None = None
    overlimit: float | None = None
    drop_overlimit: float | None = None
    marked: float | None = None
    ecn_mark: float | None = None
    ce_mark: float | None = None
    step_marks: float | None = None
    tins: tuple[CakeTin, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def counted(self, counter: str) -> float:
        """Return counters joined by +, of all classes or virtual queues, or among sfq's options."""
        return sum(map(self._counted, counter.split("+")))

    def _counted(self, counter: str) -> float:
        inner = [getattr(tin, counter, 0.0) for tin in self.tins]
        within = (self.options, *self.options.get("vqs", ()))
        inner += [options.get(counter, 0.0) for options in within]
        return float(getattr(self, counter, None) or sum(inner))


@dataclass(frozen=True)
class PortLoss:
    """The fate of packets offered to a port: `policed`, then `lost`, `dropped`, or `passed`."""

    port: str
    lost: float
    dropped: float
    passed: float
    policed: float = 0.0

    @property
    def offered(self) -> float:
        return self.policed + self.lost + self.dropped + self.passed

    @property
    def share(self) -> float:
        return self.lost / self.offered if self.offered else 0.0

    @property
    def drop_share(self) -> float:
        return self.dropped / self.offered if self.offered else 0.0


class QdiscsFile(Struct, frozen=True):
    """The disciplines of each port, before the trial and after it."""

    before: dict[str, tuple[Qdisc, ...]] = field(default_factory=dict)
    after: dict[str, tuple[Qdisc, ...]] = field(default_factory=dict)

    def data_port(self) -> PortLoss | None:
        """The port that carried most bytes: that towards the receiver; None without any."""
        port = max(self.after, key=self.carried, default="")
        return self.port_loss(port) if self.carried(port) else None

    def port_loss(self, port: str) -> PortLoss:
        # netem counts its child's drops among its own: the queue's are taken out again (tbf
        # passes on the queue's).
        dropped = max(self._grown(port, _RATE, "drops"), self._grown(port, _QUEUE, "drops"))
        lost = self._grown(port, _LINE, "drops") - dropped
        passed, policed = self._grown(port, _LINE, "packets"), self._grown(port, _POLICER, "drops")
        return PortLoss(port, lost, dropped, passed, policed)

    def managed_drops(self, port: str) -> float:
        """Drops by queue management in spite of room, and all drops of cake."""
        managed = self._managed(port)
        drops = [self._grown(port, _QUEUE, counter) for counter in managed.early_drops]
        return sum(drops[:1]) - sum(drops[1:])

    def marks(self, port: str) -> float:
        return sum(self._grown(port, _QUEUE, counter) for counter in self._managed(port).marks)

    def marks_again(self, port: str) -> float:
        """Return the most marks of packets that the port's queue counted twice."""
        return sum(self._grown(port, _QUEUE, each) for each in self._managed(port).marks_again)

    def _managed(self, port: str) -> Discipline:
        queue = next((row for row in self.after.get(port, ()) if row.handle == _QUEUE), None)
        return of_kind(queue.kind) if queue else Discipline()

    def carried(self, port: str) -> float:
        return self._grown(port, _LINE, "bytes")

    def host_drops(self, port: str) -> float:
        """Packets that netem on a host's own port dropped during the trial (reordering.json)."""
        return self._grown(port, _OF_HOST, "drops")

    def _grown(self, port: str, handle: str, counter: str) -> float:
        before, after = (
            sum(row.counted(counter) for row in rows.get(port, ()) if row.handle == handle)
            for rows in (self.before, self.after)
        )
        return after - before


class ProofEntry(Struct, frozen=True):
    """One claim about the condition, what was observed, and whether that shows it."""

    claim: str = ""
    observed: tuple[str, ...] = ()
    source: str = ""
    held: bool | None = None


class EvidenceFile(Struct, frozen=True):
    """evidence.json; `sysctls` as read back, `warnings` of what was cut off or missed."""

    held: bool | None = None
    warnings: tuple[str, ...] = ()
    sysctls: dict[str, dict[str, str]] = field(default_factory=dict)
    proofs: tuple[ProofEntry, ...] = ()


class RecordedSetting(Struct, frozen=True):
    """One setting of an interface: as asked for and as the kernel had it."""

    interface: str = ""
    field: str = ""
    asked: str = ""
    found: str = ""

    @property
    def agrees(self) -> bool:
        return self.asked == self.found


class EnvironmentFile(Struct, frozen=True):
    """environment.json. `clock` is virtual or real.

    `lines` says whether shaped ports were lines or token buckets, `same_draws` whether each
    condition met the same losses; None in runs from before these were written down. Of the settings
    of hosts an old kernel has the `shared_sysctls` only once, for all, and lacks the
    `absent_sysctls`. `switches` are "Open vSwitch" or, on a kernel without it, "bridge".
    """

    kernel: str = ""
    clock: str = ""
    asked_and_found: tuple[RecordedSetting, ...] = ()
    lines: bool | None = None
    same_draws: bool | None = None
    shared_sysctls: tuple[str, ...] = ()
    absent_sysctls: tuple[str, ...] = ()
    switches: str = ""
    tools: dict[str, str] = field(default_factory=dict)


class ExchangeRow(Struct, frozen=True):
    """An exchange's bytes, its begin and end (s, or None), and its connection's error."""

    size: float = 0
    began: float | None = None
    ended: float | None = None
    failed: str = ""

    @property
    def milliseconds(self) -> float | None:
        if self.began is None or self.ended is None:
            return None
        return 1000 * (self.ended - self.began)


class ExchangesFile(Struct, frozen=True):
    """FLOW.exchanges.json: the traffic of an application; `deadline` in seconds, 0 without one.

    The application was watched until `observed`, in seconds after its start. With `as_time_allows`
    the plan was longer than the flow, so that exchanges which did not begin are not missed.
    """

    deadline: float = 0
    observed: float = 0
    as_time_allows: bool = False
    exchanges: tuple[ExchangeRow, ...] = ()

    @property
    def due(self) -> tuple[ExchangeRow, ...]:
        """Return the exchanges that should have ended."""
        begun = tuple(each for each in self.exchanges if each.began is not None)
        return begun if self.as_time_allows else self.exchanges

    def at_least(self, each: ExchangeRow) -> float:
        """Return the milliseconds that an exchange took, or those after which it had not ended."""
        if each.milliseconds is not None:
            return each.milliseconds
        return 0.0 if each.began is None else max(0.0, 1000 * (self.observed - each.began))


class TrialFiles:
    """The files in `folder`; problems name them by their path, which begins with `prefix`."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder, self.prefix = folder, prefix
        self._parsed: dict[str, tuple[Any, str]] = {}

    def counters(self, problems: Problems) -> CountersFile:
        """Less those that are no measure on the kernel that counted."""
        return self._read(CountersFile, "counters", problems).on_kernel(self._kernel)

    def exchanges(self, flow: str, problems: Problems) -> ExchangesFile:
        name = f"{flow}.exchanges"
        there = (self.folder / f"{name}.json").exists()
        return self._read(ExchangesFile, name, problems) if there else ExchangesFile()

    def qdiscs(self, problems: Problems) -> QdiscsFile:
        return self._read(QdiscsFile, "qdiscs", problems)

    def evidence(self, problems: Problems) -> EvidenceFile:
        return self._read(EvidenceFile, "evidence", problems)

    def reordering(self) -> QdiscsFile | None:
        path = self.folder / "reordering.json"
        return parse(QdiscsFile, path)[0] if path.exists() else None

    def printed(self, flow: str, side: str) -> str:
        """Return the output of a flow's iperf `client` or `server`; empty if it left no file."""
        return untrusted.text_if_any(self.folder, f"{flow}.{side}.txt")

    def samples(self, host: str) -> dict[str, list[SocketSample]]:
        """Read a host's sockets by remote port, unkept as they are large. Raises ValueError."""
        lines = untrusted.text_if_any(self.folder, f"{host}.sockets.jsonl").splitlines()
        return output.by_port(lines)

    def _read(self, kind: type[Record], stem: str, problems: Problems) -> Record:
        """Parse STEM.json once; note what is wrong with it at each call."""
        if stem not in self._parsed:
            self._parsed[stem] = parse(kind, self.folder / f"{stem}.json")
        record: Record
        record, complaint = self._parsed[stem]
        if complaint:
            problems.left_out(f"{self.prefix}{stem}.json {complaint}")
        return record

    @cached_property
    def _kernel(self) -> str:
        return parse(EnvironmentFile, self.folder.parent / "environment.json")[0].kernel
