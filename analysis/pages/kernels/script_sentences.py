"""Sentences on the kernels' own packetdrill scripts: which pass on one kernel and not on the other.

A case is a script and how its packets travel, such as `close.pkt ipv6`.
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.kernel_folder import ScriptsOnBoth

_WAYS = 3
"""Each script is run over IPv4, IPv6, and IPv4 in addresses of IPv6."""


def script_sentences(
    scripts: ScriptsOnBoth, old: str, new: str, most: int | None = None
) -> list[str]:
    """What became of them, empty if none ran; `most` scripts are named of a kind, else all."""
    if not scripts.cases:
        return []
    named = {
        f"pass on {old} only": scripts.only_old,
        f"pass on {new} only": scripts.only_new,
        "pass on neither": scripts.neither,
    }
    both = scripts.cases - sum(map(len, named.values()))
    return [
        f"Of {scripts.cases} packetdrill scripts {both} pass on both kernels.",
        *(
            f"{len(cases)} {what}: {_listed(_by_script(cases), most)}."
            for what, cases in named.items()
            if cases
        ),
    ]


def _by_script(cases: Sequence[str]) -> list[str]:
    """Each script once, with its ways if these are not all."""
    ways: dict[str, list[str]] = {}
    for case in cases:
        script, _, way = case.partition(" ")
        ways.setdefault(script, []).append(way)
    return [
        script if len(taken) == _WAYS else f"{script} {' '.join(taken)}".rstrip()
        for script, taken in ways.items()
    ]


def _listed(names: Sequence[str], most: int | None) -> str:
    rest = len(names) - len(names[:most])
    more = f", and {rest} more scripts: see the page" if rest else ""
    return ", ".join(names[:most]) + more
