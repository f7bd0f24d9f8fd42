"""Libraries that are installed when they are first needed."""

import os
import sys
from pathlib import Path

import pytest

from testbed.lab import environment, libraries
from testbed.lab.environment import MARK, Environment
from topologies.errors import TcplabError

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


def test_the_first_figure_installs_and_the_second_does_not(place, installed) -> None:
    for _ in range(2):
        libraries.require("figures")
    assert installed == [("figures", "today")]


def test_after_an_update_the_next_figure_installs_again(place: Path, installed: Installed) -> None:
    (place / "stamp-figures").write_text("yesterday")
    libraries.require("figures")
    assert installed == [("figures", "today")]


def test_another_users_environment_is_left_to_its_owner(place, installed, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(TcplabError, match=r"Its owner installs it: .*libraries figures"):
        libraries.require("figures")
    assert not installed


@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full. Make room and start"),
        ("broken by 'NewConnectionError(", "The index of Python packages cannot be reached. Conn"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "THESE PACKAGES DO NOT MATCH"),
    ],
)
def test_the_remedy_is_that_of_the_cause(printed: str, sentence: str) -> None:
    with pytest.raises(TcplabError) as raised:
        environment.run(["sh", "-c", f'echo "{printed}"; exit 1'])
    assert sentence in str(raised.value)
    assert ("network" in str(raised.value)) == ("NewConnection" in printed)


@pytest.mark.parametrize("is_there", [True, False])
def test_an_installed_copy_names_the_extra(tmp_path, installed, monkeypatch, is_there) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(libraries, "find_spec", lambda _: is_there or None)
    if is_there:
        libraries.require("figures")
    else:
        with pytest.raises(TcplabError, match=r"pip install 'tcplab\[figures\]'"):
            libraries.require("figures")
    assert not installed
