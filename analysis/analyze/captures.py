"""One call of analyze: read, print and write each capture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from analysis.analyze import files, short_numbers
from analysis.analyze.connections import only
from analysis.analyze.files import json_pieces
from analysis.analyze.listed import ListedCapture, of_engine, of_reading
from analysis.analyze.options import AnalyzeOptions, check
from analysis.flows.reader import (
    FileFacts,
    Reading,
    columns,
    exchanges,
    read,
    write_without_copies,
)
from topologies.foundation.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.tabular.table import ColumnTable


def analyze_captures(paths: Sequence[Path], options: AnalyzeOptions) -> int:
    """Carry the call out, and return its exit status: 1 if a file is damaged.

    Raises UsageError for a call that makes no sense, TcplabError for a file that is no capture.
    """
    if options.live:
        return _live(paths, options)
    paths = [Path("/dev/stdin") if str(path) == "-" else path for path in paths]
    check(paths, options)
    console = Console(highlight=False, emoji=False, stderr=options.as_json)
    if options.match:
        return _both(paths, options, console)
    if options.compare:
        return _compared(paths, options, console)
    if options.dedup:
        _dedup(paths[0], options.dedup)
    labels, faults = files.labels(paths), list[str]()
    data = list[dict[str, Any]]()
    for path, label in zip(paths, labels, strict=True):
        reading, in_all = _chosen(path, options) if options.in_tables else (None, None)
        capture = of_reading(reading) if reading else _listed(path, options)
        faults += _faults(capture.file)
        if options.as_json:
            data.append(
                files.as_data(capture)
                | _events(reading, options)
                | _responses(path, reading, options)
            )
        elif options.responses:
            _show_responses(path, reading, options, console)
        elif reading and options.events:
            _list_events(reading)
        else:
            from analysis.analyze.many import ManyShown
            from analysis.analyze.terminal import show

            show(capture, console, in_all, ManyShown(sort=options.sort))
        if reading and options.out:
            folder = options.out if len(paths) == 1 else options.out / label
            with Console(stderr=True).status(Text(f"writing {folder}")):
                written = files.write_graphs(label, [(label, reading)], folder, options.write)
                written += files.write_tables(reading, folder, options.write)
            _print_written(written, console)
            _print_rest([reading], options, console)
    return _end(data, faults, options)


def _dedup(path: Path, to: Path) -> None:
    with _telling(path):
        copies = write_without_copies(path, to)
    left_out = short_numbers.counted(copies, "copy", "copies")
    click.echo(f"Written: {to}, without {left_out} of packets.", err=True)


def _live(paths: Sequence[Path], options: AnalyzeOptions) -> int:
    from analysis.analyze import live

    if len(paths) != 1:
        raise UsageError("--live follows one capture.", "For example: ./tcplab analyze --live eth0")
    if options.in_tables or options.match or options.period or options.compatible:
        raise UsageError(
            "--live prints the tables of all connections only.",
            "Give tcpdump a filter (tcpdump -U -w - host 10.0.0.1 | ./tcplab analyze --live -), or"
            " follow without these options and analyse the file afterwards.",
        )
    console = Console(highlight=False, emoji=False, stderr=options.as_json)
    capture = live.follow(str(paths[0]), options.interval, console)
    return _end([files.as_data(capture)], _faults(capture.file), options)


def _chosen(path: Path, options: AnalyzeOptions) -> tuple[Reading, int]:
    """Return the connections that are asked for, and the number of all."""
    reading = _read(path, options)
    chosen = options.choice.of(reading) if options.choice else reading
    return chosen, len(reading.connection_table)


def _read(path: Path, options: AnalyzeOptions) -> Reading:
    with _telling(path):
        return read(
            path, packets=options.packets, compatible=options.compatible, period=options.period
        )


def _listed(path: Path, options: AnalyzeOptions) -> ListedCapture:
    """Read as `_read` does, without tables: a small capture takes less time than loading NumPy."""
    with _telling(path):
        handed = columns(path, compatible=options.compatible, period=options.period)
    return of_engine(*handed)


def _telling(path: Path) -> AbstractContextManager[object]:
    """On a terminal, show a line while something takes long."""
    console = Console(stderr=True)
    size = path.stat().st_size / 1e6
    told = Text(f"reading {path.name}, {size:,.0f} MB")
    return console.status(told) if console.is_terminal else nullcontext()


def _list_events(reading: Reading) -> None:
    from analysis.analyze import events

    for line in events.lines(reading):
        click.echo(line)


def _events(reading: Reading | None, options: AnalyzeOptions) -> dict[str, object]:
    if not reading or not options.events:
        return {}
    from analysis.analyze import events

    return {"events": events.table(reading).as_rows()}


def _exchanges(
    path: Path, reading: Reading | None, options: AnalyzeOptions
) -> list[dict[str, Any]]:
    """Return requests and answers of the chosen connections, or all with those of UDP."""
    found = exchanges(path, options.period)
    if not reading or not options.choice:
        return found
    chosen = set(reading.connection_table["connection"].to_list())
    return [row for row in found if row["connection"] in chosen]


def _responses(path: Path, reading: Reading | None, options: AnalyzeOptions) -> dict[str, object]:
    return {"responses": _exchanges(path, reading, options)} if options.responses else {}


def _show_responses(
    path: Path, reading: Reading | None, options: AnalyzeOptions, console: Console
) -> None:
    from analysis.analyze import responses

    console.print(Text(str(path), style="bold"), soft_wrap=True)
    responses.show(_exchanges(path, reading, options), console)


def _print_written(written: Sequence[Path], console: Console) -> None:
    for path in written:
        console.print(Text(f"Written: {path}"), soft_wrap=True)


def _print_rest(readings: Sequence[Reading], options: AnalyzeOptions, console: Console) -> None:
    for sentence in files.not_drawn(
        max(len(reading.connection_table) for reading in readings), options.write
    ):
        console.print(Text(sentence), soft_wrap=True)


def _faults(file: FileFacts) -> list[str]:
    from analysis.analyze.terminal import fault_sentence

    return [fault_sentence(file)] if file.fault else []


def _end(data: list[dict[str, Any]], faults: Sequence[str], options: AnalyzeOptions) -> int:
    """Print the JSON; report damage that no table showed."""
    if options.as_json:
        sys.stdout.writelines(json_pieces({"captures": data}))
        click.echo()
        for sentence in faults:
            click.echo(sentence, err=True)
    if faults and not options.partial:
        click.echo("Ended with 1 for that; --partial takes it as good.", err=True)
        return 1
    return 0


def _compared(paths: Sequence[Path], options: AnalyzeOptions, console: Console) -> int:
    from analysis.analyze.comparison import compare

    captures = [
        of_reading(_chosen(path, options)[0]) if options.choice else _listed(path, options)
        for path in paths
    ]
    found = compare(captures[0], captures[1], files.labels(paths))
    if not options.as_json:
        found.show(console)
    data = [*map(files.as_data, captures), {"compared": found.data}]
    faults = [sentence for capture in captures for sentence in _faults(capture.file)]
    return _end(data, faults, options)


def _both(paths: Sequence[Path], options: AnalyzeOptions, console: Console) -> int:
    from analysis.analyze import both
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
    faults = [sentence for reading in readings for sentence in _faults(reading.file)]
    if not options.as_json:
        both.show(matched, console)
        for reading in readings:
            _file_only(reading, console)
    if options.out:
        _print_written(
            _write_both(paths, readings, both.rows(matched), options, options.out), console
        )
        _print_rest(readings, options, console)
    return _end(
        [
            *(files.as_data(of_reading(reading)) for reading in readings),
            {"matched": both.rows(matched).as_rows()},
        ],
        faults,
        options,
    )


def _file_only(reading: Reading, console: Console) -> None:
    from analysis.analyze.terminal import file_sentences

    console.print(Text(f"\n{reading.file.path}", style="bold"), soft_wrap=True)
    for sentence in file_sentences(of_reading(reading)):
        console.print(Text(sentence.strip()))


def _write_both(
    paths: Sequence[Path],
    readings: Sequence[Reading],
    rows: ColumnTable,
    options: AnalyzeOptions,
    out: Path,
) -> list[Path]:
    """Write the page with both captures, `matched.csv` (a row per way), and both sets of tables."""
    from analysis.rendering import page_files

    labels = files.labels(paths)
    named = list(zip(labels, readings, strict=True))
    written = files.write_graphs(" and ".join(labels), named, out, options.write)
    page_files.write(out, [("matched.csv", rows.csv().encode())], "analyze --match FILE FILE")
    written.append(out / "matched.csv")
    for label, reading in named:
        written += files.write_tables(reading, out / label, options.write)
    return written
