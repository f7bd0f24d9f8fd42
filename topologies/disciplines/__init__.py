"""The table of queueing disciplines, which everything reads that treats them differently.

A new one is a class in the file of its kind, an entry here, and rows of parameters.csv, or a class
of another package with an entry point in the group `tcplab.disciplines`. Its module travels into
guests, so it imports topologies.disciplines.base and the standard library only.
"""

import csv
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from topologies import units
from topologies.disciplines.base import Bfifo, Choice, Discipline, Fifo, Setting, flag
from topologies.disciplines.managed import Cake, Codel, Dualpi2, Fq, FqCodel, FqPie, Hhf, Pie
from topologies.disciplines.red import Choke, Gred, Red, Sfq
from topologies.errors import named

GROUP = "tcplab.disciplines"
_KINDS: tuple[type[Discipline], ...] = (
    *(Fifo, Sfq, Codel, FqCodel, Fq, Cake, Pie, Red),
    *(Bfifo, Choke, Dualpi2, FqPie, Gred, Hhf),
)
_BUILT_IN = {kind.name: kind() for kind in _KINDS}


def _parameter(row: dict[str, str]) -> Setting | Choice:
    """Return the parameter of a row: lowest and highest value, then words for some, or choices.

    A choice may have tc's words and the value in tc's JSON, as VALUE|WORDS|JSON.
    """
    name, kind, values, meaning = (row[column] for column in ("name", "kind", "values", "meaning"))
    more: dict[str, Any] = dict(pair.split("=") for pair in row["more"].split())
    if kind == "flag":
        return flag(name, meaning, **more)
    if kind == "choice":
        parts = [(3 * value.split("|"))[:3] for value in values.split(", ")]
        choices = [
            (value, tc, int(seen) if seen.isdecimal() else seen) for value, tc, seen in parts
        ]
        return Choice(name, meaning, tuple(choices), **more)
    low, high, *others = values.split()
    words: Any = tuple(tuple(word.split("=")) for word in others)
    scale = float(more.pop("scale", 0))
    return Setting(
        name, getattr(units, kind), meaning, low, high, scale=scale, keywords=words, **more
    )


_TABLE = Path(__file__).with_name("parameters.csv")
# A guest's is in an archive, from which its loader reads.
_TEXT = globals()["__loader__"].get_data(str(_TABLE)).decode()
for _row in csv.DictReader(_TEXT.splitlines()):
    _BUILT_IN[_row["discipline"]].parameters += (_parameter(_row),)

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
