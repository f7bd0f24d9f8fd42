"""Tables whose names need no quoting: a row for each direction, and a line of JSON a connection.

Names have letters, digits and underscores, and differ also where case is ignored. The table as
tcptrace names it is connections.csv.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from analysis.analyze.listed import ListedCapture
from analysis.flows.columns import OURS, TCPTRACE, Column

SCHEMA = 1
"""Grows when a name or a meaning changes; new columns leave it as it is."""
_MOMENTS = {"first_packet", "last_packet"}
_ENDS = {"host_a", "host_b", "port_a", "port_b"}
_TWICE = {"conn_#", "connection"}


@cache
def names() -> Mapping[str, str]:
    """Return the plain name of each column; tcptrace's of an equal name are marked."""
    found = {column.name: column.name for column in OURS}
    taken = {name.lower() for name in found}
    for column in TCPTRACE:
        plain = re.sub(r"\W+", "_", column.name.replace("#", "number")).strip("_")
        found[column.name] = f"tcptrace_{plain}" if plain.lower() in taken else plain
        taken.add(found[column.name].lower())
    return found


def connections(capture: ListedCapture) -> Iterator[str]:
    """Yield a line of JSON for each connection."""
    for row in capture.rows():
        made = _begun(row)
        made |= {f"{name}_{end}": row[f"{name}_{end}"] for name in ("host", "port") for end in "ab"}
        for column in _columns(directed=True):
            ways = zip(("a2b", "b2a"), column.names(), strict=True)
            made |= {f"{names()[column.name]}_{way}": row[name] for way, name in ways}
        yield json.dumps(finite(made), allow_nan=False) + "\n"


def directions(capture: ListedCapture) -> Iterator[dict[str, Any]]:
    """Yield two rows for each connection: what a sent, and what b sent."""
    for row in capture.rows():
        for place, (source, target) in enumerate((("a", "b"), ("b", "a"))):
            made = _begun(row) | {"direction": f"{source}2{target}"}
            for role, end in (("source", source), ("target", target)):
                made |= {f"{role}_{name}": row[f"{name}_{end}"] for name in ("host", "port")}
            directed = _columns(directed=True)
            made |= {names()[each.name]: row[each.names()[place]] for each in directed}
            yield finite(made)


def _columns(directed: bool) -> list[Column]:
    left_out = _ENDS | _TWICE
    columns = [*OURS, *TCPTRACE]
    return [each for each in columns if each.directed == directed and each.name not in left_out]


def _begun(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a connection, its times as timestamps."""
    made = {"schema": SCHEMA, "connection": row["connection"]}
    for column in _columns(directed=False):
        value = row[column.name]
        made[names()[column.name]] = _timestamp(value) if column.name in _MOMENTS else value
    return made


def _timestamp(nanoseconds: int) -> str:
    """Return a time since 1970 as ISO 8601, to the nanosecond."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row for JSON, which has neither infinity nor NaN."""
    return {
        name: None if isinstance(value, float) and value - value != 0 else value
        for name, value in row.items()
    }
