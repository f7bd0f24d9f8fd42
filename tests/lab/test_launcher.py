"""./tcplab on a machine of stand-ins: each program is a small script that notes its call."""

from __future__ import annotations

import os
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
    *testbed.lab.survey*) [ -z "$SURVEY_FAILS" ] || { echo "Error: no mirror" >&2; exit 1; }
        printf '%s\\n' $MISSING $ENTRIES ;;
    *"-m venv"*) sleep 0.1; mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
    *"-m pip"*)
        [ -z "$PIP_FAILS" ] || { echo "no such package"; exit 1; }
        echo "Collecting thing"; echo "Downloading thing-1.0.whl (5 MB)" ;;
    *version_info*) [ -z "$OLD" ] || exit 1 ;;
    --version) echo "Python 3.9.2" ;;
esac
"""
NOTED = '#!/bin/sh\necho "$(basename "$0") $*" >> "$NOTES"\n'


@dataclass
class LauncherMachine:
    """A tree with the launcher, and the only folder of programs on the PATH."""

    tree: Path
    programs: Path
    notes: Path

    def program(self, name: str, content: str) -> None:
        (self.programs / name).write_text(content)
        (self.programs / name).chmod(0o755)

    def begin(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        variables = {
            "PATH": str(self.programs),
            "NOTES": str(self.notes),
            "HOME": "/nowhere",
            **environment,
        }
        command = [str(self.tree / "tcplab"), *arguments]
        return subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def start(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Exit status and standard error; the notes are of this start only."""
        self.notes.write_text("")
        process = self.begin(*arguments, **environment)
        _, errors = process.communicate(timeout=20)
        return process.returncode, errors

    def called(self, text: str) -> list[str]:
        return [line for line in self.notes.read_text().splitlines() if text in line]


@pytest.fixture
def machine(tmp_path: Path) -> LauncherMachine:
    stand_in = LauncherMachine(tmp_path / "tree", tmp_path / "programs", tmp_path / "notes")
    (stand_in.tree / "testbed").mkdir(parents=True)
    link_programs(stand_in.programs)
    launcher = LAUNCHER.read_text().replace("/usr/bin/python3", str(stand_in.programs / "python3"))
    (stand_in.tree / "tcplab").write_text(launcher)
    (stand_in.tree / "tcplab").chmod(0o755)
    shutil.copy(LAUNCHER.with_name("provision.sh"), stand_in.tree)
    (stand_in.tree / "pyproject.toml").write_text("[project]\n")
    stand_in.program("python3", PYTHON)
    stand_in.program("id", "#!/bin/sh\necho 1000\n")
    for name in ("apt-get", "apt-cache"):
        stand_in.program(name, NOTED.replace('$(basename "$0")', name))
    return stand_in


def with_sudo(machine: LauncherMachine) -> LauncherMachine:
    """The machine with sudo; what sudo starts is root."""
    machine.program("sudo", '#!/bin/sh\necho "sudo $*" >> "$NOTES"\nROOT=yes exec "$@"\n')
    machine.program("id", '#!/bin/sh\n[ -n "$ROOT" ] && echo 0 || echo 1000\n')
    return machine


def test_the_first_start_makes_a_venv_and_hands_over(machine: LauncherMachine) -> None:
    status, _ = machine.start("run", "sack", "--seed", "7")
    assert status == 0
    assert machine.called("-m venv --system-site-packages")
    assert machine.called("-m pip install")
    assert machine.called("python -P -m experiments.harness.cli.main run sack --seed 7")


def test_the_first_start_shows_what_pip_fetches_and_checks_all_of_it(
    machine: LauncherMachine,
) -> None:
    _, errors = machine.start("run", "sack")
    assert "Downloading thing-1.0.whl (5 MB)" in errors and "Collecting" not in errors
    locked, own = machine.called("-m pip install")
    assert "--require-hashes" in locked and "locks/python.lock" in locked
    assert "--no-deps" in own and "--no-build-isolation" in own


@pytest.mark.parametrize(
    "words",
    [("scheduler",), ("worker", "tcp://h:1"), ("sweep", "sack", "--scheduler", "tcp://h:1")],
)
def test_what_only_a_cluster_needs_comes_with_the_first_command_of_one(
    machine: LauncherMachine, words: tuple[str, ...]
) -> None:
    machine.start("sweep", "sack")
    assert not machine.called("locks/cluster.lock")
    machine.start(*words)
    assert machine.called("locks/cluster.lock")
    machine.start("sweep", "sack", "--seeds", "9")
    assert not machine.called("-m pip install")


def test_a_later_start_only_hands_over(machine: LauncherMachine) -> None:
    machine.start("run", "sack")
    status, errors = machine.start("run", "sack")
    assert (status, errors) == (0, "")
    assert machine.notes.read_text() == "python -P -m experiments.harness.cli.main run sack\n"


@pytest.mark.parametrize("option", [("--studies", "own"), ("--studies=own",)])
def test_a_command_behind_the_option_of_all_commands_is_seen(
    machine: LauncherMachine, option: tuple[str, ...]
) -> None:
    machine.start(*option, "run", "mine")
    assert machine.called("testbed.lab.survey run")
    machine.start(*option, "runs", "list")
    assert machine.called("testbed.lab.survey light")


