"""Libraries that are installed when they are first needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from testbed.lab import libraries
from testbed.lab.environment import MARK, Environment
from topologies.foundation.errors import CommandError, TcplabError

Installed = list[tuple[str, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout's environment that runs this, before the first figure."""
    (tmp_path / "bin").mkdir()
    for name in ("bin/python", MARK):
        (tmp_path / name).touch()
    (tmp_path / "stamp-python").write_text("today")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    """The locks that are installed, each with its state."""
    found: Installed = []

    def install(environment: Environment, lock: str, state: str) -> None:
        found.append((lock, state))
        environment.stamp(lock).write_text(state)

    monkeypatch.setattr(libraries, "make_ready", install)
    return found


def test_the_first_figure_installs_and_the_second_does_not(
    place: Path, installed: Installed
) -> None:
    for _ in range(2):
        libraries.require("figures")
    assert installed == [("figures", "today")]


def test_after_an_update_the_next_figure_installs_again(place: Path, installed: Installed) -> None:
    (place / "stamp-figures").write_text("yesterday")
    libraries.require("figures")
    assert installed == [("figures", "today")]


def test_another_users_environment_is_left_to_its_owner(
    place: Path, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(TcplabError, match=r"Its owner installs it: .*libraries figures"):
        libraries.require("figures")
    assert not installed


def test_a_failed_installation_is_one_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise CommandError("pip", 1, "WARNING: retrying\nERROR: Connection refused.\n")

    monkeypatch.setattr(libraries, "make_ready", fail)
    with pytest.raises(TcplabError) as raised:
        libraries.require("figures")
    sentence = "Matplotlib cannot be installed: Connection refused. Check the network"
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("is_there", [True, False])
def test_an_installed_copy_names_the_extra(
    tmp_path: Path, installed: Installed, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(libraries, "find_spec", lambda _: is_there or None)
    if is_there:
        libraries.require("figures")
    else:
        with pytest.raises(TcplabError, match=r"pip install 'tcplab\[figures\]'"):
            libraries.require("figures")
    assert not installed
