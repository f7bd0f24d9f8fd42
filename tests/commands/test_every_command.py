"""Every command is typed by a test: one that none types fails here."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from experiments.cli.commands import tcplab

TESTS = Path(__file__).resolve().parents[1]
MISTYPED = """\
kernel verify 9.9 | unexpected extra argument (9.9)
lab bank sakc | no lab 'sakc'. Do you mean sack?
lab course tcp --force | No such option '--force'
lab key sakc --student ann | no lab 'sakc'
lab oral ann.zip --lab sack | 'ann.zip' does not exist
lab preview sakc | no lab 'sakc'
lab ranges sakc | no lab 'sakc'
lab try . | no lab's folder
lab variants sakc --students ids.txt | no lab 'sakc'
"""


def leaves(command: click.Command | None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context) if path != ("run",) else ("sack",):
        yield from leaves(command.get_command(context, name), (*path, name))


def test_every_command_is_typed_by_a_test() -> None:
    texts = "\n".join(file.read_text() for file in TESTS.rglob("test_*.py"))
    untyped = []
    for path in leaves(tcplab):
        in_a_row = r"""["',\s]+""".join(map(re.escape, path))
        opening = rf"""[\[(]["']{re.escape(path[-1])}["',]"""  # of a group that the test imports
        if not re.search(rf"""(?m)(?:["'\s]|^){in_a_row}["'\s\\]|{opening}""", texts):
            untyped.append(" ".join(path))
    assert untyped == []


@pytest.mark.parametrize("line", MISTYPED.splitlines())
def test_a_mistyped_command_names_what_is_wrong(line: str, tmp_path, monkeypatch) -> None:
    words, problem = line.split(" | ")
    (tmp_path / "ids.txt").write_text("ann\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(tcplab, words.split())
    assert done.exit_code == 2 and problem in done.output, done.output
    assert [file.name for file in tmp_path.iterdir()] == ["ids.txt"], "nothing is written"