def test_a_changed_pyproject_installs_again_into_the_same_venv(machine: LauncherMachine) -> None:
    machine.start("run")
    (machine.tree / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    machine.start("run")
    assert machine.called("-m pip install")
    assert not machine.called("-m venv")


def test_test_installs_the_extra_and_runs_pytest(machine: LauncherMachine) -> None:
    machine.start("run")
    machine.start("test", "-k", "units")
    assert machine.called("locks/test.lock")
    assert machine.called("python -m pytest -k units")


def test_a_lost_cache_entry_is_looked_into(machine: LauncherMachine, tmp_path: Path) -> None:
    entry = tmp_path / "kernel-1"
    entry.mkdir()
    machine.start("run", ENTRIES=str(entry))
    machine.start("run", ENTRIES=str(entry))
    assert not machine.called("testbed.lab.survey")
    entry.rmdir()
    machine.start("run", ENTRIES=str(entry))
    assert machine.called("testbed.lab.survey run")


@pytest.mark.parametrize(
    ("command", "module"), [("doctor", "testbed.doctor"), ("clean", "testbed.native.clean")]
)
def test_what_looks_at_the_machine_installs_and_makes_nothing(
    machine: LauncherMachine, command: str, module: str
) -> None:
    status, errors = machine.start(command, "--json", MISSING="flex")
    assert (status, errors) == (0, "")
    assert machine.notes.read_text().splitlines()[-1] == f"python -B -P -m {module} --json"
    assert not machine.called("apt-get") and not (machine.tree / ".venv").exists()


def test_missing_packages_are_named_and_installed_with_sudo(machine: LauncherMachine) -> None:
    status, errors = with_sudo(machine).start("run", MISSING="flex bison")
    assert status == 0
    assert "missing and will be installed: flex bison" in errors
    assert machine.called("sudo") == [f"sudo sh {machine.tree}/provision.sh packages flex bison"]
    assert machine.called("apt-get") == ["apt-get install --yes --no-install-recommends flex bison"]


def test_the_lists_are_fetched_where_a_package_is_not_found(machine: LauncherMachine) -> None:
    with_sudo(machine).program("apt-cache", "#!/bin/sh\nexit 100\n")
    machine.start("run", MISSING="flex")
    assert [line.split()[-1] for line in machine.called("apt-get")] == ["update", "flex"]


def test_a_package_that_is_only_welcome_is_installed_or_gone_without(
    machine: LauncherMachine,
) -> None:
    machine.program("id", "#!/bin/sh\necho 0\n")
    machine.program(
        "apt-get",
        '#!/bin/sh\necho "apt-get $*" >> "$NOTES"\ncase "$*" in *odd*) exit 100 ;; esac\n',
    )
    status, errors = machine.start("test", MISSING="?odd ?good")
    assert status == 0 and "going on without odd" in errors and "without good" not in errors
    assert machine.called("apt-get install --yes --no-install-recommends good")


def test_without_root_and_sudo_the_command_is_printed(machine: LauncherMachine) -> None:
    status, errors = machine.start("run", MISSING="flex bison")
    assert status == 1
    assert "apt-get update && apt-get install --yes --no-install-recommends flex bison" in errors
    assert not machine.called("apt-get")
    assert not (machine.tree / ".venv").exists()


def test_where_the_lab_cannot_be_built_nothing_is_installed(machine: LauncherMachine) -> None:
    status, errors = with_sudo(machine).start("run", SURVEY_FAILS="yes")
    assert status == 1
    assert "Error: no mirror" in errors and "nothing was installed" in errors
    assert not machine.called("apt-get") and not (machine.tree / ".venv").exists()


def test_a_failed_installation_stops(machine: LauncherMachine) -> None:
    machine.program("apt-get", "#!/bin/sh\nexit 100\n")
    status, errors = with_sudo(machine).start("run", MISSING="flex")
    assert status == 1
    assert "apt-get update failed" in errors


def test_an_old_python_is_refused(machine: LauncherMachine) -> None:
    status, errors = machine.start("run", OLD="yes")
    assert status == 1
    assert "Python 3.9.2 is too old" in errors


def test_pip_is_heard_only_when_it_fails_and_is_tried_again(machine: LauncherMachine) -> None:
    status, errors = machine.start("run", PIP_FAILS="yes")
    assert status == 1
    assert "pip failed:\nno such package" in errors
    assert machine.start("run")[0] == 0
    assert machine.called("-m pip")


@pytest.mark.parametrize("damage", ["rm -r .venv/bin", "rm .venv/made-for .venv/ready-run-python"])
def test_a_broken_or_foreign_venv_is_made_anew(machine: LauncherMachine, damage: str) -> None:
    machine.start("run")
    subprocess.run(damage, shell=True, check=True, cwd=machine.tree)
    status, errors = machine.start("run")
    assert status == 0
    assert "making it anew" in errors
    assert machine.called("-m venv")


def test_an_empty_folder_may_be_a_mount_and_is_filled(machine: LauncherMachine) -> None:
    (machine.tree / ".venv").mkdir()
    before = (machine.tree / ".venv").stat().st_ino
    status, errors = machine.start("run")
    assert status == 0 and "anew" not in errors and machine.called("-m venv")
    assert (machine.tree / ".venv").stat().st_ino == before


def test_two_starts_at_once_make_one_venv(machine: LauncherMachine) -> None:
    machine.notes.write_text("")
    starts = [machine.begin("run", "sack") for _ in range(3)]
    assert [start.wait(20) for start in starts] == [0, 0, 0]
    for start in starts:
        start.communicate()
    assert len(machine.called("-m venv")) == 1
    assert len(machine.called("experiments.harness.cli.main run sack")) == 3


def test_a_tree_that_cannot_be_written_is_one_clear_error(machine: LauncherMachine) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    machine.tree.chmod(0o555)
    status, errors = machine.start("run")
    machine.tree.chmod(0o755)
    assert status == 1
    assert "cannot be written to" in errors
