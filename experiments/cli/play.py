"""`tcplab play`: the live page, until Ctrl-C."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

import click

from experiments.cli.options import options
from experiments.play.lesson import all_lessons, lesson_from
from experiments.play.player import Player
from experiments.play.server import PageOffer, PlayServer
from experiments.play.settings import PlaySettings
from experiments.reporting.browsing import opened_in_browser
from topologies.errors import UsageError


@click.command("play")
@click.argument("link", default="")
@options("play")
def play(link: str, port: int, no_browser: bool, lesson: str) -> None:
    """Change a link with sliders and watch TCP: a live page on this computer.

    It is served until Ctrl-C. LINK comes from the page's button *Copy link*: the settings behind
    its # hold.
    """
    sentence = "No browser could be started: open that address in one."
    failed = partial(click.echo, sentence, err=True)
    offered, settings = _offer(lesson), _settings_of(link)
    with Player() as player, PlayServer(player, offered, port) as server:
        address = f"{server.address}{settings}"
        click.echo(f"The page is {address}\nCtrl-C ends it.")
        with nullcontext() if no_browser else opened_in_browser(address, failed):
            server.run()


def _offer(lesson: str) -> PageOffer:
    """Return the lessons, a file's first. Raises UsageError for an unknown name."""
    lessons = all_lessons()
    if not lesson:
        return PageOffer(lessons)
    if lesson.endswith(".md") or "/" in lesson:
        own = lesson_from(Path(lesson))
        return PageOffer((own, *(one for one in lessons if one.name != own.name)), own.name)
    names = [known.name for known in lessons]
    if lesson not in names:
        raise UsageError(
            f"There is no lesson '{lesson[:40]}'.",
            f"There are {', '.join(names)}; a file ends in .md.",
        )
    return PageOffer(lessons, lesson)


def _settings_of(link: str) -> str:
    """Return the settings of a link from its # on. Raises UsageError for wrong settings."""
    _, _, settings = link.rpartition("#")
    known = PlaySettings().as_data()
    given = {name: value for name, value in parse_qsl(settings) if name in known}
    PlaySettings.from_data(known | given)
    return f"#{settings}" if settings else ""
