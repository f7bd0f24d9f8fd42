"""A user's own defaults: what they change, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.cli.commands import tcplab


@pytest.fixture
def defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "tcplab" / "defaults.toml"
    file.parent.mkdir()
    return file


def described(*words: str) -> dict[str, Any]:
    """The parameters of a run that is only planned."""
    done = CliRunner().invoke(tcplab, ["run", "sack", "--dry-run", *words])
    assert done.exit_code == 0, done.output
    parameters: dict[str, Any] = json.loads(done.stdout)["parameters"]
    return parameters


def test_a_file_changes_defaults_and_the_command_line_wins(defaults: Path) -> None:
    defaults.write_text('[run]\nlimit = "3min"\n[run.sack]\nduration = "7s"\nbw = "2mbit"\n')
    assert described()["duration"] == "7s"
    assert described("--duration", "9s")["duration"] == "9s"
    assert described("--duration", "9s")["bw"] == described()["bw"] == "2mbit"


def test_what_holds_for_a_group_reaches_its_commands(defaults: Path, tmp_path: Path) -> None:
    (tmp_path / "mine" / "sack" / "1").mkdir(parents=True)
    (tmp_path / "mine" / "sack" / "1" / "manifest.json").write_text("{}")
    defaults.write_text(f'[runs]\nout = "{tmp_path}/mine"\n')
    done = CliRunner().invoke(tcplab, ["runs", "list", "--json"])
    assert json.loads(done.stdout)["results"][0]["folder"] == f"{tmp_path}/mine/sack/1"


def test_an_option_is_named_as_it_is_typed(defaults: Path, tmp_path: Path) -> None:
    defaults.write_text(f'[runs]\nout = "{tmp_path}"\n[runs.list]\njson = true\n')
    done = CliRunner().invoke(tcplab, ["runs", "list"])
    assert json.loads(done.stdout)["results"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[run.sack]\nduratoin = "7s"\n', "Did you mean 'duration'?"),
        ("[run.sack\n", "cannot be read"),
        ('out = "x"\n', "outside of a table"),
        ('[run.sack]\nduration = "soon"\n', "is not a duration"),
    ],
)
def test_mistakes_are_one_sentence(defaults: Path, text: str, message: str) -> None:
    defaults.write_text(text)
    done = CliRunner().invoke(tcplab, ["run", "sack", "--dry-run"])
    assert (done.exit_code, message in done.output) == (2, True), done.output


def test_a_user_whom_the_system_does_not_know_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert described()["duration"]
