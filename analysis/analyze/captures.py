"""One call of analyze: read, print and write each capture."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from analysis import fmt, rendering
from analysis.analyze import files, listed, reported
from analysis.analyze.facts import Segments, unread
from analysis.analyze.options import AnalyzeOptions, check, only
from analysis.flows.reader import (
    FileFacts,
    Reading,
    RowLimit,
    columns,
    exchanges,
    read,
    write_without_copies,
)
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.table import ColumnTable


def analyze_captures(paths: Sequence[Path], options: AnalyzeOptions) -> int:
    """Return the exit status: 1 if a file is damaged. Raises UsageError, TcplabError."""
    console = Console(highlight=False, emoji=False, stderr=options.as_json)
    if options.live:
        return _live(paths, options, console)
    paths = [Path("/dev/stdin") if str(path) == "-" else path for path in paths]
    check(paths, options)
    if options.match:
        return _both(paths, options, console)
    if options.compare:
        return _compared(paths, options, console)
    # Huge pages are cleared when they are first touched: a quarter of the time for large columns.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    if options.dedup:
        _dedup(paths[0], options.dedup, options.tunnels)
    data, facts = list[dict[str, Any]](), list[FileFacts]()
    for path, label in zip(paths, files.labels(paths), strict=True):
        reading, in_all = _chosen(path, options) if options.in_tables else (None, None)
        capture = listed.of_reading(reading) if reading else _listed(path, options)
        facts.append(capture.file)
        if options.as_json:
            data.append(files.as_data(capture) | _asked(path, reading, options))
        else:
            _show(path, reading, capture, in_all, options, console)
        if reading and options.out:
            folder = options.out if len(paths) == 1 else options.out / label
            with Console(stderr=True).status(Text(f"writing {folder}")):
                written = files.write_graphs(label, [(label, reading)], folder, options.write)
                written += files.write_tables(reading, folder, options.write)
            _print_written(written, [reading], options, console)
    return _end(data, facts, options)


def _dedup(path: Path, to: Path, tunnels: Mapping[int, str]) -> None:
    with _telling(path):
        copies = write_without_copies(path, to, tunnels)
    left_out = fmt.counted(copies, "copy", "copies")
    click.echo(f"Written: {to}, without {left_out} of packets.", err=True)


def _live(paths: Sequence[Path], options: AnalyzeOptions, console: Console) -> int:
    from analysis.analyze import live

    if len(paths) != 1:
        raise UsageError("--live follows one capture.", "For example: ./tcplab analyze --live eth0")
    tables = options.in_tables or options.match
    if tables or options.period or options.compatible or options.decode_as:
        raise UsageError(
            "--live prints the tables of all connections only.",
            "Give tcpdump a filter (tcpdump -U -w - host 10.0.0.1 | ./tcplab analyze --live -), or"
            " follow without these options and analyse the file afterwards.",
        )
    capture = live.follow(str(paths[0]), options.interval, console)
    return _end([files.as_data(capture)], [capture.file], options)


def _chosen(path: Path, options: AnalyzeOptions) -> tuple[Reading, int]:
    """Return the connections that are asked for, and the number of all."""
    reading = _read(path, options)
    chosen = options.choice.of(reading) if options.choice else reading
    return chosen, len(reading.connection_table)


def _read(path: Path, options: AnalyzeOptions) -> Reading:
    limit = _row_limit(path, options) if options.draws_only else None
    with _telling(path):
        return read(path, packets=options.packets, limit=limit, **_asked_of_engine(options))


def _row_limit(path: Path, options: AnalyzeOptions) -> RowLimit:
    """Let rows be of the connections that graphs show; limits.csv has all connections."""
    from analysis.graphs.capture import MOST_CONNECTIONS, drawn

    def choose(connections: ColumnTable) -> Sequence[int]:
        return drawn(options.choice.fitting(connections, str(path)), MOST_CONNECTIONS)

    most = 0 if options.choice else MOST_CONNECTIONS
    return RowLimit(listed.JUDGED, sys.maxsize if "limits" in options.write else most, choose)


def _listed(path: Path, options: AnalyzeOptions) -> listed.ListedCapture:
    """Read as `_read` does, without tables: a small capture takes less time than loading NumPy."""
    with _telling(path):
        asked = _asked_of_engine(options)
        results, facts = columns(path, **asked)

    @cache
    def again() -> Segments:
        if facts.packets > listed.JUDGED or not path.is_file():
            return unread
        found, _ = columns(path, True, **asked)
        return listed.segments_again(found)

    return listed.of_engine(results, facts, lambda number, forward: again()(number, forward))


def _asked_of_engine(options: AnalyzeOptions) -> dict[str, Any]:
    asked = {"compatible": options.compatible, "period": options.period}
    return asked | {"decode_as": options.tunnels}


def _telling(path: Path) -> AbstractContextManager[object]:
    """On a terminal, show a line while something takes long."""
    console = Console(stderr=True)
    text = Text(f"reading {path.name}, {path.stat().st_size / 1e6:,.0f} MB")
    return console.status(text) if console.is_terminal else nullcontext()


def _show(
    path: Path,
    reading: Reading | None,
    capture: listed.ListedCapture,
    in_all: int | None,
    options: AnalyzeOptions,
    console: Console,
) -> None:
    from analysis.analyze import terminal  # --json loads no tables of Rich

    if options.why:
        terminal.show_why(capture, console)
    elif options.responses:
        console.print(Text(str(path), style="bold"), soft_wrap=True)
        terminal.show_responses(_exchanges(path, reading, options), console)
    elif reading and options.events:
        for line in reported.lines(reading):
            click.echo(line)
    else:
        terminal.show(capture, console, in_all, listed.ManyShown(sort=options.sort))


def _asked(path: Path, reading: Reading | None, options: AnalyzeOptions) -> dict[str, object]:
    """Return the events and responses for --json, if they are asked for."""
    found = dict[str, object]()
    if reading and options.events:
        found["events"] = reported.table(reading).as_rows()
    if options.responses:
        found["responses"] = _exchanges(path, reading, options)
    return found


def _exchanges(path: Path, reading: Reading | None, options: AnalyzeOptions) -> list[Any]:
    """Return requests and answers of the chosen connections, or all with those of UDP."""
    found = exchanges(path, options.period, options.tunnels)
    if not reading or not options.choice:
        return found
    chosen = set(reading.connection_table["connection"].to_list())
    return [row for row in found if row["connection"] in chosen]


def _print_written(
    written: Sequence[Path], readings: Sequence[Reading], options: AnalyzeOptions, console: Console
) -> None:
    """Print the files, and which connections graphs leave out."""
    most = max(len(reading.connection_table) for reading in readings)
    for line in (*(f"Written: {path}" for path in written), *files.not_drawn(most, options.write)):
        console.print(Text(line), soft_wrap=True)


def _end(data: list[dict[str, Any]], facts: Iterable[FileFacts], options: AnalyzeOptions) -> int:
    """Print the JSON; report damage that no table showed."""
    faults = [reported.fault_sentence(file) for file in facts if file.fault]
    if options.as_json:
        sys.stdout.writelines(files.json_pieces({"captures": data}))
        click.echo()
        for sentence in faults:
            click.echo(sentence, err=True)
    if faults and not options.partial:
        click.echo("Ended with 1 for that; --partial takes it as good.", err=True)
        return 1
    return 0


def _compared(paths: Sequence[Path], options: AnalyzeOptions, console: Console) -> int:
    from analysis.analyze.two_captures import compare

    captures = [
        listed.of_reading(_chosen(path, options)[0]) if options.choice else _listed(path, options)
        for path in paths
    ]
    found = compare(captures[0], captures[1], files.labels(paths))
    if not options.as_json:
        found.show(console)
    data = [*map(files.as_data, captures), {"compared": found.data}]
    return _end(data, [capture.file for capture in captures], options)


def _both(paths: Sequence[Path], options: AnalyzeOptions, console: Console) -> int:
    from analysis.analyze import two_captures
    from analysis.analyze.terminal import file_sentences
    from analysis.flows.ends import match_readings

    readings = [_read(path, options) for path in paths]
    if options.choice:
        readings[0] = options.choice.of(readings[0])
    matched = match_readings(readings[0], readings[1], options.mss, options.align)
    if not matched:
        raise TcplabError(
            "The two captures have no TCP connection in common.",
            "Both must see it, between the same addresses and ports.",
        )
    if options.choice:  # numbered as in the first capture
        readings[1] = only(readings[1], [connection.far["connection"] for connection in matched])
    rows, captures = two_captures.rows(matched), [listed.of_reading(each) for each in readings]
    if not options.as_json:
        two_captures.show(matched, console)
        for capture in captures:
            console.print(Text(f"\n{capture.file.path}", style="bold"), soft_wrap=True)
            for sentence in file_sentences(capture):
                console.print(Text(sentence.strip()))
    if options.out:
        named = list(zip(files.labels(paths), readings, strict=True))
        written = _write_both(named, rows.csv(), options.out, options.write)
        _print_written(written, readings, options, console)
    data = [*map(files.as_data, captures), {"matched": rows.as_rows()}]
    return _end(data, [reading.file for reading in readings], options)


def _write_both(
    named: Sequence[tuple[str, Reading]], rows: str, out: Path, wanted: Sequence[str]
) -> list[Path]:
    """Write the page with both captures, `matched.csv` (a row per way), and both sets of tables."""
    title = " and ".join(label for label, _ in named)
    written = files.write_graphs(title, named, out, wanted)
    rendering.write(out, [("matched.csv", rows.encode())], "analyze --match FILE FILE")
    written.append(out / "matched.csv")
    for label, reading in named:
        written += files.write_tables(reading, out / label, wanted)
    return written
