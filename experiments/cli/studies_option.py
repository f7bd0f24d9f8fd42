"""`--studies DIR`: studies of one's own, for every command."""

from __future__ import annotations

from pathlib import Path

import click

import experiments
from experiments.cli.messages import one_clear_message
from experiments.definition.catalogue import add_studies


def _add(context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> None:
    if not context.resilient_parsing:
        with one_clear_message():
            add_studies(folders)


studies_option = click.option(
    "--studies",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar=experiments.STUDIES,
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_add,
    help="A folder with studies of your own, each a file or a folder; may be repeated.",
)
