"""`./tcplab analyze FILE...` and `python -m analysis analyze FILE...`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from analysis.analyze import written_files
from analysis.analyze.chosen_connections import ConnectionChoice, only
from analysis.analyze.listed_capture import ListedCapture, of_engine, of_reading
from analysis.analyze.moments import moment
from analysis.flows.installed_engines import Engine
from analysis.flows.reader import CapturePeriod, FileFacts, Reading, columns, read
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.tabular.column_table import ColumnTable

_PAGE = "graphs.html"


@dataclass(frozen=True)
class AnalyzeOptions:
    """The options of one call. `write` is empty without --out."""

    out: Path | None
    write: tuple[str, ...]
    as_json: bool
    events: bool
    since: str | None
    until: str | None
    engine: Engine
    compatible: bool
    partial: bool
    connection: tuple[int, ...]
    host: tuple[str, ...]
    port: tuple[int, ...]
    where: str | None
    match: bool
    mss: int | None
    align: bool
    live: bool
    interval: float

    @property
    def choice(self) -> ConnectionChoice:
        return ConnectionChoice(self.connection, self.host, self.port, self.where)

    @property
    def in_tables(self) -> bool:
        """Whether connections are chosen or written, or events told, which takes NumPy's tables."""
        return bool(self.choice or self.out or self.events)

    @property
    def period(self) -> CapturePeriod | None:
        """Of --from and --to. Raises UsageError for what is no moment."""
        if self.since is None and self.until is None:
            return None
        usual = CapturePeriod()
        return CapturePeriod(
            moment(self.since) if self.since else usual.since,
            moment(self.until) if self.until else usual.until,
        )

    @property
    def packets(self) -> bool:
        """Whether a row per packet is needed; without, memory does not grow with the file."""
        return self.match or self.events or bool(written_files.OF_PACKETS & set(self.write))


@click.command()
@click.argument("paths", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Also write files into FOLDER."
)
@click.option(
    "--write",
    default=None,
    metavar="WORDS",
    help=f"What: some of {','.join(written_files.FORMATS)}  [default: {written_files.USUAL}]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print every column as JSON instead of the tables."
)
@click.option(
    "--events",
    is_flag=True,
    help="List what happened packet by packet (retransmissions and why, zero windows, duplicate"
    " ACKs, ...) instead of the tables.",
)
@click.option(
    "--from",
    "since",
    metavar="TIME",
    help="Leave out packets before: seconds since the first packet, or a time, in UTC unless it"
    " says otherwise (2026-11-22T10:00:00).",
)
@click.option("--to", "until", metavar="TIME", help="Leave out packets after.")
@click.option(
    "--connection",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="Show, write and draw connection N alone; may be given several times.",
)
@click.option(
    "--host",
    multiple=True,
    metavar="ADDRESS",
    help="Connections of this address or network (10.0.0.0/8) alone; several times: of any.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    multiple=True,
    metavar="N",
    help="Connections with this port at either end alone; several times: with any.",
)
@click.option(
    "--where",
    metavar="CONDITION",
    help="Connections alone that fulfil a condition on the columns, in SQL:"
    " 'retransmissions_a2b > 10 and connect_time > 1e9'.",
)
@click.option(
    "--match",
    is_flag=True,
    help="FILE... are two captures of the same flow, at two places of its path.",
)
@click.option(
    "--align-clocks",
    "align",
    is_flag=True,
    help="With --match: take out the difference of the clocks.",
)
@click.option(
    "--mss",
    type=click.IntRange(1, 2**16),
    metavar="BYTES",
    help="With --match: take packets larger than this apart (segmentation in the network card).",
)
@click.option(
    "--live",
    is_flag=True,
    help="Follow FILE, a network interface, or - while it grows, until Ctrl-C or its end.",
)
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="With --live: from one look to the next.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="End with 0 also if a damaged file could be read in part only.",
)
@click.option(
    "--engine", type=click.Choice(["auto", "compiled", "plain"]), default="auto", show_default=True
)
@click.option(
    "--tcptrace-compatible",
    "compatible",
    is_flag=True,
    help="Give tcptrace's columns with tcptrace's own definitions, its errors too.",
)
@click.option("--columns", is_flag=True, help="Print what every column means, and end.")
def analyze(
    paths: tuple[Path, ...], write: str | None, columns: bool, out: Path | None, **choices: object
) -> None:
    """What TCP did in any capture: analyze trace.pcap; --out FOLDER adds graphs and tables.

    Prints connections, round trips, losses and what limited the senders. FILE is pcap or pcapng,
    plain or compressed (gzip, zstd, bzip2, xz, lz4), of any traffic; - is standard input. Ends with
    1 if a file is damaged.
    """
    try:
        if columns:
            from analysis.analyze.column_definitions import print_columns

            print_columns(Console(highlight=False))
            return
        if write is not None and out is None:
            raise UsageError("--write needs a folder.", "Give --out FOLDER too.")
        chosen = written_files.formats(write or written_files.USUAL) if out else ()
        sys.exit(_analyze(paths, AnalyzeOptions(out, chosen, **choices)))  # type: ignore[arg-type]
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)


