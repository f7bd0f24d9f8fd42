"""Files of `analyze --out FOLDER`: tables, graphs and pictures.

Of directions.csv and connections.ndjson the names need no quoting: they have letters, digits and
underscores, and differ also where case is ignored. pandas would read numbers in columns named
*_time as dates, so these end in _ns. connections.csv has tcptrace's names.
"""

from __future__ import annotations

import heapq
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis import rendering
from analysis.analyze.listed import ListedCapture, of_reading
from analysis.analyze.reported import doubts
from analysis.analyze.verdict import verdict
from analysis.flows import Reading
from analysis.flows.columns import KINDS, OURS, TCPTRACE, Column
from topologies.errors import UsageError

if TYPE_CHECKING:
    from analysis.graphs import PageAnswer
    from analysis.table import ColumnTable


SCHEMA = 2  # grows when a name or a meaning changes; new columns leave it as it is
_MOMENTS = {"first_packet", "last_packet", "time"}
_LEFT_OUT = {"host_a", "host_b", "port_a", "port_b", "conn_#", "connection"}


@cache
def names() -> Mapping[str, str]:
    """Return the plain name of each column; tcptrace's of an equal name are marked."""
    found = {
        each.name: each.name + "_ns" * (each.name.endswith("_time") and not each.directed)
        for each in OURS
    }
    taken = {name.lower() for name in found}
    for column in TCPTRACE:
        plain = re.sub(r"\W+", "_", column.name.replace("#", "number")).strip("_")
        found[column.name] = f"tcptrace_{plain}" if plain.lower() in taken else plain
        taken.add(found[column.name].lower())
    return found


def connections(capture: ListedCapture) -> Iterator[str]:
    for row in capture.rows():
        made = _begun(row)
        made |= {f"{name}_{end}": row[f"{name}_{end}"] for name in ("host", "port") for end in "ab"}
        for column in _columns(directed=True):
            ways = zip(("a2b", "b2a"), column.names(), strict=True)
            made |= {f"{names()[column.name]}_{way}": row[name] for way, name in ways}
        yield json.dumps(finite(made), allow_nan=False) + "\n"


def directions(capture: ListedCapture) -> Iterator[dict[str, Any]]:
    for row in capture.rows():
        for place, (source, target) in enumerate((("a", "b"), ("b", "a"))):
            made = _begun(row) | {"direction": f"{source}2{target}"}
            for role, end in (("source", source), ("target", target)):
                made |= {f"{role}_{name}": row[f"{name}_{end}"] for name in ("host", "port")}
            directed = _columns(directed=True)
            made |= {names()[each.name]: row[each.names()[place]] for each in directed}
            yield finite(made)


def _columns(directed: bool) -> list[Column]:
    columns = [each for each in (*OURS, *TCPTRACE) if each.directed == directed]
    return [each for each in columns if each.name not in _LEFT_OUT]


