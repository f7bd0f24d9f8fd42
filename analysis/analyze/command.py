"""`./tcplab analyze FILE...` and `python -m analysis analyze FILE...`."""

import sys
from pathlib import Path

import click
from rich.console import Console

from analysis.analyze import files
from analysis.analyze.captures import analyze_captures
from analysis.analyze.listed import ORDERS
from analysis.analyze.options import AnalyzeOptions
from analysis.flows.reader import TUNNELS
from topologies.errors import TcplabError, UsageError

_GROUPS = {
    "Output": (
        "out",
        "write",
        "as_json",
        "events",
        "responses",
        "why",
        "columns",
        "compatible",
        "dedup",
    ),
    "Choice of packets and connections": ("since", "until", "connection", "host", "port", "where"),
    "Table of many connections": ("sort",),
    "Two captures": ("compare", "match", "align", "mss"),
    "Growing captures": ("live", "interval"),
    "Reading": ("decode_as", "partial"),
}


class _Grouped(click.Command):
    """Command whose help lists the options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {option.name: option.get_help_record(ctx) for option in options}
        for title, names in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([row for name in names if (row := records.pop(name))])
        with formatter.section("Other"):
            formatter.write_dl([row for row in records.values() if row])


@click.command(cls=_Grouped)
@click.argument("paths", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Also write files into FOLDER."
)
@click.option(
    "--write",
    default=None,
    metavar="FORMATS",
    help=f"Formats to write with --out: {','.join(files.FORMATS)}  [default: {files.USUAL}]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print every column as JSON instead of the tables."
)
@click.option(
    "--events",
    is_flag=True,
    help="List events packet by packet (retransmissions with reasons, zero windows, duplicate"
    " ACKs, ...) instead of the tables.",
)
@click.option(
    "--responses",
    is_flag=True,
    help="Show response times of HTTP, TLS, DNS and other requests instead of the tables.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Show each verdict's features, and the rules that were considered, instead of the tables.",
)
@click.option(
    "--from",
    "since",
    metavar="TIME",
    help="Leave out earlier packets: seconds since the first packet, or a time, by default in"
    " UTC (2026-11-22T10:00:00).",
)
@click.option("--to", "until", metavar="TIME", help="Leave out later packets.")
@click.option(
    "--connection",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="Only connection N; may be repeated.",
)
@click.option(
    "--host",
    multiple=True,
    metavar="ADDRESS",
    help="Only connections of this address or network (10.0.0.0/8); may be repeated.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    multiple=True,
    metavar="N",
    help="Only connections with this port at either end; may be repeated.",
)
@click.option(
    "--where",
    metavar="CONDITION",
    help="Only connections that meet a condition on the columns, in SQL:"
    " 'retransmissions_a2b > 10 and connect_time > 1e9'.",
)
@click.option(
    "--sort",
    type=click.Choice(list(ORDERS)),
    default="bytes",
    show_default=True,
    help="Connections that the table of many shows first.",
)
@click.option(
    "--compare",
    is_flag=True,
    help="Tell in which figures the second FILE (slow) differs from the first (fast).",
)
@click.option(
    "--match",
    is_flag=True,
    help="Match FILE...: two captures of one flow, at two places of its path.",
)
@click.option(
    "--align-clocks",
    "align",
    is_flag=True,
    help="With --match: correct the difference of the clocks.",
)
@click.option(
    "--mss",
    type=click.IntRange(1, 2**16),
    metavar="BYTES",
    help="With --match: split packets larger than this (segmentation in the network card).",
)
@click.option(
    "--dedup",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the capture to FILE, as pcap, without copies by a mirror port or second interface.",
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
    help="With --live: time between updates.",
)
@click.option(
    "--decode-as",
    multiple=True,
    metavar="PORT=TUNNEL",
    help=f"Read UDP of a port as a tunnel: {', '.join(TUNNELS)}; may be repeated.",
)
@click.option(
    "--partial", is_flag=True, help="Exit with 0 even if a damaged file could only be read in part."
)
@click.option(
    "--tcptrace-compatible",
    "compatible",
    is_flag=True,
    help="Use tcptrace's definitions for its columns, with its errors.",
)
@click.option("--columns", is_flag=True, help="Print the definition of every column, and exit.")
def analyze(
    paths: tuple[Path, ...], write: str | None, columns: bool, out: Path | None, **choices: object
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
        sys.exit(analyze_captures(paths, AnalyzeOptions(out, chosen, **choices)))  # type: ignore[arg-type]
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
