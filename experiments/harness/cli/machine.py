"""`tcplab report`, `completion`, `doctor` and `clean`.

./tcplab starts the last two without these libraries.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from experiments.harness.cli.commands import COMPLETE, tcplab
from experiments.harness.cli.options import folders_of_runs
from experiments.harness.reporting import program
from testbed.doctor import __main__ as examination
from testbed.native import clean

_KINDS = {
    "sweep.json": "sweep",
    "reproduction.json": "reproduction",
    "comparison.json": "kernels",
}
"""Files of results that are no run, and the commands that make their pages."""


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=folders_of_runs)
@click.pass_context
def report(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Write the report of a finished run again: report runs/sack/latest."""
    folder = Path(next((word for word in arguments if not word.startswith("-")), ""))
    kind = next((kind for name, kind in _KINDS.items() if (folder / name).is_file()), "report")
    # the program's help calls it as it was typed here
    typed = os.environ | {"TCPLAB_COMMAND": context.command_path}
    os.execve(sys.executable, program(kind, *arguments), typed)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the code that completes commands: eval "$(./tcplab completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(tcplab, {}, "tcplab", COMPLETE).source())


_PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}


@click.command("doctor", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def doctor(arguments: tuple[str, ...]) -> None:
    """Check this machine and print how to fix each problem (--json)."""
    sys.exit(examination.main(arguments))


@click.command("clean", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def clean_up(arguments: tuple[str, ...]) -> None:
    """Remove what killed runs left behind, as they noted it."""
    sys.exit(clean.main(arguments))
