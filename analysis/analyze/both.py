"""Two captures of one flow, matched."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.analyze import short_numbers
from analysis.flows.ends import ClockDrift, MatchedConnection
from analysis.flows.matching import DirectionMatch, PathSummary, summary
from analysis.table import ColumnTable

MOST = 15
"""Connections that the terminal shows."""
_APART = 10**6
"""Nanoseconds by which least delays of both directions differ without a doubt of the clocks."""


def rows(connections: tuple[MatchedConnection, ...]) -> ColumnTable:
    """Return one row for each way of each connection; delays in ns.

    The other columns are those of analysis.flows.matching.PathSummary.
    """
    return ColumnTable.of_rows([row for connection in connections for row in _rows(connection)])


def _rows(connection: MatchedConnection) -> Iterator[dict[str, Any]]:
    for way, forward in ((connection.forward, True), (connection.back, False)):
        source, target = _ends(connection, way, forward)
        yield {
            "connection": connection.near["connection"],
            "connection_far": connection.far["connection"],
            "source": source,
            "target": target,
            **asdict(summary(way)),
            "clock_offset": connection.offset,
            "clock_skew": connection.drift.skew if connection.drift else None,
        }


def _ends(connection: MatchedConnection, way: DirectionMatch, forward: bool) -> tuple[str, str]:
    """Return the sender and receiver of `way`: its packets name which frames call the sender a."""
    ends = [f"{connection.near[f'host_{end}']}:{connection.near[f'port_{end}']}" for end in "ab"]
    by_a = bool(way.packets["forward"].values[0]) if len(way.packets) else forward
    return (ends[0], ends[1]) if by_a else (ends[1], ends[0])


def show(connections: tuple[MatchedConnection, ...], console: Console) -> None:
    """Print a table for each of the connections with most packets."""
    largest = sorted(
        connections,
        key=lambda connection: -len(connection.forward.packets) - len(connection.back.packets),
    )
    for connection in largest[:MOST]:
        ways = (connection.forward, connection.back)
        ends = [
            _ends(connection, way, forward)
            for way, forward in zip(ways, (True, False), strict=True)
        ]
        title = f"Connection {connection.near['connection']}: both captures together"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("")
        for source, target in ends:
            table.add_column(Text(f"{source}\n\N{RIGHTWARDS ARROW} {target}"), overflow="fold")
        facts = [_facts(summary(way)) for way in ways]
        for name in facts[0]:
            table.add_row(name, *(Text(facts_of_way[name]) for facts_of_way in facts))
        console.print(table)
    if len(connections) > MOST:
        console.print(
            f"And {len(connections) - MOST:,} more connections; --out FOLDER writes them all."
        )
    console.print(_clocks(connections))


def _facts(path: PathSummary) -> dict[str, str]:
    share, size = short_numbers.share(path.lost, path.sent), short_numbers.size(path.lost_bytes)
    lost = f"{path.lost:,} ({share}), {size}" if path.lost else "none"
    undecided = f"; {path.undecided:,} not known" if path.undecided else ""
    delays = (path.delay_least, path.delay_median, path.delay_greatest)
    return {
        "Packets sent": f"{path.sent:,}",
        "Lost on the way": lost + undecided,
        "Sent needlessly": f"{path.needless:,}",
        "Overtaken": (
            f"{path.reordered:,}, by at most {short_numbers.counted(path.largest_extent, 'packet')}"
            if path.reordered
            else "none"
        ),
        "Arrived twice": f"{path.copies:,}",
        "Seen at arrival only": f"{path.unsent:,}",
        "Delay least": short_numbers.milliseconds(delays[0]),
        "Delay median": short_numbers.milliseconds(delays[1]),
        "Delay greatest": short_numbers.milliseconds(delays[2]),
    }


def _clocks(connections: tuple[MatchedConnection, ...]) -> str:
    """Describe how far one-way delays can be believed."""
    drift = connections[0].drift
    if connections[0].offset:
        offset = short_numbers.milliseconds(connections[0].offset)
        rate = f", and it gained {_rate(drift)}, which was taken out too" if drift else ""
        return f"The second capture's clock was taken back by {offset}{rate}."
    if drift:
        most = short_numbers.milliseconds(drift.greatest)
        return (
            f"Note: the clocks drift: the second capture's gains {_rate(drift)} on the first's, by"
            f" which delays are wrong by up to {most}. --align-clocks takes it out."
        )
    return _unaligned(*(_least(ways) for ways in zip(*map(_ways, connections), strict=True)))


def _ways(connection: MatchedConnection) -> tuple[DirectionMatch, DirectionMatch]:
    return connection.forward, connection.back


def _least(ways: Iterable[DirectionMatch]) -> int:
    """Return the least delay of ways in one direction, 0 if none is known."""
    return min(
        (found for way in ways if (found := summary(way).delay_least) is not None), default=0
    )


def _unaligned(ahead: int, back: int) -> str:
    if min(ahead, back) < 0:
        return (
            "Negative delays: the clocks differ. --align-clocks takes the two directions' least"
            " delays as equal."
        )
    if abs(ahead - back) > max(_APART, (ahead + back) // 10):
        differ, half = map(short_numbers.milliseconds, (abs(ahead - back), abs(ahead - back) // 2))
        return (
            f"Note: the least delays of the two directions differ by {differ}: the clocks are"
            f" {half} apart, or the path is longer one way. --align-clocks takes them as equal."
        )
    return "Delays are by the two captures' own clocks; --align-clocks takes a difference out."


def _rate(drift: ClockDrift) -> str:
    """In microseconds a second, which are parts per million."""
    return f"{drift.skew * 1e6:,.1f} ppm"
