"""Two captures of one flow: what was lost between them, how long packets took, which overtook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.analyze import short_numbers
from analysis.flows.both_ends import Matched
from analysis.flows.matching import DirectionMatch, PathSummary, summary

MOST = 15
"""Connections that the terminal shows."""


def rows(found: tuple[Matched, ...]) -> pl.DataFrame:
    """One row for each way of each connection; delays in ns, the other columns are those of
    matching.Summary.
    """
    return pl.DataFrame([row for one in found for row in _rows(one)], infer_schema_length=None)


def _rows(one: Matched) -> Iterator[dict[str, Any]]:
    for way, forward in ((one.forward, True), (one.back, False)):
        source, target = _ends(one, way, forward)
        yield {
            "connection": one.near["connection"],
            "connection_far": one.far["connection"],
            "source": source,
            "target": target,
            **asdict(summary(way)),
            "clock_offset": one.offset,
        }


def _ends(one: Matched, way: DirectionMatch, forward: bool) -> tuple[str, str]:
    """Who sent `way`: its packets say whether it was the end that the frames call a."""
    ends = [f"{one.near[f'host_{end}']}:{one.near[f'port_{end}']}" for end in "ab"]
    by_a = bool(way.packets["forward"][0]) if len(way.packets) else forward
    return (ends[0], ends[1]) if by_a else (ends[1], ends[0])


def show(found: tuple[Matched, ...], console: Console) -> None:
    """Prints a table for each of the connections with most packets."""
    largest = sorted(found, key=lambda one: -len(one.forward.packets) - len(one.back.packets))
    for one in largest[:MOST]:
        ways = (one.forward, one.back)
        ends = [_ends(one, way, forward) for way, forward in zip(ways, (True, False), strict=True)]
        title = f"Connection {one.near['connection']}: both captures together"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("")
        for source, target in ends:
            table.add_column(Text(f"{source}\n\N{RIGHTWARDS ARROW} {target}"), overflow="fold")
        facts = [_facts(summary(way)) for way in ways]
        for name in facts[0]:
            table.add_row(name, *(Text(each[name]) for each in facts))
        console.print(table)
    if len(found) > MOST:
        console.print(f"And {len(found) - MOST:,} more connections; --out FOLDER writes them all.")
    console.print(_clocks(found))


def _facts(one: PathSummary) -> dict[str, str]:
    lost = f"{one.lost:,} ({short_numbers.share(one.lost, one.sent)}), {short_numbers.size(one.lost_bytes)}"
    undecided = f"; {one.undecided:,} not known" if one.undecided else ""
    delays = (one.delay_least, one.delay_median, one.delay_greatest)
    return {
        "Packets sent": short_numbers.count(one.sent),
        "Lost on the way": (lost if one.lost else "none") + undecided,
        "Sent needlessly": short_numbers.count(one.needless),
        "Overtaken": (
            f"{one.reordered:,}, by at most {short_numbers.counted(one.largest_extent, 'packet')}"
            if one.reordered
            else "none"
        ),
        "Arrived twice": short_numbers.count(one.copies),
        "Seen at arrival only": short_numbers.count(one.unsent),
        "Delay least": short_numbers.milliseconds(delays[0]),
        "Delay median": short_numbers.milliseconds(delays[1]),
        "Delay greatest": short_numbers.milliseconds(delays[2]),
    }


def _clocks(found: tuple[Matched, ...]) -> str:
    """How far one-way delays can be believed."""
    if found[0].offset:
        return f"The second capture's clock was taken back by {short_numbers.milliseconds(found[0].offset)}."
    least = min((_least(way) for one in found for way in (one.forward, one.back)), default=0)
    if least < 0:
        return (
            "Negative delays: the clocks differ. --align-clocks takes the two directions' least"
            " delays as equal."
        )
    return "Delays are by the two captures' own clocks; --align-clocks takes a difference out."


def _least(way: DirectionMatch) -> int:
    return int(way.packets["delay"].min() or 0)  # type: ignore[arg-type]
