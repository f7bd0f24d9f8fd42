"""Each surprise of the table is shown by its script, and by the command."""

import pytest
from click.testing import CliRunner

from experiments.cli.surprise import surprise
from experiments.surprises import find, outputs, surprises
from topologies.errors import UsageError


def test_each_surprise_is_shown() -> None:
    chosen = list(surprises().values())
    others = {
        each.name: output
        for each, output in zip(chosen, outputs(chosen), strict=True)
        if not each.is_shown_by(output)
    }
    assert others == {}


def test_the_command_lists_and_plays() -> None:
    listed = CliRunner().invoke(surprise)
    assert all(name in listed.output for name in surprises())
    played = CliRunner().invoke(surprise, ["segment-size-set"])
    assert played.output.count("988") == 2 and find("segment-size-set").source in played.output


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no surprise sack"):
        find("sack")
