"""`tcplab bundle`: an artefact for a paper's evaluation."""

from __future__ import annotations

from pathlib import Path

import click

from experiments.harness.cli.completion import folders_of_runs
from experiments.harness.cli.options import FILE


@click.command()
@click.argument(
    "folder",
    metavar="RUN|SWEEP",
    type=click.Path(path_type=Path),
    shell_complete=folders_of_runs,
)
@click.option("--out", type=FILE, help="Archive to write.  [default: NAME.tar.gz, here]")
def bundle(folder: Path, out: Path | None) -> None:
    """Pack a run or sweep as an artefact that repeats and compares itself.

    The archive has specs, seeds, digests of kernel and image, data, figures, licences and a script,
    which repeats everything with a release or a checkout and compares it byte by byte.
    """
    from experiments.harness.bundle.pack import pack

    click.echo(pack(folder, out))
