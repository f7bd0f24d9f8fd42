"""How many guests run at once on this machine, as the commands take it that use no cluster."""

from __future__ import annotations

import click

workers_option = click.option(
    "--workers", type=click.IntRange(1, 10_000), metavar="NUMBER", help="Guests at once."
)
