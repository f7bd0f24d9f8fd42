"""What tcplab knows of a queueing discipline, and those that are first in, first out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from topologies.disciplines.parameters import Choice, Setting
from topologies.errors import UsageError, named

Settings = Iterable[tuple[str, str]]


class Discipline:
    """A discipline whose queue tc limits in packets; subclasses override what differs.

    All that can mark packets of flows with ECN do so (RFC 3168).
    """

    name: str
    """Its name in specs and options."""
    title: str
    """Its name on the live page."""
    since = "2.6.32"
    """The first Linux that has it."""
    shortest = 1
    """Packets of the shortest queue that tc accepts."""
    is_fair = False
    """Each flow gets its turn."""
    in_bytes = False
    """tc limits the queue in bytes of full frames."""
    excess, excess_reason = 0, ""
    """Packets beyond the limit that the kernel lets wait, and why."""
    early_drops: tuple[str, ...] = ()
    """Counters of tc: drops despite room are the first without the others."""
    marks: tuple[str, ...] = ()
    """Counters of tc: packets that got a CE mark are the sum."""
    marks_again: tuple[str, ...] = ()
    """Counters of marks that may be of packets which were counted as marked already."""
    attributes: ClassVar[Mapping[str, tuple[int, str]] | None] = None
    """Number and format of each parameter in netlink, if the tc of Debian 12 does not know it."""
    counters: tuple[str, ...] = ()
    """Its counters in netlink, of 32 bits each, for the same reason."""
    trial = ""
    """tc's words for a trial without a channel; empty if every kernel has the discipline."""
    parameters: tuple[Setting | Choice, ...] = ()
    """Its parameters, by the names of its manual page."""

    @property
    def kind(self) -> str:
        """Its name in tc."""
        return self.name

    @property
    def module(self) -> str:
        """The kernel module that has it."""
        return f"sch_{self.name}"

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        """Return tc's words for `queue` packets, full frames of `frame` bytes, `rate` bit/s.

        Those of the parameters follow: tc takes the last value of each.
        """
        return self._with(f"limit {queue}", given)

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
                raise UsageError(
                    f"{self.name}: {name} has no effect without {needed}.", f"Set {needed} too."
                )

    def shown(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters from the options that tc reads back."""
        return options

    def further(self, queue: int, frame: int, rate: int, given: Settings) -> str:
        """Return tc's words for a change of the discipline once it is there; empty for most."""
        return ""

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        """Return the limit in packets that tc reads back."""
        return int(options.get("limit", 0))


class Fifo(Discipline):
    name, title = "fifo", "fifo: first in, first out"

    @property
    def kind(self) -> str:
        return "pfifo"


class Bfifo(Discipline):
    """First in, first out, with a limit in bytes: short packets leave room for more."""

    name, title = "bfifo", "bfifo: first in, first out, by bytes"
    in_bytes = True

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue * frame}", given)

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        return int(options.get("limit", 0)) // frame
