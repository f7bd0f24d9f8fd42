"""Every command of the documentation is one that the command line takes.

Here nothing is run: each is parsed by the commands themselves, with every option, value and choice.
tests/documentation/test_first_hours.py types those of the tutorials and how-tos.
"""

from pathlib import Path

import click
import pytest

from experiments.cli.commands import tcplab
from experiments.study.catalogue import catalogue
from tests.documentation.typed_commands import ROOT, commands, gallery_commands, pages


@pytest.fixture(autouse=True)
def files_of_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader has the files that a command names, and a folder of studies."""

    def taken(self: click.Path, value: object, *_: object) -> object:
        return self.coerce_path_result(value) if isinstance(value, str) else value

    monkeypatch.setattr(click.Path, "convert", taken)
    monkeypatch.setenv("TCPLAB_LABS", "")  # `--labs` sets it: it is put back afterwards
    monkeypatch.delenv("TCPLAB_LABS")
    monkeypatch.setattr("experiments.study.catalogue.add_studies", lambda folders: None)
    monkeypatch.setattr("labs.definition.catalogue.find", lambda name: name)
    monkeypatch.setattr("labs.definition.assignment.read_assignment", lambda folder: folder)
    monkeypatch.setattr("labs.commands.read_course", lambda file: file)


def parsed(words: list[str]) -> None:
    """Raises click's UsageError for what the commands would refuse."""
    context = tcplab.make_context("tcplab", list(words))
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest and context.command.invoke_without_command:
            return
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None and name
        context = command.make_context(name, rest, parent=context)


def check(words: list[str]) -> None:
    studies = {named.name for named in catalogue()}
    if "--studies" in words or (words[0] == "run" and words[1] == "short_queue"):
        own = {"run", "sweep"} & set(words)
        if own and words[words.index(own.pop()) + 1] not in studies:
            return  # a reader's own study, whose parameters are in the reader's file
    try:
        parsed(words)
    except click.exceptions.Exit as done:
        assert done.exit_code == 0
    except click.UsageError as error:
        pytest.fail(f"./tcplab {' '.join(words)}: {error.format_message()}")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_are_taken(page: Path) -> None:
    for words in commands(page):
        check(words)


def test_the_commands_of_the_gallery_are_taken() -> None:
    for words in gallery_commands():
        check(words)


def test_a_wrong_command_would_be_found() -> None:
    for words in (["run", "sack", "--lose", "1%"], ["run", "sack", "--loss", "1"], ["rum"]):
        with pytest.raises(click.UsageError):
            parsed(words)
