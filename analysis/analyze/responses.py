"""Response times of requests and answers, a pair of lines for each protocol of each server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from analysis.analyze import short_numbers

_MOST = 20
"""Servers that the terminal shows."""
_NS = 1e6


class ServerTimes(NamedTuple):
    """Requests to one server by one protocol, as rows of EXCHANGES."""

    protocol: str
    server: str
    port: int
    rows: list[dict[str, Any]]

    def times(self, name: str) -> list[int]:
        """Return the known times in a column, the shortest first."""
        return sorted(row[name] for row in self.rows if row[name] is not None)

    @property
    def answered(self) -> int:
        return len(self.times("response_time"))

    @property
    def slowest(self) -> dict[str, Any] | None:
        """The exchange with the longest response time."""
        known = [row for row in self.rows if row["response_time"] is not None]
        return max(known, key=lambda row: row["response_time"], default=None)


def by_server(rows: Sequence[dict[str, Any]]) -> list[ServerTimes]:
    """Group exchanges by protocol and server, those with most time in responses first."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["protocol"], row["server"], row["server_port"]), []).append(row)
    found = [ServerTimes(*key, of_it) for key, of_it in groups.items()]
    return sorted(found, key=lambda server: -sum(server.times("response_time")))


def percentile(times: Sequence[int], percent: int) -> int:
    """Return the least of sorted times that so many percent do not exceed (nearest rank)."""
    return times[max(-(-len(times) * percent // 100), 1) - 1]


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the times by server, and the slowest answer of each."""
    servers = by_server(rows)
    if not servers:
        console.print("No request with an answer was found.")
        return
    console.print(Text("\n" + _line("Times in ms", "Count", *_HEADS), style="bold"))
    for server in servers[:_MOST]:
        _print_server(server, console)
    if left := servers[_MOST:]:
        count = sum(len(server.rows) for server in left)
        console.print(f"And {count:,} requests to {len(left):,} more; --json has them all.")
    console.print(
        Text(
            "\nResponse: from the last packet of a request to the first of its answer. Think:"
            " without the round trip to the server. Transfer: of the answer. Idle: until the"
            " next request, the sum."
        )
    )


_HEADS = ("Response 50/95/max", "Think 50/95", "Transf. 50/95", "Idle")
_WIDTHS = (13, 6, 18, 13, 13, 7)


def _line(*cells: str) -> str:
    name, *figures = (
        cell.ljust(width) if not at else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return "  ".join([name, *figures])


def _print_server(server: ServerTimes, console: Console) -> None:
    idle = server.times("idle_time")
    cells = [
        server.protocol,
        f"{len(server.rows):,}",
        _percentiles(server.times("response_time"), 50, 95, 100),
        _percentiles(server.times("think_time"), 50, 95),
        _percentiles(server.times("transfer_time"), 50, 95),
        short_numbers.seconds(sum(idle)) if idle else short_numbers.NOTHING,
    ]
    console.print(Text(_line(*cells)))
    parts = [short_numbers.end(server.server, server.port)]
    if missing := len(server.rows) - server.answered:
        parts.append(f"{missing:,} without an answer")
    if slowest := server.slowest:
        what = f" ({slowest['what']})" if slowest["what"] else ""
        parts.append(f"slowest: packet {slowest['answer_packet']:,}{what}")
    console.print(Text("  " + ", ".join(parts), style="cyan"))


def _percentiles(times: Sequence[int], *percents: int) -> str:
    if not times:
        return short_numbers.NOTHING
    return " / ".join(_milliseconds(percentile(times, each)) for each in percents)


def _milliseconds(time: int) -> str:
    """Return three digits, or two places below a millisecond: wider figures leave their column."""
    return f"{time / _NS:.2f}" if time < _NS else short_numbers.digits(time / _NS)
