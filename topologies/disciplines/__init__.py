"""The table of queueing disciplines, which everything reads that treats them differently.

A new one is a class in the file of its kind and an entry here, or a class of another package with
an entry point in the group `tcplab.disciplines`. Its module travels into guests, so it imports
topologies.disciplines.base and the standard library only.
"""

from functools import cache
from importlib import import_module

from topologies.disciplines.base import Bfifo, Discipline, Fifo
from topologies.disciplines.managed import Cake, Codel, Dualpi2, Fq, FqCodel, FqPie, Hhf, Pie
from topologies.disciplines.red import Choke, Gred, Red, Sfq
from topologies.errors import named

GROUP = "tcplab.disciplines"
_KINDS: tuple[type[Discipline], ...] = (
    *(Fifo, Sfq, Codel, FqCodel, Fq, Cake, Pie, Red),
    *(Bfifo, Choke, Dualpi2, FqPie, Gred, Hhf),
)
_BUILT_IN = {kind.name: kind() for kind in _KINDS}
OFFERED: dict[str, str] = {}
"""Places, as MODULE:CLASS, of the disciplines of other packages; the job fills it in a guest."""


@cache
def disciplines() -> dict[str, Discipline]:
    """Return all disciplines by name, those of other packages last. Raises UsageError."""
    # late: it takes 15 ms, and guests look for no packages
    from topologies.plugins import additional

    others: dict[str, Discipline] = {}
    for name, plugin in additional(GROUP, _BUILT_IN).items():
        made = plugin.load()
        if not (isinstance(made, type) and issubclass(made, Discipline) and made.name == name):
            raise plugin.broken(f"it is not a Discipline with the name '{name}'")
        others[name] = made()
    return _BUILT_IN | others


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
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in OFFERED:
        return _offered(name)
    return named("There is no queueing discipline", name, disciplines())


def of_kind(kind: str) -> Discipline:
    """Return the discipline that tc calls `kind`. Raises UsageError."""
    return discipline(
        next((each.name for each in disciplines().values() if each.kind == kind), kind)
    )
