"""What an experiment is: frozen data that run directories store and guests receive."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from experiments.flows.traffic import Exchange, planned
from testbed.guest.kernel_modules import KernelModule
from topologies.errors import UsageError
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Quantity, Rate, Share, Size

Q = TypeVar("Q", bound=Quantity)

FORMAT = 1
DEFAULT_KERNEL = "7.2"
"""The lab's own kernel (testbed.lab.kernel, which does not travel into guests)."""
# Bytes of each packet that are captured: headers with IPv6 and 60 bytes of TCP, so that no SACK
# block is cut.
SNAPLEN = 128
_RECORD = 16  # bytes in front of each packet in a capture, pcap-savefile(5)
FULL_FRAME = 1514  # bytes
LONGEST = Duration.parse("24h")
_LARGEST_INITIAL_WINDOW = 1000
_OF_DATAGRAMS = ("call", "ping")


def parameter(default: str, kind: type[Q], meaning: str) -> Q:
    """Return a field of an experiment's parameters with its default and its line of --help."""
    value: Q = field(default=kind.parse(default), metadata={"meaning": meaning})
    return value


def word(default: str, meaning: str, parts: tuple[str, ...] = ()) -> str:
    """Return a field that is a word; `parts` are what a shell offers for it, or joined by +."""
    value: str = field(default=default, metadata={"meaning": meaning, "parts": parts})
    return value


def claim_of(documentation: str | None) -> str:
    """Return an experiment's claim: the first paragraph of its module's docstring, in one line."""
    return " ".join((documentation or "").partition("\n\n")[0].split())


def words(text: str) -> list[str]:
    """Return the parts of a list such as cubic+reno."""
    return re.split(r"[+,]", text)


