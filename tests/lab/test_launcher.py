"""./tcplab on a machine of stand-ins: each program is a small script that notes its call."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.launcher_programs import link_programs

LAUNCHER = Path(__file__).parents[2] / "tcplab"
PYTHON = """#!/bin/sh
echo "python $*" >> "$NOTES"
case "$*" in
    *testbed.lab.environment*)
        [ -z "$FAILS" ] || exit 1
        mkdir -p "$5/bin"; cp "$0" "$5/bin/python"; printf '%s' "$7" >"$5/stamp-$6" ;;
    *version_info*) [ -z "$OLD" ] || exit 1 ;;
    --version) echo "Python 3.9.2" ;;
esac
"""


@dataclass
class LauncherMachine:
    """A tree with the launcher, and the only folder of programs on the PATH."""

    tree: Path
    programs: Path
    notes: Path

    def start(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Return exit status and standard error; the notes are of this start only."""
        self.notes.write_text("")
        variables = {"PATH": str(self.programs), "NOTES": str(self.notes), "HOME": "/nowhere"}
        done = subprocess.run(
            [self.tree / "tcplab", *arguments],
            env={**variables, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    def called(self, text: str) -> list[str]:
        return [line for line in self.notes.read_text().splitlines() if text in line]


@pytest.fixture
def machine(tmp_path: Path) -> LauncherMachine:
    stand_in = LauncherMachine(tmp_path / "tree", tmp_path / "programs", tmp_path / "notes")
    for folder in ("testbed", "locks"):
        (stand_in.tree / folder).mkdir(parents=True)
    for file in ("testbed/__init__.py", "locks/python.lock", "pyproject.toml"):
        (stand_in.tree / file).touch()
    link_programs(stand_in.programs)
    python = stand_in.programs / "python3"
    launcher = LAUNCHER.read_text().replace("/usr/bin/python3", str(python))
    (stand_in.tree / "tcplab").write_text(launcher)
    python.write_text(PYTHON)
    for program in (python, stand_in.tree / "tcplab"):
        program.chmod(0o755)
    return stand_in


def test_the_first_start_makes_the_environment_and_hands_over(machine: LauncherMachine) -> None:
    assert machine.start("run", "sack", "--seed", "7") == (0, "")
    (made,) = machine.called("testbed.lab.environment")
    assert f"{machine.tree}/.venv python " in made
    assert machine.called("python -P -m experiments.cli.main run sack --seed 7")


def test_a_later_start_only_hands_over(machine: LauncherMachine) -> None:
    machine.start("run", "sack")
    assert machine.start("run", "sack") == (0, "")
    assert machine.notes.read_text() == "python -P -m experiments.cli.main run sack\n"


@pytest.mark.parametrize(
    ("words", "lock"),
    [
        (("docs", "--serve"), "docs"),
        (("lab", "start", "sack", "--student", "test"), "python"),
    ],
)
def test_a_command_asks_for_its_own_libraries(machine, words, lock) -> None:
    machine.start(*words)
    assert f"/.venv {lock} " in machine.called("testbed.lab.environment")[0]
    machine.start(*words)
    assert not machine.called("testbed.lab.environment")


@pytest.mark.parametrize("file", ["pyproject.toml", "locks/python.lock", "testbed/__init__.py"])
def test_a_changed_lock_installs_again(machine: LauncherMachine, file: str) -> None:
    machine.start("run")
    (machine.tree / file).write_text("[project]\nname = 'x'\n")
    machine.start("run")
    assert machine.called("testbed.lab.environment")


def test_test_installs_its_packages_before_pytest_and_pytest_installs_none(machine) -> None:
    machine.start("--yes", "test", "-k", "units")
    environment, offer, pytest_itself = machine.called(" -m ")
    assert "/.venv test " in environment
    assert offer.endswith("testbed.host.packages test")
    assert pytest_itself.endswith("-m pytest -k units")


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("doctor", "--json"), "testbed.doctor --json"),
        (("clean",), "testbed.native.changes"),
        (("--help",), "experiments.cli.lines --help"),
        (("--version",), "experiments.cli.lines --version"),
        ((), "experiments.cli.lines"),
    ],
)
def test_the_first_look_installs_and_makes_nothing(machine, words, module) -> None:
    assert machine.start(*words) == (0, "")
    assert machine.notes.read_text().splitlines()[-1] == f"python -B -P -m {module}"
    assert not (machine.tree / ".venv").exists()


def test_a_shell_that_completes_a_line_does_not_wait_for_an_installation(machine) -> None:
    assert machine.start(_TCPLAB_COMPLETE="bash_complete") == (0, "")
    assert not machine.notes.read_text()
    machine.start("run")
    machine.start(_TCPLAB_COMPLETE="bash_complete")
    assert machine.called("experiments.cli.main")


def test_a_failed_installation_stops_every_start(machine: LauncherMachine) -> None:
    for _ in range(2):
        assert machine.start("run", FAILS="yes")[0] == 1
        assert not machine.called("experiments.run")
    assert machine.start("run")[0] == 0


def test_an_old_python_is_refused(machine: LauncherMachine) -> None:
    status, errors = machine.start("run", OLD="yes")
    assert status == 1 and "Python 3.9.2 is too old" in errors


def test_a_missing_python_is_one_sentence(machine: LauncherMachine) -> None:
    (machine.programs / "python3").unlink()
    status, errors = machine.start("run")
    assert status == 1 and "apt-get install python3" in errors


def test_the_launcher_is_found_through_a_link(machine: LauncherMachine, tmp_path: Path) -> None:
    machine.start("run")
    link = tmp_path / "elsewhere"
    link.symlink_to(machine.tree / "tcplab")
    environment = {"PATH": str(machine.programs), "NOTES": str(machine.notes)}
    machine.notes.write_text("")
    subprocess.run([link, "run"], env=environment, check=True)
    assert machine.called("experiments.cli.main") and not machine.called("environment")


def test_python_reads_no_other_home(machine: LauncherMachine) -> None:
    python = machine.programs / "python3"
    python.write_text(PYTHON + 'echo "home ${PYTHONHOME-none}" >> "$NOTES"\n')
    machine.start("run", PYTHONHOME="/nowhere")
    assert set(machine.called("home ")) == {"home none"}
    assert shutil.which("python3", path=str(machine.programs))