def _analyze(paths: Sequence[Path], options: AnalyzeOptions) -> int:
    if options.live:
        return _live(paths, options)
    paths = [Path("/dev/stdin") if str(path) == "-" else path for path in paths]
    _check(paths, options)
    console = Console(highlight=False, emoji=False, stderr=options.as_json)
    if options.match:
        return _both(paths, options, console)
    labels, faults, data = written_files.labels(paths), [], []
    for path, label in zip(paths, labels, strict=True):
        reading, in_all = _chosen(path, options) if options.in_tables else (None, None)
        capture = of_reading(reading) if reading else _listed(path, options)
        faults += _faults(capture.file)
        if options.as_json:
            data.append(written_files.as_data(capture) | _events(reading, options))
        elif reading and options.events:
            _list_events(reading)
        else:
            _show(capture, console, in_all)
        if reading and options.out:
            folder = options.out if len(paths) == 1 else options.out / label
            _print_written(_write(label, reading, folder, options), console)
            _print_rest([reading], options, console)
    return _end(data, faults, options)


def _live(paths: Sequence[Path], options: AnalyzeOptions) -> int:
    from analysis.analyze import live_capture

    if len(paths) != 1:
        raise UsageError("--live follows one capture.", "For example: ./tcplab analyze --live eth0")
    if options.in_tables or options.match or options.period or options.compatible:
        raise UsageError(
            "--live prints the tables of all connections, and nothing else.",
            "Give tcpdump a filter (tcpdump -U -w - host 10.0.0.1 | ./tcplab analyze --live -), or"
            " follow without these options and analyse the file afterwards.",
        )
    console = Console(highlight=False, emoji=False, stderr=options.as_json)
    capture = live_capture.follow(str(paths[0]), options.engine, options.interval, console)
    return _end([written_files.as_data(capture)], _faults(capture.file), options)


def _chosen(path: Path, options: AnalyzeOptions) -> tuple[Reading, int]:
    """The connections that are asked for, and the number of all."""
    reading = _read(path, options)
    chosen = options.choice.of(reading) if options.choice else reading
    return chosen, len(reading.connection_table)


def _check(paths: Sequence[Path], options: AnalyzeOptions) -> None:
    """Reports what is wrong with the call before anything is read."""
    if not paths:
        raise UsageError("Name a capture file.", "For example: ./tcplab analyze trace.pcap")
    if options.match and options.events:
        raise UsageError("--events lists one capture.", "Leave out --match.")
    if options.period and options.period.is_empty:
        raise UsageError("--to is before --from.", "Exchange them.")
    if options.match and len(paths) != 2:
        raise UsageError(
            f"--match takes two captures, not {len(paths)}.", "Name the file of each end."
        )
    if not options.match and (options.align or options.mss):
        raise UsageError("--align-clocks and --mss are for two captures.", "Add --match.")
    for path in paths:
        if str(path) == "/dev/stdin" and sys.stdin.isatty():
            raise UsageError(
                "- reads standard input, and that is this terminal.",
                "For example: ./tcplab analyze - < FILE",
            )
        if path.is_dir():
            raise UsageError(
                f"{path} is a folder.", f"Name the files in it, for example: {path}/*.pcap"
            )
        if not path.exists():
            raise UsageError(f"There is no file {path}.", "Check the path.")
        if path.is_file() and not path.stat().st_size:
            raise TcplabError(
                f"{path} is empty.", "Capture again: tcpdump writes when it is stopped, or with -U."
            )


def _read(path: Path, options: AnalyzeOptions) -> Reading:
    with _telling(path):
        return read(
            path,
            packets=options.packets,
            engine=options.engine,
            compatible=options.compatible,
            period=options.period,
        )


