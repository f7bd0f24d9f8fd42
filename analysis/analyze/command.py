"""`./tcplab analyze FILE...`, also as `python -m analysis analyze`; options.csv has the options."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from analysis.analyze import files
from analysis.analyze.captures import analyze_captures
from analysis.analyze.listed import ORDERS
from analysis.analyze.options import AnalyzeOptions
from analysis.flows.columns import table_rows
from analysis.flows.reader import TUNNELS
from topologies.errors import TcplabError, UsageError

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
    "order": {"type": click.Choice(list(ORDERS)), "default": "bytes", "show_default": True},
}
_LISTS = {
    "formats": ",".join(files.FORMATS),
    "usual": files.USUAL,
    "tunnels": ", ".join(TUNNELS),
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
        sys.exit(analyze_captures(paths, AnalyzeOptions(out, chosen, **choices)))
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
