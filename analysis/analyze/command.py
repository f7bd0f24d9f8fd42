"""`./tcplab analyze FILE...` and `python -m analysis analyze FILE...`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from analysis.analyze import files
from analysis.analyze.captures import analyze_captures
from analysis.analyze.options import AnalyzeOptions
from topologies.foundation.errors import TcplabError, UsageError


@click.command()
@click.argument("paths", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Also write files into FOLDER."
)
@click.option(
    "--write",
    default=None,
    metavar="WORDS",
    help=f"What: some of {','.join(files.FORMATS)}  [default: {files.USUAL}]",
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
            from analysis.analyze.terminal import print_columns

            print_columns(Console(highlight=False))
            return
        if write is not None and out is None:
            raise UsageError("--write needs a folder.", "Give --out FOLDER too.")
        chosen = files.formats(write or files.USUAL) if out else ()
        sys.exit(analyze_captures(paths, AnalyzeOptions(out, chosen, **choices)))  # type: ignore[arg-type]
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
