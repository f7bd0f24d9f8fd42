"""`tcplab release` and `tcplab lock`: the package and its lab for others, and what is in them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.harness.cli.messages import one_clear_message
from testbed.recipes.building import shown


@click.command("release")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("dist"),
    show_default=True,
    help="The folder for the wheel, the archive and their SHA-256.",
)
@click.option("--new", is_flag=True, help="State the digests of this lab as the release's.")
def release(out: Path, new: bool) -> None:
    """Make a release of this checkout: a wheel and an archive that need nothing else."""
    from testbed.release.making import make_release

    with one_clear_message(), shown(sys.stderr) as report:
        made = make_release(out, report, new)
    for name, digest in made.digests.items():
        size = (made.folder / name).stat().st_size / 1e6
        click.echo(f"{digest}  {size:6.1f} MB  {made.folder / name}")


@click.command("lock")
@click.option("--update", is_flag=True, required=True, help="Take the newest versions.")
def lock(update: bool) -> None:
    """Renew the locks of Debian's and Python's packages and of crates, and say what changed."""
    from testbed.release import lock_files

    with one_clear_message(), shown(sys.stderr) as report:
        changed = lock_files.update(report)
    for name, sentences in changed.items():
        click.echo("\n  ".join([f"{name}:", *(sentences or ["nothing changed"])]))
