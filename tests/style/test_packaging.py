"""What is handed on: a wheel and a source distribution that work, and a licence for everything that
is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

import testbed
from testbed.host.interpreter import _LIBRARIES
from testbed.host.packages import TOOLS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that is built from it, and from nothing
    else.
    """
    place = tmp_path_factory.mktemp("built")
    source = place / "source"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "runs", "build", "dist", "*.egg-info", "__pycache__", ".*_cache"
    )
    shutil.copytree(ROOT, source, ignore=ignored)
    command = [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Temporary failure in name resolution" in done.stdout + done.stderr:
        pytest.skip("no network: the tools that build cannot be fetched")
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "dist"


def test_the_wheel_works_in_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "fresh", with_pip=False)
    python = tmp_path / "fresh/bin/python"
    (wheel,) = built.glob("*.whl")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, str(wheel)], check=True)
    libraries = next((tmp_path / "fresh/lib").glob("python3*/site-packages")) / "libraries.pth"
    libraries.write_text(
        sysconfig.get_path("purelib") + "\n"
    )  # what it depends on is not what is tested

    def printed(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "doctor" in printed(str(python.with_name("tcplab")), "--help")
    assert "--bw" in printed(str(python), "-m", "experiments.sack", "--help")
    assert str(tmp_path / "fresh") in printed(
        str(python), "-c", "import testbed; print(testbed.__file__)"
    )
    # The names of these hold the digests of every file of the recipes: the same files are there.
    entries = [sys.executable, "-m", "testbed.lab.survey", "run"]
    here = subprocess.run(entries, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert printed(str(python), "-m", "testbed.lab.survey", "run") == here
    assert "sack_loss_sweep" in printed(str(python), "-m", "experiments", "--list")
    assert "--seeds" in printed(str(python.with_name("tcplab")), "sweep", "--help")


def test_the_source_distribution_has_every_file_of_the_repository(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout that this user may read")
    missing = set(listed.stdout.split("\n")) - held - {".gitignore", ""}
    assert {name for name in missing if (ROOT / name).exists()} == set()


def test_the_version_is_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert re.search(
        rf"^## {re.escape(testbed.VERSION)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def test_everything_that_is_installed_has_its_licence_listed() -> None:
    text = (ROOT / "docs/licences.md").read_text()
    python = _names(PROJECT["dependencies"]) | _names(PROJECT["optional-dependencies"]["test"])
    assert [
        name
        for name in python | {*TOOLS.values()}
        if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)
    ] == []


def test_the_check_for_libraries_knows_all_of_them() -> None:
    modules = {"markdown-it-py": "markdown_it"}
    assert {modules.get(name, name) for name in _names(PROJECT["dependencies"])} == set(_LIBRARIES)


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=]", requirement)[0] for requirement in requirements}


def test_the_systems_python_goes_on_in_the_virtual_environment() -> None:
    """sudo forgets the environment: `sudo python3 -m experiments.sack`."""
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("these tests do not run in the checkout's .venv")
    command = ["/usr/bin/python3", "-m", "experiments.sack", "--list"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "sack_loss_sweep" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "script", ["tcplab", "provision.sh", "tests/native/start.sh", "tests/native/vagrant_up.sh"]
)
def test_shellcheck_is_content(script: str) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here: sudo apt-get install shellcheck")
    done = subprocess.run(
        ["shellcheck", str(ROOT / script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_vagrant_takes_the_vagrantfile(tmp_path: Path) -> None:
    if not shutil.which("vagrant"):
        pytest.skip("no vagrant here: sudo apt-get install vagrant")
    shutil.copy(ROOT / "Vagrantfile", tmp_path)
    command = ["vagrant", "validate", "--ignore-provider"]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "VAGRANT_HOME": str(tmp_path / "home"),
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