def _listed(path: Path, options: AnalyzeOptions) -> ListedCapture:
    """As `_read`, without tables: a small capture is read in less time than NumPy loads."""
    with _telling(path):
        handed = columns(
            path,
            engine=options.engine,
            compatible=options.compatible,
            period=options.period,
        )
    return of_engine(*handed)


def _telling(path: Path) -> AbstractContextManager[object]:
    """On a terminal a line that says what takes so long."""
    console = Console(stderr=True)
    size = path.stat().st_size / 1e6
    told = Text(f"reading {path.name}, {size:,.0f} MB")
    return console.status(told) if console.is_terminal else nullcontext()


def _show(capture: ListedCapture, console: Console, in_all: int | None) -> None:
    from analysis.analyze.capture_terminal import show

    show(capture, console, in_all)


def _list_events(reading: Reading) -> None:
    from analysis.analyze import listed_events

    for line in listed_events.lines(reading):
        click.echo(line)


def _events(reading: Reading | None, options: AnalyzeOptions) -> dict[str, object]:
    if not reading or not options.events:
        return {}
    from analysis.analyze import listed_events

    return {"events": list(listed_events.table(reading).as_rows())}


def _write(label: str, reading: Reading, folder: Path, options: AnalyzeOptions) -> list[Path]:
    with Console(stderr=True).status(Text(f"writing {folder}")):
        return [
            *written_files.write_graphs(label, [(label, reading)], folder, options.write),
            *written_files.write_tables(reading, folder, options.write),
        ]


def _print_written(written: Sequence[Path], console: Console) -> None:
    for path in written:
        console.print(Text(f"Written: {path}"), soft_wrap=True)


def _print_rest(readings: Sequence[Reading], options: AnalyzeOptions, console: Console) -> None:
    for sentence in written_files.not_drawn(
        max(len(reading.connection_table) for reading in readings), options.write
    ):
        console.print(Text(sentence), soft_wrap=True)


def _faults(file: FileFacts) -> list[str]:
    from analysis.analyze.capture_terminal import fault_sentence

    return [fault_sentence(file)] if file.fault else []


def _end(data: Sequence[object], faults: Sequence[str], options: AnalyzeOptions) -> int:
    """Prints the JSON; reports damage that no table showed."""
    if options.as_json:
        click.echo(json.dumps({"captures": data}, allow_nan=False))
        for sentence in faults:
            click.echo(sentence, err=True)
    if faults and not options.partial:
        click.echo("Ended with 1 for that; --partial takes it as good.", err=True)
        return 1
    return 0


def _both(paths: Sequence[Path], options: AnalyzeOptions, console: Console) -> int:
    from analysis.analyze import both_captures
    from analysis.flows.both_ends import match_readings

    readings = [_read(path, options) for path in paths]
    if options.choice:
        readings[0] = options.choice.of(readings[0])
    matched = match_readings(readings[0], readings[1], options.mss, options.align)
    if not matched:
        raise TcplabError(
            "The two captures have no TCP connection in common.",
            "Both must see it: the same ends, or behind a NAT the same payload and timestamps.",
        )
    if options.choice:  # numbered as in the first capture
        readings[1] = only(readings[1], [connection.far["connection"] for connection in matched])
    faults = [sentence for reading in readings for sentence in _faults(reading.file)]
    if not options.as_json:
        both_captures.show(matched, console)
        for reading in readings:
            _file_only(reading, console)
    if options.out:
        _print_written(
            _write_both(paths, readings, both_captures.rows(matched), options, options.out), console
        )
        _print_rest(readings, options, console)
    return _end(
        [
            *(written_files.as_data(of_reading(reading)) for reading in readings),
            {"matched": list(both_captures.rows(matched).as_rows())},
        ],
        faults,
        options,
    )


def _file_only(reading: Reading, console: Console) -> None:
    from analysis.analyze.capture_terminal import file_sentences

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
    """The page with both captures, `matched.csv` (a row per way), and each capture's tables."""
    from analysis.rendering import page_files

    labels = written_files.labels(paths)
    named = list(zip(labels, readings, strict=True))
    written = written_files.write_graphs(" and ".join(labels), named, out, options.write)
    page_files.write(out, [("matched.csv", rows.csv().encode())], "analyze --match FILE FILE")
    written.append(out / "matched.csv")
    for label, reading in named:
        written += written_files.write_tables(reading, out / label, options.write)
    return written