def _begun(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a connection, its times as timestamps."""
    made = {"schema": SCHEMA, "connection": row["connection"]}
    for column in _columns(directed=False):
        value = row[column.name]
        if column.name in _MOMENTS:
            seconds, rest = divmod(value, 10**9)
            value = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        made[names()[column.name]] = value
    return made


def finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row for JSON, which has neither infinity nor NaN."""
    infinite = {name for name, x in row.items() if isinstance(x, float) and x - x != 0}
    return {**row, **dict.fromkeys(infinite)}


_MARK = "\0"  # stands for an iterator in a text; neither paths nor sentences have it


def json_pieces(value: object, indent: int | None = None) -> Iterator[str]:
    """Yield the text of `json.dumps`; each entry of an iterator within `value` is one piece."""
    lists: list[Iterator[object]] = []

    def marked(each: Iterator[object]) -> list[str]:
        lists.append(each)
        return [_MARK]

    whole = json.dumps(value, indent=indent, default=marked, allow_nan=False)
    text, *others = re.split(rf"(\s*){re.escape(json.dumps(_MARK))}(\s*)", whole)
    yield text
    for entries, inner, outer, after in zip(
        lists, *(others[at::3] for at in range(3)), strict=True
    ):
        before = inner
        for entry in entries:
            # A line end is always one of the layout.
            yield before + json.dumps(entry, indent=indent, allow_nan=False).replace("\n", inner)
            before = f",{inner or ' '}"
        yield after if before == inner else outer + after


_TABLES = ["csv", "json", "parquet", "ndjson", "directions", "packets", "limits", "events"]
FORMATS = ["html", *_TABLES, "png", "svg"]
"""What --write takes: graphs.html, connections as csv to ndjson, and the other tables by name."""
USUAL = "html,csv"
PICTURES = frozenset({"png", "svg"})  # what Matplotlib draws
GRAPHS = PICTURES | {"html"}
OF_ALL_PACKETS = frozenset({"packets", "events"})
"""What needs a row per packet, and so memory that grows with the file."""
OF_PACKETS = GRAPHS | OF_ALL_PACKETS | {"limits"}
_COMMAND = "analyze FILE"
_JUDGED = 3  # connections with a verdict at the top of the page


def formats(written: str) -> tuple[str, ...]:
    """Return the words of --write. Raises UsageError for an unknown one, or a missing library."""
    words = tuple(dict.fromkeys(word.strip() for word in written.split(",") if word.strip()))
    if (unknown := [word for word in words if word not in FORMATS]) or not words:
        takes = f"It takes {', '.join(FORMATS)}."
        raise UsageError(f"--write does not know '{', '.join(unknown)}'.", takes)
    if {"parquet", "packets"} & set(words):
        from analysis.table import frame_library

        frame_library()
    if PICTURES & set(words):
        from testbed.lab.libraries import require

        require("figures")
    return words


def as_data(capture: ListedCapture) -> dict[str, Any]:
    """Return facts and connections (an iterator: each is 6 kB) as JSON's types; null is unknown."""
    found = ({**finite(each.row), "verdict": verdict(each).data} for each in capture.facts())
    return {
        "file": {**vars(capture.file), "link_types": list(capture.file.link_types)},
        "doubts": doubts(capture),
        "connections": found,
        "udp": list(capture.udp),
        "icmp": list(capture.icmp),
    }


def not_drawn(connections: int, wanted: Collection[str]) -> list[str]:
    """Return which graphs leave connections out, and how to get the others."""
    from analysis.graphs.capture import HOW_CHOSEN, MOST_CONNECTIONS
    from analysis.graphs.webpage import MOST_PICTURED

    drawn = [("The page shows", MOST_CONNECTIONS)] if "html" in wanted else []
    drawn += [("Pictures show", MOST_PICTURED)] if PICTURES & set(wanted) else []
    return [
        f"{what} {most} of {connections:,} connections: {HOW_CHOSEN}. --connection N gives others."
        for what, most in drawn
        if connections > most
    ]


def write_tables(reading: Reading, folder: Path, wanted: Collection[str]) -> list[Path]:
    """Write the tables among `wanted`. Raises TcplabError if they cannot be written."""
    files = dict(_tables(reading, wanted))
    rendering.write(folder, files.items(), _COMMAND)
    return [folder / name for name in files]


def _tables(reading: Reading, wanted: Collection[str]) -> Iterator[tuple[str, rendering.Content]]:
    rows, packets, capture = reading.connection_table, reading.packet_table, of_reading(reading)
    if "csv" in wanted:
        yield "connections.csv", map(str.encode, rows.csv_parts())
    if "json" in wanted:
        yield "connections.json", map(str.encode, json_pieces(as_data(capture), indent=1))
    if "parquet" in wanted:
        yield "connections.parquet", _parquet(rows)
    if "ndjson" in wanted:
        yield "connections.ndjson", map(str.encode, connections(capture))
    if "directions" in wanted:
        yield "directions.csv", map(str.encode, _csv(directions(capture)))
    if "packets" in wanted and packets is not None:
        import numpy as np

        kinds = np.array([name for name, _ in KINDS], np.object_)
        yield "packets.parquet", _parquet(packets.having(kind=kinds[packets["kind"].values]))
    if "limits" in wanted and reading.limit_table is not None:
        yield "limits.csv", map(str.encode, reading.limit_table.csv_parts())
    if "events" in wanted and packets is not None:
        from analysis.analyze import reported

        yield "events.csv", map(str.encode, reported.table(reading).csv_parts())


def _csv(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table, its head first; a file of no rows is empty."""
    from analysis.table import csv_lines

    for at, row in enumerate(rows):
        yield csv_lines([row.values()] if at else [row, row.values()])


def _parquet(table: ColumnTable) -> bytes:
    """Write the table; moments have Parquet's logical type of a time in UTC."""
    import polars as pl

    moments = [name for name in table.columns if name in _MOMENTS]
    frame = table.to_polars().with_columns(pl.col(moments).cast(pl.Datetime("ns", "UTC")))
    with io.BytesIO() as buffer:
        frame.write_parquet(buffer)
        return buffer.getvalue()


def write_graphs(
    title: str, readings: Sequence[tuple[str, Reading]], folder: Path, wanted: Collection[str]
) -> list[Path]:
    """Write the graphs among `wanted` of captures by label, those of the same traffic together."""
    if not GRAPHS & set(wanted):
        return []
    from analysis import graphs

    seen = [(label, each) for label, each in readings if each.packet_table is not None]
    captures = [graphs.Capture.of(label, each) for label, each in seen]
    written = []
    if "html" in wanted:
        named = [(label, text) for label, each in readings for text in doubts(of_reading(each))]
        notes = [f"{label}: {text}" for label, text in named]
        count = max(len(reading.connection_table) for _, reading in readings)
        # The page itself states its limit.
        notes += not_drawn(count, PICTURES & set(wanted))
        text = graphs.page(title, captures, answers=_answers(readings), notes=notes)
        rendering.write(folder, [("graphs.html", text.encode())], _COMMAND)
        written.append(folder / "graphs.html")
    if pictures := [word for word in wanted if word in PICTURES]:
        from analysis.graphs.paper import write_pictures

        write_pictures(captures, folder / "pictures", pictures)
        written.append(folder / "pictures")
    return written


def _answers(readings: Sequence[tuple[str, Reading]]) -> list[PageAnswer]:
    """Return the verdicts on the connections with most data, each named if there are several."""
    from analysis.graphs import PageAnswer

    answers = []
    for label, reading in readings:
        found = of_reading(reading).facts()  # one at a time: a row takes 10 kB
        for facts in heapq.nlargest(_JUDGED, found, key=lambda facts: facts.carried):
            names = [label] * (len(readings) > 1)
            names += [f"connection {facts.number}"] * (len(reading.connection_table) > 1)
            found_of = verdict(facts)
            answers.append(PageAnswer(", ".join(names), found_of.reason, found_of.advice))
    return answers


def labels(paths: Sequence[Path]) -> list[str]:
    """Return a name for each capture: its own, with as many of its folders as make it unique."""
    for depth in range(1, 1 + max(len(path.resolve().parts) for path in paths)):
        names = ["_".join(path.resolve().with_name(_stem(path)).parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    # One file twice, or one stem with two endings.
    return [f"{_stem(path)}-{at}" for at, path in enumerate(paths, 1)]


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".zst", ".gz", ".pcapng", ".pcap", ".cap"):
        name = name.removesuffix(ending)
    return name or path.name
