"""`tcplab surprise`: behaviours that are guessed wrong, each shown by a script in the lab."""

import sys

import click

from experiments.surprises import find, shown, surprises


@click.command("surprise")
@click.argument("name", required=False)
def surprise(name: str | None) -> None:
    """List what engineers guess wrong about Linux's network, and play one."""
    if name is None:
        for each in surprises().values():
            click.echo(f"{each.name:32} {each.question}")
        return
    chosen = find(name)
    click.echo(chosen.question)
    guess = click.prompt("Your guess") if sys.stdin.isatty() else ""
    output = shown(chosen)
    click.echo(f"{(chosen.code or chosen.shell).strip()}\n\n{output}")
    for title, text in (
        ("You guessed", guess),
        ("Most expect", chosen.expect),
        ("It is", chosen.happens),
        ("Source", chosen.source),
    ):
        if text:
            click.echo(f"{title + ':':13}{text}")
