"""`tcplab figure` and `tcplab bundle`: figures, tables and artefacts for papers."""

from __future__ import annotations

from pathlib import Path

import click

from experiments.harness.cli.options import FILE, run_or_sweep


@click.command()
@run_or_sweep
@click.option(
    "--kind",
    type=click.Choice(["series", "shares", "cdf", "box", "grid", "table"]),
    required=True,
    help=(
        "Over time with a band over the seeds, stacked shares of flows, cumulative"
        " distribution, boxes, small multiples, or a table."
    ),
)
@click.option(
    "--out",
    type=FILE,
    required=True,
    help="File to write: .pdf, .svg, .png or .pgf; .tex or .csv for a table.",
)
@click.option(
    "--paper",
    type=click.Choice(["ieee", "acm"]),
    default="ieee",
    show_default=True,
    help="Whose column widths.",
)
@click.option(
    "--columns",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="Columns of the paper that the figure takes.",
)
@click.option(
    "--metric",
    metavar="METRIC",
    help=(
        "Metric of a box, or of a sweep's figure; exchange_p50_ms makes the cdf of a run that of"
        " response times.  [default: goodput; the sweep's]"
    ),
)
@click.option(
    "--quantity",
    "quantities",
    type=click.Choice(["rate", "delay", "window"]),
    multiple=True,
    help="Quantity of a series; may be repeated.  [default: all]",
)
def figure(
    folder: Path,
    kind: str,
    out: Path,
    paper: str,
    columns: int,
    metric: str | None,
    quantities: tuple[str, ...],
) -> None:
    """Draw a figure of a run or sweep for a paper: PDF, SVG, PNG, PGF, or a table.

    Fonts are embedded, and the same data gives the same bytes. What is drawn is next to the figure
    as CSV.
    """
    from experiments.harness.reporting import figures

    figures.require_ending(kind, out)
    made = figures.figure(
        folder, kind, paper=paper, columns=columns, metric=metric, quantities=quantities
    )
    for file in made.save(out):
        click.echo(file)


@click.command()
@run_or_sweep
@click.option("--out", type=FILE, help="Archive to write.  [default: NAME.tar.gz, here]")
def bundle(folder: Path, out: Path | None) -> None:
    """Pack a run or sweep as an artefact that repeats and compares itself.

    The archive has specs, seeds, digests of kernel and image, data, figures, licences and a script,
    which repeats everything with a release or a checkout and compares it byte by byte.
    """
    from experiments.harness.bundle.pack import pack

    click.echo(pack(folder, out))
