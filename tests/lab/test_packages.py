"""Which packages a command of ./tcplab needs, depending on the cache and the user."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from testbed.host import packages
from testbed.lab import ahead, survey
from testbed.lab.bubblewrap.recipe import bubblewrap_recipe
from testbed.lab.parts import parts
from testbed.recipes import prebuilt
from testbed.recipes.cache import MANIFEST, Recipe
from topologies.foundation.errors import TcplabError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    """No tool is installed, no part of the lab is built, and none comes with the code."""
    monkeypatch.setattr(packages, "present", lambda tool: False)
    monkeypatch.setattr(survey, "present", lambda tool: False)
    monkeypatch.setattr(prebuilt, "PREBUILT", cache_folder / "none")
    monkeypatch.delenv(packages.YES, raising=False)


def needed() -> set[str]:
    return {*packages.of_tools(survey.tools_for(parts()))}


def put_into_the_cache(recipes: Sequence[Recipe]) -> None:
    for recipe in recipes:
        recipe.place.mkdir(parents=True)
        (recipe.place / MANIFEST).write_text('{"files": {}}')


def test_an_empty_cache_needs_what_builds_it(nothing_here: None) -> None:
    assert {"bubblewrap", "gcc", "flex", "squashfs-tools"} <= needed()


def test_a_full_cache_needs_the_sandbox_only_unless_that_was_given(nothing_here: None) -> None:
    put_into_the_cache(parts())
    assert needed() == {"bubblewrap"}
    bubblewrap_recipe().place_if_given.mkdir()
    assert needed() == set()


def test_a_lost_image_does_not_need_the_kernels_tools(nothing_here: None) -> None:
    put_into_the_cache(parts()[:2])
    assert "squashfs-tools" in needed() and "flex" not in needed()


def test_native_needs_mininet(nothing_here: None) -> None:
    assert {"mininet", "openvswitch-switch"} <= {*survey.missing("native")}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, nothing_here: None) -> list[list[str]]:
    """Commands that would run as root; the terminal answers nothing yet."""
    commands: list[list[str]] = []

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(packages.subprocess, "run", run)
    monkeypatch.setattr("shutil.which", lambda tool, path=None: f"/usr/bin/{tool}")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return commands


INSTALLED = ["sh", str(ROOT / "provision.sh"), "packages", "flex"]


def test_without_a_terminal_nothing_is_installed(asked: list[list[str]]) -> None:
    with pytest.raises(TcplabError, match=r"Missing here: flex.*apt-get install.*flex.*--yes"):
        packages.install_missing(["flex"])
    assert not asked


@pytest.mark.parametrize(("answer", "installs"), [("y", True), ("n", False), ("", False)])
def test_a_terminal_is_asked(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, answer: str, installs: bool
) -> None:
    for stream, text in (("sys.stdin", f"{answer}\n"), ("sys.stderr", "")):
        terminal = io.StringIO(text)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(stream, terminal)
    with nullcontext() if installs else pytest.raises(TcplabError):
        packages.install_missing(["flex"])
    assert asked == ([INSTALLED] if installs else [])


def test_with_yes_packages_are_installed_by_root_or_sudo(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(packages.YES, "1")
    packages.install_missing(["flex"])
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    packages.install_missing(["flex"])
    assert asked == [INSTALLED, ["sudo", *INSTALLED]]


def test_elsewhere_than_on_debian_the_names_are_said(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(packages.YES, "1")
    monkeypatch.setattr("shutil.which", lambda tool, path=None: None)
    with pytest.raises(TcplabError, match=r"In Debian these packages have them: flex"):
        packages.install_missing(["flex"])
    assert not asked


def test_programs_files_and_modules_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert packages.present("module:json")
    assert not packages.present("module:no_such_module")
    assert packages.present(str(tmp_path / "sh"))
    assert not packages.present("/no/such/file")
    assert packages.present("sh")
    assert not packages.present("no-such-program")


def test_the_users_own_path_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own-program").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not packages.present("own-program")


def test_the_launcher_can_ask_without_any_installed_library() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from testbed.lab.survey import main"
    command = [sys.executable, "-I", "-S", "-B", "-c", f"{code}; main('native')"]
    subprocess.run(command, check=True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("run sack", True),
        ("test tests/unit", True),
        ("run sack --help", False),
        ("run --list", False),
        ("run sack --testbed native", False),
        ("lab list", False),
        ("", False),
    ],
)
def test_only_a_command_that_needs_the_lab_installs_its_tools_first(
    words: str, wanted: bool
) -> None:
    assert ahead.is_wanted_by(words.split()) == wanted