CONGESTION_CONTROLS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp"),
    *("nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""The algorithms that the lab kernel has, by the names of tcp_available_congestion_control."""


def congestion_control(algorithm: str) -> Condition:
    """Return the condition that hosts send with an algorithm of the lab. Raises UsageError."""
    if algorithm not in CONGESTION_CONTROLS:
        raise unknown_congestion_control(algorithm)
    return sending_with(algorithm)


def unknown_congestion_control(algorithm: str) -> UsageError:
    problem = f"There is no congestion control '{algorithm[:40]}'."
    return UsageError(problem, f"Choose from {', '.join(CONGESTION_CONTROLS)}.")


def sending_with(algorithm: str) -> Condition:
    """Return the condition that hosts send with `algorithm`, proved from their sockets."""
    sysctls = (("net.ipv4.tcp_congestion_control", algorithm),)
    return Condition(algorithm, algorithm, sysctls, (Proof("congestion_control", algorithm),))


def sack(on: bool) -> Condition:
    sysctls = tuple((f"net.ipv4.{name}", str(int(on))) for name in ("tcp_sack", "tcp_dsack"))
    text = "on" if on else "off"
    return Condition(f"sack_{text}", f"SACK {text}", sysctls, (Proof("sack_permitted", text),))


@dataclass(frozen=True)
class LinkParameters:
    """The parameters of every experiment over one kind of link; each is a command-line option."""

    bw: Rate = parameter("1mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter(
        "40ms", Duration, "Delay of the link, each way; the round trip takes twice as long."
    )
    loss: Share = parameter("10%", Share, "Packets that the link loses at random, each way.")
    jitter: Duration = parameter(
        "0s", Duration, "How far the delay varies up and down; more than 0 reorders packets."
    )
    queue: Packets = parameter("1000", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("20s", Duration, "How long the sender sends.")

    def channel(self) -> Channel:
        """One direction of the link."""
        return Channel(self.bw, self.delay, self.loss, self.jitter, self.queue)


Ecn = Literal["", "off", "classic", "accurate"]


@dataclass(frozen=True)
class FlowProgram:
    """Sources in Python of a server and a client that carry a flow instead of iperf.

    Hosts run them as `server PORT RECEIVED` and `client ADDRESS PORT SENT`, with Python's standard
    library. The client sends the file SENT, of the flow's `amount` of random bytes, and ends; the
    server writes what came to RECEIVED. The run compares both files. Without an amount SENT is
    more than the link carries, and the run ends the client after the flow's `duration`; the rate
    counts over that time at least, and a wrong byte makes it 0. Over `protocol` "udp" the programs
    are the transport.
    """

    server: str
    client: str
    protocol: Literal["tcp", "udp"] = "tcp"


@dataclass(frozen=True)
class Flow:
    """One iperf transfer of `duration`, or of `amount` bytes.

    An amount that has not arrived when `duration` ends is cut off, and counts as longer than all
    that ended.

    `window` is iperf's -w at both ends (bytes asked for; Linux doubles it). A `rate` makes it UDP.
    With an `interval` the client prints a line that often. It begins `start` after all servers are
    ready, and `duration` counts from its own start. A `congestion_control` of its own goes before
    that of its host (iperf's -Z, TCP_CONGESTION of tcp(7)). A `program` takes iperf's place. `ecn`
    sets tcp_ecn of its hosts: off, classic (RFC 3168) or accurate (RFC 9768); by default it is as
    the conditions set it. `traffic` is what an application sends instead of iperf
    (experiments.flows.traffic); each seed draws its `exchanges`.
    """

    name: str
    sender: str
    receiver: str
    duration: Duration
    window: Size | None = None
    port: int = 5001
    rate: Rate | None = None
    amount: Size | None = None
    interval: Duration | None = None
    start: Duration = Duration(0)
    congestion_control: str = ""
    program: FlowProgram | None = None
    ecn: Ecn = ""
    traffic: str = ""
    exchanges: tuple[Exchange, ...] = ()

    @property
    def end(self) -> Duration:
        """The end of its `duration`, counted as `start` is."""
        return self.start + self.duration

    @property
    def protocol(self) -> Literal["tcp", "udp"]:
        if self.program:
            return self.program.protocol
        return "udp" if self.rate or self.traffic.startswith(_OF_DATAGRAMS) else "tcp"

    @property
    def is_timed_program(self) -> bool:
        """Return whether a program sends until its `duration` ends."""
        return self.program is not None and self.amount is None

    @property
    def is_bounded(self) -> bool:
        """Return whether the flow is ended when its `duration` ends, as it does not end by it."""
        return self.program is not None or (self.amount is not None and self.protocol == "tcp")

    @property
    def is_connection(self) -> bool:
        """Return whether it is one connection of TCP, whose socket proves conditions."""
        return self.protocol == "tcp" and not self.traffic

    def __post_init__(self) -> None:
        iperfs = (self.window, self.rate, self.interval, self.congestion_control or None)
        if self.program and any(value is not None for value in iperfs):
            remedy = "Leave out window, rate, interval and algorithm: they are the program's."
            raise UsageError(f"Flow {self.name} has a program and options of iperf.", remedy)
        if not Duration.parse("1s") <= self.duration <= LONGEST:
            problem = f"A flow of {self.duration} is not possible."
            raise UsageError(problem, f"Choose a duration from 1s to {LONGEST}.")
        if self.end > LONGEST:
            problem = f"A flow that starts after {self.start} would end after {self.end}."
            raise UsageError(problem, f"All of it must fit into {LONGEST}.")
        if self.window is not None and self.window.base < 2048:
            problem = f"A window of {self.window} is too small for a packet."
            raise UsageError(problem, "Choose at least 2KiB.")
        if self.interval is not None and self.interval < Duration.parse("500ms"):
            problem = f"iperf prints no lines every {self.interval}."
            raise UsageError(problem, "Choose an interval of 500ms or more.")
        if self.traffic:
            self._check_traffic()
        if self.congestion_control and self.protocol == "udp":
            problem = f"Flow {self.name} is of UDP, which has no congestion control."
            raise UsageError(problem, "Leave its rate out, or its congestion control.")

    def _check_traffic(self) -> None:
        if self.rate or self.amount or self.window or self.interval:
            problem = f"Flow {self.name} has traffic, and settings of iperf."
            raise UsageError(problem, "Leave out rate, amount, window and interval.")
        if not self.exchanges:  # not in a guest, which gets those of its seed
            planned(self.name, self.traffic, self.duration, self.name)


@dataclass(frozen=True)
class Draw:
    """A random amount that each seed adds to fields of flows: the same under all conditions.

    `field` is a path such as flows.*.start or flows.0.amount. A uniform draw is below `amount`, an
    exponential one has it as mean, in the field's unit.
    """

    field: str
    amount: str
    kind: Literal["uniform", "exponential"] = "uniform"

    @property
    def path(self) -> list[str]:
        return self.field.split(".")

    def __post_init__(self) -> None:
        if self.path[0] != "flows" or len(self.path) != 3:
            problem = f"{self.field[:60]} cannot be drawn."
            raise UsageError(problem, "Draw a field of flows: flows.*.start.")


_ECN = {"off": "0", "classic": "1", "accurate": "3"}  # values of tcp_ecn (ip-sysctl.rst)
ProofKind = Literal["sack_permitted", "congestion_control", "absent_setting"]


@dataclass(frozen=True)
class Proof:
    """Evidence that the run itself must show, or its condition did not hold.

    `expected` is "on" or "off" for sack_permitted, the algorithm's name for congestion_control. For
    absent_setting, which specs do not hold at first, it is a sysctl, the value that the kernel
    behaves as if it had, and why, as in "net.ipv4.tcp_recovery=0: RACK came with Linux 4.4.".
    """

    kind: ProofKind
    expected: str


@dataclass(frozen=True)
class Condition:
    """One setting of all hosts for the flows. `sysctls` override the baseline, name by name.

    With an `initial_window` connections begin with so many segments instead of ten: initcwnd of all
    routes (ip-route(8)), read back as proof.
    """

    name: str
    label: str
    sysctls: tuple[tuple[str, str], ...] = ()
    proofs: tuple[Proof, ...] = ()
    initial_window: Packets | None = None

    def __post_init__(self) -> None:
        window = self.initial_window
        if window is not None and not 1 <= window.base <= _LARGEST_INITIAL_WINDOW:
            problem = f"An initial window of {window} segments is not possible."
            raise UsageError(problem, f"Choose 1 to {_LARGEST_INITIAL_WINDOW}.")


@dataclass(frozen=True)
class LinkChange:
    """From `at` after all servers are ready, the port named `port` has this channel.

    Its discipline, its queue and its delay line stay as they are, with the packets in them. Each
    condition begins with the link of the spec.
    """

    at: Duration
    port: str
    channel: Channel


Direction = Literal["larger", "smaller", "equal", "within"]
DEFAULT_REPETITIONS = 10


@dataclass(frozen=True)
class Subject:
    """The owner of a measure's value, by name: a condition, or one flow under it."""

    condition: str
    flow: str = ""


@dataclass(frozen=True)
class Headline:
    """A question that a run decides, and the claim that answers it, as data.

    `metric` is the name of a measure that analysis/measures/metrics.py declares; of a single
    flow it is one of those that begin with `metric.`. `what` is its name in a sentence, such as
    "the throughput". The claim is that the measure of `subject` is `direction`: larger or smaller
    than that of `against` under the same seed, equal to it but for `margin`, or within `low` to
    `high` times `expected` (no end if None). `expected` is in the unit of the measure, and
    `expectation` names it in a sentence, such as "what the link alone needs".

    `repetitions` is how many a run makes unless it is told; six are the least that can decide.
    """

    question: str
    metric: str
    what: str
    subject: Subject
    direction: Direction
    against: Subject | None = None
    margin: Share = Share.parse("5%")
    low: float | None = None
    high: float | None = None
    expected: float = 1.0
    expectation: str = ""
    repetitions: int = DEFAULT_REPETITIONS

    def __post_init__(self) -> None:
        if (self.direction == "within") is not (self.against is None):
            remedy = "Name a subject to compare `against`; for 'within' none, but `low` or `high`."
            raise UsageError(f"The claim '{self.question[:60]}' has no value to compare.", remedy)
        if self.direction == "within" and self.low is self.high is None:
            problem = f"The claim '{self.question[:60]}' holds for any value."
            raise UsageError(problem, "Give `low` or `high`.")
        if self.expected <= 0 or self.repetitions < 1:
            problem = f"The claim '{self.question[:60]}' needs an expected value and a repetition."
            raise UsageError(problem, "`expected` and `repetitions` are above zero.")

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The range of 'within' in the unit of the measure, None for no end."""
        low, high = (end and end * self.expected for end in (self.low, self.high))
        return low, high

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return (self.subject, self.against) if self.against else (self.subject,)


@dataclass(frozen=True)
class ExperimentSpec:
    """A named experiment. `captures` are the interfaces that tcpdump listens on.

    `modules` are congestion controls that are built and loaded first; the spec holds their source.
    `headline` is the claim that a report judges, None if none is declared. `kernel` is what the
    hosts run in virtual time (testbed.lab.kernel.choice). `sampling` is the time between two
    readings of all sockets; None leaves it to their number. With `told_later` a guest learns all
    but the nodes, cables and captures when these stand, so that it may be started ahead; it has one
    condition, and only senders are read. `changes` are those of the link meanwhile. `draws` are
    resolved for each seed (experiments.run.seed) before a guest learns the flows.
    """

    name: str
    claim: str
    topology: TopologySpec
    flows: tuple[Flow, ...]
    conditions: tuple[Condition, ...]
    captures: tuple[str, ...] = ()
    modules: tuple[KernelModule, ...] = ()
    format: int = FORMAT
    headline: Headline | None = None
    kernel: str = DEFAULT_KERNEL
    sampling: Duration | None = None
    told_later: bool = False
    changes: tuple[LinkChange, ...] = ()
    draws: tuple[Draw, ...] = ()

    def for_guest(self) -> ExperimentSpec:
        """Return what is carried out: neither claim nor name of the kernel may change a packet."""
        return replace(self, headline=None, kernel=DEFAULT_KERNEL)

    def capture_bytes(self) -> int:
        """Roughly the bytes of a seed's captures: full frames and an ACK for every second one."""
        ways = (
            (self.topology.bottleneck(flow.sender, flow.receiver).bandwidth, flow.duration)
            for flow in self.flows
        )
        frames = max(rate.base * duration.seconds / (8 * FULL_FRAME) for rate, duration in ways)
        return int(1.5 * frames * (SNAPLEN + _RECORD)) * len(self.captures) * len(self.conditions)

    def __post_init__(self) -> None:
        hosts = self.topology.named("host")
        for flow in self.flows:
            for end in (flow.sender, flow.receiver):
                if end not in hosts:
                    problem = f"Flow {flow.name} names {end}, which is no host."
                    raise UsageError(problem, f"Hosts are {', '.join(hosts)}.")
            if flow.sender == flow.receiver:
                problem = f"Flow {flow.name} goes from {flow.sender} to itself."
                raise UsageError(problem, "Name two hosts.")
            self.topology.bottleneck(flow.sender, flow.receiver)
            self.topology.bottleneck(flow.receiver, flow.sender)
        ports = {port.name for port in self.topology.ports}
        for name in self.captures:
            if name not in ports:
                problem = f"A capture names {name}, which is no interface."
                raise UsageError(problem, f"There are {', '.join(sorted(ports))}.")
        self._check_ecn()
        algorithms = [*CONGESTION_CONTROLS, *(module.algorithm for module in self.modules)]
        for flow in self.flows:
            if flow.congestion_control and flow.congestion_control not in algorithms:
                raise unknown_congestion_control(flow.congestion_control)
        if twice := next(
            (module for module in self.modules if algorithms.count(module.algorithm) > 1), None
        ):
            problem = f"{twice.name}.c registers '{twice.algorithm}', which is there already."
            raise UsageError(problem, "Give it a name of its own.")
        if not self.flows or not self.conditions:
            problem = f"Experiment {self.name} has no flow or no condition."
            raise UsageError(problem, "Give it a flow and a condition.")
        if self.told_later and len(self.conditions) > 1:
            raise UsageError(
                f"The guests of {self.name} are told later, and it has more than one condition.",
                "Make it two experiments.",
            )
        self._check_changes()
        self._check_headline()

    def ecn_sysctls(self, host: str) -> dict[str, str]:
        """Return the sysctl that the flows of a host set; empty if none does."""
        ends = (flow for flow in self.flows if host in (flow.sender, flow.receiver))
        asked = next((flow.ecn for flow in ends if flow.ecn), "")  # all say the same
        return {"net.ipv4.tcp_ecn": _ECN[asked]} if asked else {}

    def _check_ecn(self) -> None:
        asked: dict[str, str] = {}
        for flow in self.flows:
            for host in (flow.sender, flow.receiver) if flow.ecn else ():
                if asked.setdefault(host, flow.ecn) != flow.ecn:
                    raise UsageError(
                        f"{host} cannot have ECN both {asked[host]} and {flow.ecn}.",
                        "Give the flows hosts of their own: tcp_ecn is a setting of a host.",
                    )

    def _check_changes(self) -> None:
        channels = {port.name: port.channel for port in self.topology.ports if port.channel}
        for change in self.changes:
            before = channels.get(change.port)
            if before is None:
                problem = f"A change names {change.port}, which has no channel."
                raise UsageError(problem, f"There are {', '.join(channels)}.")
            names = ("bandwidth", "delay", "loss", "jitter", "gemodel")
            kept = replace(before, **{name: getattr(change.channel, name) for name in names})
            if kept != change.channel:
                problem = f"{change.port} cannot change its queue while packets are in it."
                raise UsageError(problem, "Change its rate, delay, loss or jitter.")

    def _check_headline(self) -> None:
        conditions = [condition.name for condition in self.conditions]
        flows = ["", *(flow.name for flow in self.flows)]
        for subject in self.headline.subjects if self.headline else ():
            if subject.condition not in conditions or subject.flow not in flows:
                raise UsageError(
                    f"The claim names {subject.condition} {subject.flow}".rstrip()
                    + ", which is not measured.",
                    f"Conditions are {', '.join(conditions)}, flows {', '.join(flows[1:])}.",
                )
