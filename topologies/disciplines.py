"""The table of queueing disciplines: tc's words, parameters, limits, counters, kernels of each.

Everything that treats disciplines differently reads it: specs and their checks, tc's commands, the
doctor, kernels, the verdict on the network, the live page. A new discipline is a class here, or a
class of another package with an entry point in the group `tcplab.disciplines`. The module of such
a class travels into guests, so it imports this module and the standard library only.

Parameters are in topologies.discipline_parameters, and disciplines that no published study needs
in topologies.later_disciplines. A guest imports them only for a network that has them: each module,
and each object that Python's garbage collector counts, would move the packets of all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from topologies.discipline_parameters import Choice, Setting

GROUP = "tcplab.disciplines"
Settings = Iterable[tuple[str, str]]
_FQ_FLOW, _FQ_LEAST = 100, 10  # packets
_CAKE_MORE = 790  # bytes of memory that a packet of TCP takes beyond its frame (skb->truesize)


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

    @property
    def kind(self) -> str:
        """Its name in tc."""
        return self.name

    @property
    def module(self) -> str:
        """The kernel module that has it."""
        return f"sch_{self.name}"

    @property
    def parameters(self) -> tuple[Setting | Choice, ...]:
        """Its parameters, by the names of its manual page."""
        from topologies.discipline_parameters import BUILT_IN

        return BUILT_IN.get(self.name, ())

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        """Return tc's words for `queue` packets, full frames of `frame` bytes, `rate` bit/s.

        Those of the parameters follow: tc takes the last value of each.
        """
        return self._with(f"limit {queue}", given)

    def _with(self, words: str, given: Settings) -> str:
        return " ".join((words, *(self.parameter(name).words(value) for name, value in given)))

    def parameter(self, name: str) -> Setting | Choice:
        """Return the parameter of that name. Raises UsageError, which names a close match."""
        from topologies.discipline_parameters import named

        return named(f"{self.name} has no parameter", name, {p.name: p for p in self.parameters})

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


class Sfq(Discipline):
    """Stochastic fair queueing. By default all flows have 127 packets together."""

    name, title, trial = "sfq", "sfq: a turn for each flow", "sfq"
    shortest, is_fair = 2, True
    early_drops = ("prob_drop+forced_drop",)
    marks = ("prob_mark+prob_mark_head+forced_mark+forced_mark_head",)

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        if given:
            from topologies.discipline_parameters import sfq_words

            return sfq_words(self, queue, frame, given)
        return f"limit {queue} depth {min(queue, 127)}"


class Codel(Discipline):
    name, title, trial = "codel", "codel: short waits", "codel"
    since, early_drops = "3.5", ("drops", "drop_overlimit")
    marks = ("ecn_mark", "ce_mark")

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue} ecn", given)


class FqCodel(Discipline):
    name, title, trial = "fq_codel", "fq_codel: fair, and short waits", "fq_codel"
    since, is_fair = "3.5", True
    early_drops, marks = ("drops", "drop_overlimit"), ("ecn_mark", "ce_mark")


class Fq(Discipline):
    """Fair queues, without pacing: on a path there are no sockets to pace by."""

    name, title, trial = "fq", "fq: fair queues", "fq"
    since, is_fair, marks = "3.12", True, ("ce_mark",)
    # fq_fastpath_check (sch_fq.c) lets them pass while it has no others.
    excess, excess_reason = 8, "that fq lets pass"

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        # A full fq drops what arrives, whichever flow it is of: a flow that may fill the queue
        # keeps all others out. 100 is the default (tc-fq(8)); 10 are an initial window.
        of_flow = min(queue, max(_FQ_LEAST, min(_FQ_FLOW, queue // 10)))
        return self._with(f"limit {queue} flow_limit {of_flow} nopacing", given)

    def shown(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"pacing": True, **options}  # tc prints it only if it is off


class Cake(Discipline):
    """cake, which counts memory (buffer_used in sch_cake.c): that of full frames of TCP."""

    name, title, trial = "cake", "cake: fair, and short waits", "cake"
    since, is_fair, in_bytes = "4.19", True, True
    excess, excess_reason = 1, "as cake counts memory"
    marks = ("ecn_mark",)
    early_drops = ("drops",)  # tc does not count drops of a full queue apart

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"unlimited memlimit {queue * (frame + _CAKE_MORE)}", given)

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        return int(options.get("memlimit", 0)) // (frame + _CAKE_MORE)


class Pie(Discipline):
    name, title, trial = "pie", "pie: drops early by the wait", "pie"
    since, early_drops, marks = "3.14", ("drops", "overlimit"), ("ecn_mark",)

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue} ecn", given)


class Red(Discipline):
    """Random early detection between a sixth and half of the queue, as tc-red(8) advises."""

    name, title, trial = "red", "red: drops early by length", "red limit 60000 avpkt 1000"
    shortest = 10  # its average has no constant for fewer
    in_bytes = True
    early_drops: tuple[str, ...] = ("early",)
    marks: tuple[str, ...] = ("marked",)

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        if given:
            from topologies.discipline_parameters import red_words

            return red_words(self, queue, frame, rate, given)
        size = queue * frame
        burst = max(1, (2 * queue // 6 + queue // 2) // 3 + 1)  # (2 min + max) / (3 avpkt)
        average = f"min {size // 6} max {size // 2} avpkt {frame} burst {burst}"
        return f"limit {size} {average} probability 0.02 bandwidth {rate}bit ecn"

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        return int(options.get("limit", 0)) // frame


_BUILT_IN: dict[str, Discipline] = {
    each.name: each for each in (Fifo(), Sfq(), Codel(), FqCodel(), Fq(), Cake(), Pie(), Red())
}
LATER_NAMES = ("bfifo", "choke", "dualpi2", "fq_pie", "gred", "hhf")
OFFERED: dict[str, str] = {}
"""Places, as MODULE:CLASS, of the disciplines of other packages; the job fills it in a guest."""


@cache
def later() -> dict[str, Discipline]:
    """Return the disciplines that guests import late."""
    from topologies.later_disciplines import LATER

    return LATER


@cache
def disciplines() -> dict[str, Discipline]:
    """Return all disciplines by name, those of other packages last. Raises UsageError."""
    from topologies.foundation.plugins import additional  # stays on the host

    others: dict[str, Discipline] = {}
    for name, plugin in additional(GROUP, _BUILT_IN | later()).items():
        made = plugin.load()
        if not (isinstance(made, type) and issubclass(made, Discipline) and made.name == name):
            raise plugin.broken(f"it is not a Discipline with the name '{name}'")
        others[name] = made()
    return _BUILT_IN | later() | others


@cache
def _offered(name: str) -> Discipline:
    module, _, made = OFFERED[name].partition(":")
    instance: Discipline = getattr(import_module(module), made)()
    return instance


def discipline(name: str) -> Discipline:
    """Return the discipline of a spec. Raises UsageError, which names all and a close match.

    >>> discipline("sfq").words(queue=100, frame=1514, rate=10_000_000)
    'limit 100 depth 100'
    """
    if name in _BUILT_IN:  # before any import, which would move packets in a guest
        return _BUILT_IN[name]
    if name in LATER_NAMES:
        return later()[name]
    if name in OFFERED:
        return _offered(name)
    from topologies.discipline_parameters import named

    return named("There is no queueing discipline", name, disciplines())


def of_kind(kind: str) -> Discipline:
    """Return the discipline that tc calls `kind`. Raises UsageError."""
    return discipline(
        next((each.name for each in disciplines().values() if each.kind == kind), kind)
    )
