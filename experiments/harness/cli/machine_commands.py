"""The commands about this computer: `tcplab doctor`, `tcplab clean`.

./tcplab starts them without these libraries.
"""

from __future__ import annotations

import sys

import click

from testbed.doctor import __main__ as examination
from testbed.native import clean

_PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}


@click.command("doctor", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def doctor(arguments: tuple[str, ...]) -> None:
    """Say what this machine can do and what is in the way, each with its remedy (--json)."""
    sys.exit(examination.main(arguments))


@click.command("clean", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def clean_up(arguments: tuple[str, ...]) -> None:
    """Undo what killed runs left: exactly what they noted."""
    sys.exit(clean.main(arguments))
