"""Parameters of queueing disciplines, by the names of their manual pages.

A guest imports them only if a network sets one: each object that Python makes moves packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from topologies.disciplines import Discipline, Settings
from topologies.foundation.errors import UsageError
from topologies.foundation.units import (
    Count,
    Duration,
    Frequency,
    Packets,
    Quantity,
    Rate,
    Share,
    Size,
)

_IN_TC: dict[type[Quantity], float] = {Duration: 1e3, Rate: 8, Share: 1e10, Frequency: 1e6}
"""Base units of 1 in tc's JSON: microseconds, bytes a second, wholes, hertz."""


T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """A parameter that is a quantity within bounds."""

    name: str
    kind: type[Quantity]
    meaning: str
    lowest: str
    highest: str
    key: str = ""
    """Its name in tc's JSON, if another."""
    scale: float = 0
    """Base units of 1 in tc's JSON, if not the usual number."""
    keywords: tuple[tuple[str, str], ...] = ()
    """Words of the manual page that stand for values."""
    needs: str = ""
    """The parameter without which it has no effect."""

    @property
    def values(self) -> str:
        """Return the possible values in words."""
        return ", ".join([f"{self.lowest} to {self.highest}", *dict(self.keywords)])

    def parsed(self, text: str) -> str:
        """Return the value in shortest form. Raises UsageError."""
        value = self.kind.parse(dict(self.keywords).get(text, text))
        low, high = self.kind.parse(self.lowest), self.kind.parse(self.highest)
        if not low <= value <= high:
            article = "An" if self.name[0] in "aeio" else "A"
            raise UsageError(
                f"{article} {self.name} of {value} is not possible.", f"Choose {low} to {high}."
            )
        return str(value)

    def words(self, text: str) -> str:
        """Return tc's words for a value."""
        value = self.kind.parse(text)
        if isinstance(value, Duration):
            return f"{self.name} {value.base // 1000}.{value.base % 1000:03d}us"
        if isinstance(value, Rate):
            return f"{self.name} {value.base}bit"
        return f"{self.name} {value.base / self._scale:.10g}"

    def found(self, options: Mapping[str, Any]) -> str:
        """Return the value that tc reads back; empty if it shows none."""
        shown = options.get(self.key or self.name)
        return "" if shown is None else str(self.kind(round(float(shown) * self._scale)))

    @property
    def _scale(self) -> float:
        return self.scale or _IN_TC.get(self.kind, 1)

    def number(self, text: str) -> int:
        """Return the value as netlink has it."""
        return round(self.kind.parse(text).base / self._scale)

    def agrees(self, asked: str, found: str) -> bool:
        """Check if the kernel's value is what was asked for, within the steps of its clock."""
        if not found:
            return False
        one, other = (self.kind.parse(text).base for text in (asked, found))
        step = 2100 if self.kind is Duration else 1e-3 * one  # codel counts in 1024 ns
        step = 5e-3 * one if self.kind is Frequency else step  # dualpi2 multiplies by 4.19
        return abs(one - other) <= max(step, 0.51 * self.scale)


@dataclass(frozen=True)
class Choice:
    """A parameter with a few values: each with tc's words, and with its value in tc's JSON."""

    name: str
    meaning: str
    choices: tuple[tuple[str, str, Any], ...] = ()
    key: str = ""
    needs: str = ""

    kind = str

    @property
    def values(self) -> str:
        return ", ".join(value for value, *_ in self.choices)

    def parsed(self, text: str) -> str:
        """Return the value. Raises UsageError."""
        if text not in (values := [value for value, *_ in self.choices]):
            raise UsageError(f"{self.name} cannot be '{text[:40]}'.", f"Choose {_listed(values)}.")
        return text

    def words(self, text: str) -> str:
        return next(words for value, words, _ in self.choices if value == text)

    def found(self, options: Mapping[str, Any]) -> str:
        shown = options.get(self.key or self.name, False)
        return next((value for value, _, seen in self.choices if seen == shown), str(shown))

    def number(self, text: str) -> int:
        return int(next(number for value, _, number in self.choices if value == text))

    def agrees(self, asked: str, found: str) -> bool:
        return asked == found


def require_partners(managed: Discipline, given: Iterable[str]) -> None:
    """Raise UsageError for a parameter without the one that it needs."""
    names = set(given)
    for name in names:
        needed = managed.parameter(name).needs
        if needed and needed not in names:
            raise UsageError(
                f"{managed.name}: {name} has no effect without {needed}.", f"Set {needed} too."
            )


def named(problem: str, name: str, known: Mapping[str, T]) -> T:
    """Return the one of that name. Raises UsageError with all names and a close match."""
    if name in known:
        return known[name]
    choices = f"{close_to(name, known)}Choose from {', '.join(known)}." if known else "It has none."
    raise UsageError(f"{problem} '{name[:40]}'.", choices)


