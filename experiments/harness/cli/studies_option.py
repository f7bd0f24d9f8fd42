"""`--studies DIR`, studies of one's own for every command, and `--list`, which names all studies.

What they need is imported when they are used: every command line begins here.
"""

from __future__ import annotations

from pathlib import Path

import click

import experiments


def _add(context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> None:
    if context.resilient_parsing or not folders:
        return
    from experiments.harness.cli.messages import one_clear_message
    from experiments.harness.definition.catalogue import add_studies

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


def print_list(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Name every experiment with its claim, and end."""
    if not wanted or context.resilient_parsing:
        return
    from experiments.harness.definition.catalogue import catalogue

    for named in catalogue():
        click.echo(f"{named.name:<20} {named.claim}")
    context.exit()


list_option = click.option(
    "--list",
    is_flag=True,
    expose_value=False,
    callback=print_list,
    help="Name every experiment with its claim.",
)
