"""Connections that errors of ICMP quote."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.flows.columns import Handed, listed

_ENDS = ("host_a", "port_a", "host_b", "port_b", "network")
IcmpError = dict[str, Any]
"""One error, by names of columns.ICMP_ERRORS."""


def with_connections(
    errors: Sequence[IcmpError], connections: Mapping[str, Handed]
) -> tuple[IcmpError, ...]:
    """Add the connection that each error quotes, and whether a sent the quoted segment.

    Of connections with the same ends the latest that had begun counts.
    """
    known = _connections({_both_ways(error) for error in errors}, connections) if errors else {}
    for error in errors:
        fitting = known.get(_both_ways(error), []) if error["protocol"] == "TCP" else []
        begun = [each for each in fitting if each[1] <= error["time"]] or fitting[:1]
        number, _, a = begun[-1] if begun else (None, 0, None)
        error["connection"] = number
        error["forward"] = None if a is None else (error["source"], error["source_port"]) == a
    return tuple(errors)


def _both_ways(error: IcmpError) -> object:
    source, target = ((error[end], error[f"{end}_port"]) for end in ("source", "target"))
    return frozenset((source, target)), error["network"]


def _connections(
    wanted: set[object], connections: Mapping[str, Handed]
) -> dict[object, list[tuple[int, int, object]]]:
    """Return number, first packet and a of the wanted connections, by ends, in their order."""
    names = ("connection", "first_packet", *_ENDS)
    cells = [listed(*connections[name]) for name in names if connections]
    height = len(cells[0]) if cells else 0
    lists = [each if len(each) == height else each * height for each in cells]
    found: dict[object, list[tuple[int, int, object]]] = {}
    for number, first, host_a, port_a, host_b, port_b, network in zip(*lists, strict=True):
        ends = frozenset(((host_a, port_a), (host_b, port_b))), network
        if ends in wanted:
            found.setdefault(ends, []).append((number, first, (host_a, port_a)))
    return found