def close_to(name: str, known: Iterable[str]) -> str:
    """Return a question with the closest of the known names; empty if none is close."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1)
    return f"Do you mean {close[0]}? " if close else ""


def _listed(words: Iterable[str]) -> str:
    *some, last = words
    return f"{', '.join(some)} or {last}" if some else last


def flag(name: str, meaning: str, off: str | None = None, key: str = "") -> Choice:
    """Return a parameter that is on or off; `off` are tc's words for off, by default no..."""
    without = f"no{name}" if off is None else off
    return Choice(name, meaning, (("on", name, True), ("off", without, False)), key)


def words_of(name: str, meaning: str, *values: str, key: str = "") -> Choice:
    """Return a parameter whose values are words of tc, which names no such group, and of JSON."""
    return Choice(name, meaning, tuple((value, value, value) for value in values), key)


TARGET = Setting("target", Duration, "Delay of packets that the queue tends to.", "1us", "1s")
INTERVAL = Setting("interval", Duration, "Longest round trip that is expected.", "1us", "10s")
CE_THRESHOLD = Setting(
    "ce_threshold", Duration, "All packets that waited longer are marked.", "1us", "10s"
)
ECN = flag("ecn", "Packets of flows with ECN are marked and not dropped.")
ECN_ONLY_ON = flag("ecn", ECN.meaning, off="")
FLOWS = Setting("flows", Count, "Queues into which flows are hashed.", "1", "65536")
QUANTUM = Setting("quantum", Size, "Bytes of a flow's turn.", "256B", "1MiB")
MEMORY = Setting("memory_limit", Size, "Memory of all waiting packets.", "2KiB", "2000MB")
TUPDATE = Setting("tupdate", Duration, "Time between two updates of the probability.", "1ms", "1s")
PIE = (
    TARGET,
    TUPDATE,
    Setting("alpha", Count, "Weight of the distance to the target.", "0", "32"),
    Setting("beta", Count, "Weight of the delay's change.", "0", "32"),
    ECN,
    flag("bytemode", "Large packets are dropped more often.", off="nobytemode"),
    flag(
        "dq_rate_estimator",
        "The delay is that of the queue at the rate of departures, not of time stamps.",
        off="no_dq_rate_estimator",
    ),
)


_RED = (
    Setting("min", Size, "Average length from which packets are dropped.", "1B", "1GiB"),
    Setting("max", Size, "Average length at which the probability is reached.", "1B", "1GiB"),
    Setting("probability", Share, "Greatest probability of an early drop.", "0.0001%", "100%"),
    ECN_ONLY_ON,
    flag("harddrop", "Above max packets are dropped even if they could be marked.", off=""),
)
"""Parameters of red, which sfq has for each flow."""


