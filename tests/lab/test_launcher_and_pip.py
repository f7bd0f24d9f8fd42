"""./tcplab with a real Python and a real pip, which finds its packages in a folder only."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.builds import BuildReport, cache
from testbed.lab import environment
from tests.lab.launcher_programs import link_programs
from tests.lab.small_wheels import write_wheel

ROOT = Path(__file__).parents[2]
MAIN = """import importlib.metadata, testbed.lab.kernel
names = {entry.name for entry in importlib.metadata.entry_points(group="pytest11")}
assert "tcplab" in names, names
print(importlib.metadata.version('thing'))
"""
FILES = {"experiments/cli/main.py": MAIN}
COPIED = (
    "tcplab",
    "pyproject.toml",
    "testbed/__init__.py",
    "testbed/guest/__init__.py",
    "testbed/guest/programs.py",
    "testbed/host",
    "testbed/builds",
    "testbed/lab",
    "topologies",
)


@dataclass
class SmallCheckout:
    """A tree with the launcher, one locked package, and a command that prints its version."""

    tree: Path
    programs: Path

    def lock(self, version: str) -> None:
        """Lock `thing` at this version, which the folder of packages may lack."""
        (self.tree / "locks/python.lock").write_text(self.locked(version))

    def locked(self, version: str) -> str:
        """Return a lock's text."""
        wheel = self.tree / "wheels" / f"thing-{version}-py3-none-any.whl"
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if wheel.exists() else "0" * 64
        return f"thing=={version} --hash=sha256:{digest}\n"

    def begin(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start ./tcplab offline, as a newcomer's shell does: Python may write its bytecode."""
        return self.begin_program([self.tree / "tcplab", *(words or ("lab",))], **environment)

    def begin_program(
        self, command: Sequence[str | Path], **environment: str
    ) -> subprocess.Popen[str]:
        """Start a program with the launcher's variables."""
        variables = {"PATH": str(self.programs), "HOME": str(self.tree), "PIP_NO_INDEX": "1"}
        variables["PIP_FIND_LINKS"] = str(self.tree / "wheels")
        return subprocess.Popen(
            command,
            env={**variables, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self, *words: str, **environment: str) -> tuple[int, str, str]:
        """Return exit status, output and errors."""
        process = self.begin(*words, **environment)
        output, errors = process.communicate()
        return process.returncode, output, errors


@pytest.fixture
def checkout(tmp_path: Path) -> SmallCheckout:
    """A small checkout before its first start."""
    made = SmallCheckout(tmp_path / "tree", tmp_path / "programs")
    link_programs(made.programs)
    for name, text in FILES.items():
        (made.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (made.tree / name).write_text(text)
    ignored = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        source, target = ROOT / name, made.tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
    for folder in ("wheels", "locks"):
        (made.tree / folder).mkdir()
    for version in ("1.0", "2.0"):
        write_wheel(made.tree / "wheels", "thing", version)
    shutil.copy(ROOT / "locks/pip.lock", made.tree / "locks")
    pip = cache.ready(environment.pip_recipe(), BuildReport()).folder
    shutil.copytree(pip, made.tree / ".cache/tcplab" / pip.name)
    made.lock("1.0")
    return made


@pytest.fixture
def started(checkout: SmallCheckout) -> SmallCheckout:
    status, output, errors = checkout.start()
    assert (status, output) == (0, "1.0\n"), errors
    return checkout


ONLY_RAN = (0, "1.0\n", "")


def test_no_later_command_installs_again(started: SmallCheckout, tmp_path, monkeypatch) -> None:
    """Neither bytecode, another home, cache, or PATH, nor another way to the checkout."""
    assert (started.tree / "testbed/lab/kernel/__pycache__").is_dir()
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.symlink_to("/bin/true")
    assert started.start() == ONLY_RAN
    assert started.start(HOME=str(tmp_path)) == ONLY_RAN
    assert started.start(TCPLAB_CACHE=str(tmp_path / "cache")) == ONLY_RAN
    assert started.start(PATH=f"{cargo.parent}:{started.programs}") == ONLY_RAN
    link = tmp_path / "link"
    link.symlink_to(started.tree)
    assert SmallCheckout(link, started.programs).start() == ONLY_RAN
    moved = started.tree.rename(tmp_path / "moved")
    assert SmallCheckout(moved, started.programs).start() == ONLY_RAN


def test_a_failed_pip_is_a_failed_start_until_the_lock_is_right(started: SmallCheckout) -> None:
    started.lock("1.1")
    for _ in range(2):
        status, output, errors = started.start()
        assert status == 1 and not output
        assert "No matching distribution found for thing==1.1" in errors
    started.lock("1.0")
    assert started.start()[:2] == (0, "1.0\n")
    assert started.start() == ONLY_RAN


def test_a_wrong_digest_is_refused(checkout: SmallCheckout) -> None:
    lock = checkout.tree / "locks/python.lock"
    lock.write_text(lock.read_text()[:-65] + "0" * 64)
    status, _, errors = checkout.start()
    assert status == 1 and "DO NOT MATCH THE HASHES" in errors


def test_a_larger_lock_serves_smaller_ones(checkout: SmallCheckout) -> None:
    assert checkout.start("worker")[0] == 0
    assert checkout.start("lab") == ONLY_RAN


def test_many_first_starts_at_once_install_once(checkout: SmallCheckout) -> None:
    processes = [checkout.begin() for _ in range(4)]
    ended = [(process.communicate(), process.returncode) for process in processes]
    assert [(output, status) for (output, _), status in ended] == [("1.0\n", 0)] * 4
    assert sum("making" in errors for (_, errors), _ in ended) == 1


def test_two_first_figures_at_once_install_once(started: SmallCheckout) -> None:
    (started.tree / "locks/figures.lock").write_text(started.locked("2.0"))
    python = started.tree / ".venv/bin/python"
    command = [python, "-P", "-m", "testbed.lab.libraries", "figures"]
    processes = [started.begin_program(command) for _ in range(2)]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert sum("Matplotlib, once" in text for text in errors) == 1
    assert list(started.tree.glob(".venv/lib/*/site-packages/thing-2.0.dist-info"))


def test_an_environment_of_the_users_is_kept(checkout: SmallCheckout) -> None:
    (checkout.tree / ".venv/bin").mkdir(parents=True)
    mine = checkout.tree / ".venv/mine"
    mine.touch()
    status, _, errors = checkout.start()
    assert status == 1 and "was not made by tcplab" in errors and mine.exists()


def test_a_link_to_another_checkouts_environment_is_refused(checkout, tmp_path) -> None:
    (tmp_path / "theirs").mkdir()
    (checkout.tree / ".venv").symlink_to(tmp_path / "theirs")
    status, _, errors = checkout.start()
    assert status == 1 and "Remove the link" in errors
    assert not any((tmp_path / "theirs").iterdir())


def test_a_broken_environment_is_made_again_in_the_same_folder(started: SmallCheckout) -> None:
    """The folder may be a mount."""
    place = started.tree / ".venv"
    before = place.stat().st_ino
    shutil.rmtree(place / "bin")
    status, output, errors = started.start()
    assert (status, output) == (0, "1.0\n") and "making" in errors
    assert place.stat().st_ino == before


def test_a_checkout_that_may_only_be_read_has_its_environment_in_the_cache(
    checkout: SmallCheckout, tmp_path: Path
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    checkout.tree.chmod(0o555)
    status, output, errors = checkout.start(HOME=str(tmp_path / "home"))
    again = checkout.start(HOME=str(tmp_path / "home"))
    checkout.tree.chmod(0o755)
    assert (status, output) == (0, "1.0\n") and "/home/.cache/tcplab/venv-" in errors
    assert again == ONLY_RAN
