"""`./tcplab analyze FILE...`, also as `python -m analysis analyze`; options.csv has the options."""

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
from analysis.flows import reader
from analysis.flows.columns import table_rows
from analysis.flows.reader import Reading, columns, read
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.table import ColumnTable

_ROWS = list(table_rows(Path(__file__).with_name("options.csv")))
_KINDS: dict[str, dict[str, Any]] = {
    "flag": {"is_flag": True},
    "text": {},
    "texts": {"multiple": True},
    "folder": {"type": click.Path(path_type=Path)},
    "file": {"type": click.Path(path_type=Path, dir_okay=False)},
    "numbers": {"type": click.IntRange(1), "multiple": True},
    "ports": {"type": click.IntRange(0, 65535), "multiple": True},
    "bytes": {"type": click.IntRange(1, 2**16)},
    "seconds": {"type": click.FloatRange(0.1, 3600), "default": 1.0, "show_default": True},
    "order": {"type": click.Choice(list(listed.ORDERS)), "default": "bytes", "show_default": True},
}
_LISTS = {
    "formats": ",".join(files.FORMATS),
    "usual": files.USUAL,
    "tunnels": ", ".join(reader.TUNNELS),
}


def _option(row: dict[str, str]) -> click.Option:
    texts: dict[str, Any] = {"metavar": row["metavar"] or None}
    texts["help"] = row["help"].format(**_LISTS)
    return click.Option(row["names"].split(), **texts, **_KINDS[row["kind"]])


class _Grouped(click.Command):
    """Command whose help lists the options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for option, group in zip(options, [row["group"] for row in _ROWS] + ["Other"], strict=True):
            if record := option.get_help_record(ctx):
                groups.setdefault(group, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


@click.command(cls=_Grouped, params=[*map(_option, _ROWS)])
@click.argument("paths", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
def analyze(
    paths: tuple[Path, ...], write: str | None, columns: bool, out: Path | None, **choices: Any
) -> None:
    """Show what TCP did in a capture; --out FOLDER adds graphs and tables.

    Prints connections, round trips, losses and what limited the senders. FILE is pcap or pcapng,
    plain or compressed (gzip, zstd, bzip2, xz, lz4); - is standard input. Exits with 1 if a file is
    damaged.
    """
    try:
        if columns:
            from analysis.analyze.terminal import print_columns

            print_columns(Console(highlight=False))
            return
        if write is not None and out is None:
            raise UsageError("--write needs a folder.", "Give --out FOLDER too.")
        chosen = files.formats(write or files.USUAL) if out else ()
        sys.exit(_analyzed(paths, AnalyzeOptions(out, chosen, **choices)))
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)


def _analyzed(paths: Sequence[Path], options: AnalyzeOptions) -> int:
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
        with _telling(paths[0]):
            copies = reader.write_without_copies(paths[0], options.dedup, options.tunnels)
        left_out = fmt.counted(copies, "copy", "copies")
        click.echo(f"Written: {options.dedup}, without {left_out} of packets.", err=True)
    data, facts = list[dict[str, Any]](), list[reader.FileFacts]()
    for path, label in zip(paths, files.labels(paths), strict=True):
        reading, capture = _chosen(path, options)
        facts.append(capture.file)
        if options.as_json:
            data.append(files.as_data(capture) | _asked(path, reading, options))
        else:
            _show(path, reading, capture, options, console)
        if reading and options.out:
            folder = options.out if len(paths) == 1 else options.out / label
            with Console(stderr=True).status(Text(f"writing {folder}")):
                written = files.write_graphs(label, [(label, reading)], folder, options.write)
                written += files.write_tables(reading, folder, options.write)
            _print_written(written, [reading], options, console)
    return _end(data, facts, options)


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


def _chosen(path: Path, options: AnalyzeOptions) -> tuple[Reading | None, listed.ListedCapture]:
    """Read the connections that are asked for, without tables if no option needs them."""
    if not options.in_tables:
        return None, _listed(path, options)
    whole = _read(path, options)
    reading = options.choice.of(whole) if options.choice else whole
    return reading, listed.of_reading(reading, len(whole.connection_table))


def _read(path: Path, options: AnalyzeOptions) -> Reading:
    needs_all = options.match or options.events or files.OF_ALL_PACKETS & set(options.write)
    limit = None if needs_all else _row_limit(path, options)
    with _telling(path):
        return read(path, packets=options.packets, limit=limit, **_asked_of_engine(options))


def _row_limit(path: Path, options: AnalyzeOptions) -> reader.RowLimit:
    """Let rows be of the connections that graphs show; limits.csv has all connections."""
    from analysis.graphs.capture import MOST_CONNECTIONS, drawn

    def choose(connections: ColumnTable) -> Sequence[int]:
        return drawn(options.choice.fitting(connections, str(path)), MOST_CONNECTIONS)

    most = 0 if options.choice else MOST_CONNECTIONS
    return reader.RowLimit(
        listed.JUDGED, sys.maxsize if "limits" in options.write else most, choose
    )


def _listed(path: Path, options: AnalyzeOptions) -> listed.ListedCapture:
    """Read as `_read` does, without tables: a small capture takes less time than loading NumPy."""
    with _telling(path):
        asked = _asked_of_engine(options)
        results, facts = columns(path, **asked)

    @cache
    def again() -> Segments:
        if facts.packets > listed.JUDGED or not path.is_file():
            return unread
        return listed.segments_again(columns(path, True, **asked)[0])

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
        terminal.show(capture, console, options.sort)


def _asked(path: Path, reading: Reading | None, options: AnalyzeOptions) -> dict[str, object]:
    found = dict[str, object]()
    if reading and options.events:
        found["events"] = reported.table(reading).as_rows()
    if options.responses:
        found["responses"] = _exchanges(path, reading, options)
    return found


def _exchanges(path: Path, reading: Reading | None, options: AnalyzeOptions) -> list[Any]:
    """Return requests and answers of the chosen connections, or all with those of UDP."""
    found = reader.exchanges(path, options.period, options.tunnels)
    if not reading or not options.choice:
        return found
    chosen = set(reading.connection_table["connection"].to_list())
    return [row for row in found if row["connection"] in chosen]


def _print_written(
    written: Sequence[Path], readings: Sequence[Reading], options: AnalyzeOptions, console: Console
) -> None:
    most = max(len(reading.connection_table) for reading in readings)
    for line in (*(f"Written: {path}" for path in written), *files.not_drawn(most, options.write)):
        console.print(Text(line), soft_wrap=True)


def _end(
    data: Sequence[Mapping[str, Any]], facts: Iterable[reader.FileFacts], options: AnalyzeOptions
) -> int:
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

    captures = [_chosen(path, options)[1] for path in paths]
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
        title, out = " and ".join(label for label, _ in named), options.out
        written = files.write_graphs(title, named, out, options.write)
        rendering.write(out, [("matched.csv", rows.csv().encode())], "analyze --match FILE FILE")
        written.append(out / "matched.csv")
        for label, reading in named:
            written += files.write_tables(reading, out / label, options.write)
        _print_written(written, readings, options, console)
    data = [*map(files.as_data, captures), {"matched": rows.as_rows()}]
    return _end(data, [reading.file for reading in readings], options)
