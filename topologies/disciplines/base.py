"""What tcplab knows of a discipline and its parameters; first in, first out disciplines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from topologies.errors import UsageError, named
from topologies.units import Count, Duration, Frequency, Quantity, Rate, Share, Size

_IN_TC: dict[type[Quantity], float] = {Duration: 1e3, Rate: 8, Share: 1e10, Frequency: 1e6}
"""Base units of 1 in tc's JSON: microseconds, bytes a second, wholes, hertz."""


@dataclass(frozen=True)
class Setting:
    """A parameter that is a quantity within bounds."""

    name: str
    kind: type[Quantity]
    meaning: str
    lowest: str
    highest: str
    key: str = ""  # its name in tc's JSON, if another
    scale: float = 0  # base units of 1 in tc's JSON, if not the usual number
    keywords: tuple[tuple[str, str], ...] = ()  # words of the manual page that stand for values
    needs: str = ""  # the parameter without which it has no effect
    step: str = ""  # the kernel's step, if it is coarser than the unit; values are rounded up

    def held(self, text: str) -> str:
        """Return the value as the kernel holds it."""
        step = self.kind.parse(self.step).base if self.step else 1
        return str(self.kind(-(-self.kind.parse(text).base // step) * step))

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
            problem = f"{article} {self.name} of {value} is not possible."
            raise UsageError(problem, f"Choose {low} to {high}.")
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

    def held(self, text: str) -> str:
        return text

    @property
    def values(self) -> str:
        return ", ".join(value for value, *_ in self.choices)

    def parsed(self, text: str) -> str:
        """Return the value. Raises UsageError."""
        if text not in (values := [value for value, *_ in self.choices]):
            listed = " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))
            raise UsageError(f"{self.name} cannot be '{text[:40]}'.", f"Choose {listed}.")
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


def flag(name: str, meaning: str, off: str | None = None, key: str = "", needs: str = "") -> Choice:
    """Return a parameter that is on or off; `off` are tc's words for off, by default no..."""
    without = f"no{name}" if off is None else off
    return Choice(name, meaning, (("on", name, True), ("off", without, False)), key, needs)


def words_of(name: str, meaning: str, *values: str, needs: str = "") -> Choice:
    """Return a parameter whose values are words of tc, which names no such group, and of JSON."""
    choices = tuple((value, value, value) for value in values)
    return Choice(name, meaning, choices, needs=needs)


TARGET = Setting("target", Duration, "Delay of packets that the queue tends to.", "1us", "1s")
INTERVAL = Setting("interval", Duration, "Longest round trip that is expected.", "1us", "10s")
CE_THRESHOLD = Setting(
    "ce_threshold", Duration, "All packets that waited longer are marked.", "1us", "10s"
)
ECN = flag("ecn", "Packets of flows with ECN are marked and not dropped.")
FLOWS = Setting("flows", Count, "Queues into which flows are hashed.", "1", "65536")
QUANTUM = Setting("quantum", Size, "Bytes of a flow's turn.", "256B", "1MiB")
MEMORY = Setting("memory_limit", Size, "Memory of all waiting packets.", "2KiB", "2000MB")


Settings = Iterable[tuple[str, str]]


class Discipline:
    """A discipline whose queue tc limits in packets; all that can mark ECN do so (RFC 3168)."""

    name: str  # its name in specs and options
    title: str  # its name on the live page
    since = "2.6.32"  # the first Linux that has it
    shortest = 1  # packets of the shortest queue that tc accepts
    is_fair = False  # each flow gets its turn
    in_bytes = False  # tc limits the queue in bytes of full frames
    usual = ""  # tc's words for parameters that are not given
    excess, excess_reason = 0, ""  # packets beyond the limit that the kernel lets wait, and why
    early_drops: tuple[str, ...] = ()
    """Counters of tc: drops despite room are the first without the others."""
    marks: tuple[str, ...] = ()  # counters of tc: packets that got a CE mark are the sum
    marks_again: tuple[str, ...] = ()
    """Counters of marks that may be of packets which were counted as marked already."""
    attributes: ClassVar[Mapping[str, tuple[int, str]] | None] = None
    """Number and format of each parameter in netlink, if the tc of Debian 12 does not know it."""
    counters: tuple[str, ...] = ()  # its counters in netlink, of 32 bits each, for the same reason
    trial = ""  # tc's words for a trial without a channel; empty if every kernel has the discipline
    parameters: tuple[Setting | Choice, ...] = ()  # its parameters, by the names of its manual page

    @property
    def kind(self) -> str:
        """Its name in tc."""
        return self.name

    @property
    def module(self) -> str:
        """The kernel module that has it."""
        return f"sch_{self.name}"

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        """Return tc's words for `queue` packets, frames of `frame` bytes and `rate` bit/s."""
        limit = queue * frame if self.in_bytes else queue
        return self._with(f"limit {limit}{self.usual}", given)

    def _with(self, words: str, given: Settings) -> str:
        return " ".join((words, *(self.parameter(name).words(value) for name, value in given)))

    def parameter(self, name: str) -> Setting | Choice:
        """Return the parameter of that name. Raises UsageError, which names a close match."""
        return named(f"{self.name} has no parameter", name, {p.name: p for p in self.parameters})

    def require_partners(self, given: Iterable[str]) -> None:
        """Raise UsageError for a parameter without the one that it needs."""
        names = set(given)
        for name in names:
            needed = self.parameter(name).needs
            if needed and needed not in names:
                problem = f"{self.name}: {name} has no effect without {needed}."
                raise UsageError(problem, f"Set {needed} too.")

    def shown(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters from the options that tc reads back."""
        return options

    def further(self, queue: int, frame: int, rate: int, given: Settings) -> str:
        """Return tc's words for a change of the discipline once it is there; empty for most."""
        return ""

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        """Return the limit in packets that tc reads back."""
        return int(options.get("limit", 0)) // (frame if self.in_bytes else 1)


class Fifo(Discipline):
    name, title = "fifo", "fifo: first in, first out"

    @property
    def kind(self) -> str:
        return "pfifo"


class Bfifo(Discipline):
    """First in, first out, with a limit in bytes: short packets leave room for more."""

    name, title = "bfifo", "bfifo: first in, first out, by bytes"
    in_bytes = True