BUILT_IN: dict[str, tuple[Setting | Choice, ...]] = {
    "codel": (TARGET, INTERVAL, ECN, CE_THRESHOLD),
    "pie": PIE,
    "sfq": (
        Setting("depth", Packets, "Packets of one flow.", "1", "127"),
        Setting("flows", Count, "Most flows, up to the queue's packets.", "1", "65408"),
        Setting("divisor", Count, "Size of the hash table, a power of two.", "256", "65536"),
        Setting("perturb", Count, "Seconds between two changes of the hash.", "1", "3600"),
        QUANTUM,
        flag("headdrop", "Packets are dropped at the head of a flow's queue.", off=""),
        *_RED,
    ),
    "fq_codel": (
        *(TARGET, INTERVAL, ECN, CE_THRESHOLD, FLOWS, QUANTUM, MEMORY),
        Choice(
            "ce_threshold_selector",
            "Packets that ce_threshold marks, by value and mask: L4S, or all.",
            (("0x1/0x3", "ce_threshold_selector 0x1/0x3", 1),),
            needs="ce_threshold",
        ),
        Setting("drop_batch", Packets, "Packets that a full queue drops at once.", "1", "1000"),
    ),
    "fq": (
        Setting("flow_limit", Packets, "Packets of one flow.", "1", "1000000"),
        QUANTUM,
        Setting("initial_quantum", Size, "Bytes of a new flow's first turn.", "256B", "1MiB"),
        Setting("maxrate", Rate, "Most that a flow gets.", "1kbit", "30gbit"),
        Setting("buckets", Count, "Size of the hash table, a power of two.", "1", "262144"),
        Setting("orphan_mask", Count, "Hash of flows, 2^n - 1, on a router.", "1", "262143"),
        Setting("refill_delay", Duration, "Rest after which a flow is new.", "1us", "10s"),
        CE_THRESHOLD,
        Choice(
            "pacing",
            "Packets wait for the rate that their socket asks for.",
            (("on", "pacing", True), ("off", "nopacing", False)),
        ),
    ),
    "cake": (
        Setting("bandwidth", Rate, "Rate of cake's shaper.", "8kbit", "30gbit"),
        Setting(
            "overhead",
            Size,
            "Bytes that the shaper adds to each IP packet.",
            "0B",
            "256B",
            needs="bandwidth",
        ),
        Setting(
            "mpu",
            Size,
            "Least size of a packet for the shaper.",
            "1B",
            "256B",
            needs="bandwidth",
        ),
        replace(
            words_of("atm", "Cells that the shaper counts.", "atm", "ptm", "noatm"),
            needs="bandwidth",
        ),
        replace(
            flag("ingress", "The shaper counts dropped packets too.", off="egress"),
            needs="bandwidth",
        ),
        flag("split-gso", "Large buffers are cut into packets.", "no-split-gso", "split_gso"),
        Setting(
            "rtt",
            Duration,
            "Longest round trip that is expected.",
            "1us",
            "3600s",
            keywords=(
                *(("datacentre", "100us"), ("lan", "1ms"), ("metro", "10ms")),
                *(("regional", "30ms"), ("internet", "100ms"), ("oceanic", "300ms")),
                *(("satellite", "1s"), ("interplanetary", "3600s")),
            ),
        ),
        words_of(
            "diffserv",
            "Classes of traffic, by the packets' DSCP.",
            *("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
        ),
        words_of(
            "flowmode",
            "What gets its turn: flows, hosts, or both.",
            *("flowblind", "srchost", "dsthost", "hosts", "flows"),
            *("dual-srchost", "dual-dsthost", "triple-isolate"),
        ),
        Choice(
            "ack-filter",
            "Acknowledgements that later ones replace are dropped.",
            (
                ("on", "ack-filter", "enabled"),
                ("aggressive", "ack-filter-aggressive", "aggressive"),
                ("off", "no-ack-filter", "disabled"),
            ),
        ),
        flag("wash", "DSCPs are cleared."),
    ),
    "red": (
        *_RED,
        flag("nodrop", "With ecn, packets that cannot be marked are kept.", off=""),
        flag("adaptive", "The probability follows the average (Floyd and others, 2001).", off=""),
    ),
}


def red_words(red: Discipline, queue: int, frame: int, rate: int, given: Settings) -> str:
    """Return tc's words for red: its burst follows from min and max (tc-red(8)).

    Raises UsageError for bounds that no queue can have.
    """
    size, chosen = queue * frame, {"probability": "2%", "ecn": "on"} | dict(given)
    low = Size.parse(chosen.pop("min", str(Size(size // 6)))).base
    high = Size.parse(chosen.pop("max", str(Size(size // 2)))).base
    require_order(red.name, low, high, size, "bytes")
    if "nodrop" in chosen and chosen["nodrop"] == "on" and chosen["ecn"] != "on":
        raise UsageError(f"{red.name} cannot mark with nodrop and without ecn.", "Set ecn=on.")
    words = (red.parameter(name).words(value) for name, value in chosen.items())
    average = _average(low, high, frame)
    return " ".join((f"limit {size} {average} bandwidth {rate}bit", *words)).strip()


def sfq_words(sfq: Discipline, queue: int, frame: int, given: Settings) -> str:
    """Return tc's words for sfq with parameters; those of red turn red on for each flow.

    Bounds that are not given follow from the queue as in tc-sfq(8). Raises UsageError.
    """
    size, chosen = queue * frame, dict(given)
    words = [f"limit {queue} depth {chosen.pop('depth', min(queue, 127))}"]
    if {each.name for each in _RED} & set(chosen):
        high = Size.parse(chosen.pop("max", str(Size(size // 4)))).base
        low = Size.parse(chosen.pop("min", str(Size(high // 3)))).base
        require_order(sfq.name, low, high, size, "bytes")
        words.append(f"redflowlimit {size} {_average(low, high, frame)}")
    if Count.parse(chosen.get("flows", "1")).base > queue:
        raise UsageError(
            f"{sfq.name} has no room for {chosen['flows']} flows in {queue} packets.",
            f"Choose 1 to {queue} flows, or a longer queue.",
        )
    words += [sfq.parameter(name).words(value) for name, value in chosen.items()]
    return " ".join(words).strip()


def _average(low: int, high: int, frame: int) -> str:
    """Return tc's words for the average length between `low` and `high` bytes."""
    burst = max(1, (2 * (low // frame) + high // frame) // 3 + 1)
    return f"min {low} max {high} avpkt {frame} burst {burst}"


def require_order(name: str, low: int, high: int, limit: int, unit: str) -> None:
    """Raise UsageError if red's bounds are not in order."""
    if not low < high <= limit:
        raise UsageError(
            f"{name} cannot drop from {low} to {high} {unit} in a queue of {limit}.",
            "Choose min below max, and max up to the queue.",
        )
