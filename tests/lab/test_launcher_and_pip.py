"""./tcplab with a real Python and a real pip, which finds its packages in a folder only."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.launcher_programs import link_programs
from tests.lab.small_backend import write_wheel

LAUNCHER = Path(__file__).parents[2] / "tcplab"
MAIN = "import importlib.metadata, testbed.lab.kernel\nprint(importlib.metadata.version('thing'))\n"
FILES = {
    "testbed/host/packages.py": "",
    "testbed/lab/survey.py": "",
    "testbed/lab/kernel/__init__.py": "",
    "testbed/recipes/cache.py": "",
    "experiments/harness/cli/main.py": MAIN,
    "locks/build.lock": "",
    "pyproject.toml": "[build-system]\nrequires = []\n"
    "build-backend = 'small_backend'\nbackend-path = ['.']\n",
}


@dataclass
class SmallCheckout:
    """A tree with the launcher, one locked package, and a command that prints its version."""

    tree: Path
    programs: Path

    def lock(self, version: str) -> None:
        """Lock `thing` at this version, which the folder of packages may lack."""
        wheel = self.tree / "wheels" / f"thing-{version}-py3-none-any.whl"
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if wheel.exists() else "0" * 64
        lock = f"thing=={version} --hash=sha256:{digest}\n"
        (self.tree / "locks/python.lock").write_text(lock)

    def start(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Start ./tcplab offline, as a newcomer's shell does: Python may write its bytecode."""
        variables = {"PATH": str(self.programs), "HOME": str(self.tree), "PIP_NO_INDEX": "1"}
        variables["PIP_FIND_LINKS"] = str(self.tree / "wheels")
        return subprocess.run(
            [self.tree / "tcplab", "--version"],
            env={**variables, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def ran_without_installing(self, version: str, **environment: str) -> bool:
        done = self.start(**environment)
        return (done.returncode, done.stdout, done.stderr) == (0, f"{version}\n", "")


@pytest.fixture
def checkout(tmp_path: Path) -> SmallCheckout:
    """A small checkout after its first start."""
    made = SmallCheckout(tmp_path / "tree", tmp_path / "programs")
    link_programs(made.programs)
    for name, text in FILES.items():
        (made.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (made.tree / name).write_text(text)
    shutil.copy(LAUNCHER, made.tree)
    shutil.copy(Path(__file__).with_name("small_backend.py"), made.tree)
    (made.tree / "wheels").mkdir()
    for version in ("1.0", "2.0"):
        write_wheel(made.tree / "wheels", "thing", version)
    made.lock("1.0")
    first = made.start()
    assert (first.returncode, first.stdout) == (0, "1.0\n"), first.stderr
    return made


def test_the_second_command_installs_nothing_again(checkout: SmallCheckout) -> None:
    assert (checkout.tree / "testbed/lab/kernel/__pycache__").is_dir()
    assert checkout.ran_without_installing("1.0")


def test_a_failed_pip_is_a_failed_start_until_the_lock_is_right(checkout: SmallCheckout) -> None:
    checkout.lock("1.1")
    for _ in range(2):
        failed = checkout.start()
        assert failed.returncode == 1 and not failed.stdout
        assert "No matching distribution found for thing==1.1" in failed.stderr
    checkout.lock("1.0")
    assert checkout.start().stdout == "1.0\n"
    assert checkout.ran_without_installing("1.0")


def test_a_half_installed_venv_is_not_taken_for_the_one_before(checkout: SmallCheckout) -> None:
    project = checkout.tree / "pyproject.toml"
    whole = project.read_text()
    checkout.lock("2.0")
    project.write_text(whole.replace("small_backend", "no_backend"))
    failed = checkout.start()
    assert failed.returncode == 1 and "could not be installed" in failed.stderr
    checkout.lock("1.0")
    project.write_text(whole)
    assert checkout.start().stdout == "1.0\n"


def test_another_home_or_cache_installs_nothing(checkout: SmallCheckout, tmp_path: Path) -> None:
    assert checkout.ran_without_installing("1.0", HOME=str(tmp_path))
    assert checkout.ran_without_installing("1.0", TCPLAB_CACHE=str(tmp_path / "cache"))


def test_a_cargo_that_comes_or_goes_installs_nothing(
    checkout: SmallCheckout, tmp_path: Path
) -> None:
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.symlink_to("/bin/true")
    assert checkout.ran_without_installing("1.0", PATH=f"{cargo.parent}:{checkout.programs}")
    assert checkout.ran_without_installing("1.0")


def test_an_engine_that_cannot_be_compiled_names_cargo(checkout: SmallCheckout) -> None:
    backend = checkout.tree / "small_backend.py"
    backend.write_text("raise SystemExit('error: no crates')\n")
    (checkout.tree / "setup.py").touch()
    (checkout.tree / "pyproject.toml").write_text(
        (checkout.tree / "pyproject.toml").read_text() + "\n"
    )
    failed = checkout.start()
    assert failed.returncode == 1 and not failed.stdout
    assert "Check that cargo works" in failed.stderr and "error: no crates" in failed.stderr
