"""Which packages a command of ./tcplab needs, depending on the cache and the user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from testbed.host import packages
from testbed.lab import survey
from testbed.lab.bubblewrap.recipe import bubblewrap_recipe
from testbed.recipes import apt

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    monkeypatch.setattr(survey, "present", lambda tool: False)


@pytest.mark.parametrize("kind", ["run", "test"])
def test_an_empty_cache_needs_what_builds_it(nothing_here: None, kind: str) -> None:
    needed = survey.missing(kind)
    assert {"python3-venv", "bubblewrap", "gcc", "flex", "squashfs-tools"} <= {*needed}
    assert needed == sorted({*needed})


def test_a_full_cache_needs_nothing_to_build(nothing_here: None) -> None:
    for entry in survey.entries():
        entry.mkdir(parents=True)
    assert survey.missing("run") == ["bubblewrap", "python3-venv"]
    assert survey.missing("test") == ["bubblewrap", "python3-venv", "tcptrace"]


def test_a_bubblewrap_that_was_given_need_not_be_installed(nothing_here: None) -> None:
    for entry in [*survey.entries(), bubblewrap_recipe().place_if_given]:
        entry.mkdir(parents=True)
    assert survey.missing("run") == ["python3-venv"]


def test_root_gets_what_some_tests_need(
    nothing_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "qemu-system-x86" in survey.welcome("test") and survey.welcome("run") == []
    assert "qemu-system-x86" not in survey.missing("test")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert survey.welcome("test") == []


def test_a_lost_image_does_not_need_the_kernels_tools(nothing_here: None) -> None:
    for entry in survey.entries()[:2]:
        entry.mkdir(parents=True)
    assert "squashfs-tools" in survey.missing("run")
    assert "flex" not in survey.missing("run")


def test_a_light_command_builds_nothing(nothing_here: None) -> None:
    assert survey.missing("light") == ["python3-venv"]


@pytest.mark.parametrize(("system", "mirror"), [("ubuntu", ""), ("linuxmint", "http://named")])
def test_elsewhere_than_on_debian_a_mirror_is_asked_for_before_anything_is_installed(
    nothing_here: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    system: str,
    mirror: str,
) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": system})
    monkeypatch.setattr("shutil.which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(apt, "repositories", dict)
    monkeypatch.setenv("TCPLAB_MIRROR", mirror)
    if mirror:
        survey.main("run")
        assert "bubblewrap\n" in capsys.readouterr().out
        return
    with pytest.raises(SystemExit, match=r"no Debian mirror.*image import.*TCPLAB_MIRROR"):
        survey.main("run")
    survey.main("light")
    for entry in survey.entries():
        entry.mkdir(parents=True)
    survey.main("run")


def test_native_needs_mininet(nothing_here: None) -> None:
    assert {"mininet", "openvswitch-switch"} <= {*survey.missing("native")}


def test_nothing_is_missing_where_all_is_there(
    monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(survey, "present", lambda tool: True)
    assert survey.missing("run") == []


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


def test_the_launcher_can_ask_without_any_installed_library(cache_folder: Path) -> None:
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); {ASK}",
    ]
    environment = {"TCPLAB_CACHE": str(cache_folder)}
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    ).stdout.splitlines()
    assert [Path(line).name.partition("-")[0] for line in printed if "/" in line] == [
        "kernel",
        "init",
        "image",
    ]


ASK = "from testbed.lab.survey import main; main('run')"
