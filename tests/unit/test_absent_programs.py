"""Programs that are absent while the PATH has a folder that this user may not search.

execvp(3) then reports EACCES and not ENOENT.
"""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.guest import programs
from testbed.host import supervise
from testbed.native import changes
from testbed.virtual import sandbox
from topologies.errors import TcplabError, is_absent

ABSENT = ["tcplab-absent-program"]


@pytest.fixture
def ordinary_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "locked").mkdir(mode=0)
    monkeypatch.setenv("PATH", f"/usr/bin:{tmp_path / 'locked'}")
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


def test_the_error_is_of_an_absent_program(ordinary_user: None) -> None:
    with pytest.raises(PermissionError) as raised:
        subprocess.run(ABSENT, check=False)
    assert is_absent(raised.value)


def test_a_program_that_may_not_be_started_is_not_absent(tmp_path: Path) -> None:
    (tmp_path / "program").touch(mode=0o644)
    with pytest.raises(PermissionError) as raised:
        subprocess.run([tmp_path / "program"], check=False)
    assert not is_absent(raised.value)


def test_it_is_said_to_be_absent(ordinary_user: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TcplabError, match="is not installed"):
        programs.run(ABSENT)
    with (
        Path(os.devnull).open("wb") as console,
        pytest.raises(TcplabError, match="is not installed"),
        supervise.started(ABSENT, console, []),
    ):
        pass
    kind: Any = lambda *_: SimpleNamespace(command=lambda: ABSENT)  # noqa: E731
    assert sandbox._failure(kind, Path(os.devnull)) == "not installed"


def test_a_kernel_without_a_congestion_control_needs_no_modprobe(tmp_path, monkeypatch) -> None:
    def absent(*_command: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "modprobe")

    monkeypatch.setattr(changes.subprocess, "run", absent)
    monkeypatch.setattr(changes, "allowed_algorithms", lambda: ["cubic"])
    monkeypatch.setattr(changes, "available_algorithms", lambda: ["cubic"])
    monkeypatch.setattr("testbed.native.changes.FOLDER", tmp_path)
    with (
        pytest.raises(TcplabError, match="no congestion control 'bbr'"),
        changes.changed(changes.KernelNeeds(algorithms=("bbr",))),
    ):
        pass
