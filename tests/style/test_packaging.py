"""What is handed on: a wheel and a source distribution that work, and a licence for everything that
is installed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import testbed
from testbed.host import _LIBRARIES
from testbed.host.packages import TOOLS
from testbed.release.files import PIP

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "tests/analysis/data/run/raw/seed-5/sack_on/h2-eth0.pcap"
_ALONE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""The checkout is nowhere on the path of a program that is started with this."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that is built from it alone.

    It takes minutes, so the processes of a test run share it.
    """
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with (place / "built.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "dist").exists():
            _build(place)
    return place / "dist"


def _build(place: Path) -> None:
    source = place / "source"
    ignored = (".git", ".venv", "runs", "build", "dist", "target", "*.egg-info", "*.so")
    # Other tests write to the last three meanwhile.
    ignore = shutil.ignore_patterns(*ignored, "__pycache__", ".*_cache", ".cache", ".hypothesis")
    shutil.copytree(ROOT, source, ignore=ignore, dirs_exist_ok=True)
    options = ["--no-isolation", "--outdir", str(place / "new")]  # with the locked setuptools
    command = [sys.executable, "-m", "build", *options, str(source)]
    crates = {"CARGO_TARGET_DIR": str(ROOT / "analysis/flows/core/target")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | crates
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "new").rename(place / "dist")


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment that has the wheel and what it depends on."""
    place = tmp_path_factory.mktemp("fresh")
    venv.create(place, with_pip=False)
    (wheel,) = built.glob("*.whl")
    options = ["--quiet", "--no-deps", "--no-index"]
    pip = [str(place / "bin/python"), str(PIP), "install", *options]
    subprocess.run([*pip, str(wheel)], check=True, env=_ALONE)
    others = [folder for folder in sys.path if folder.endswith("-packages")]
    (_packages(place) / "others.pth").write_text("\n".join(others) + "\n")
    return place / "bin"


def _packages(environment: Path) -> Path:
    return next((environment / "lib").glob("python3*/site-packages"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A user's folder, with a module whose name one of our packages has in a checkout."""
    (tmp_path / "analysis.py").write_text("OWNER = 'the user'\n")
    return tmp_path


def printed(place: Path, *command: str | Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=place, env=_ALONE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_copy_owns_one_name(installed: Path) -> None:
    names = {entry.name for entry in _packages(installed.parent).iterdir()} - {"others.pth"}
    assert names == {"tcplab", f"tcplab-{testbed.VERSION}.dist-info"}
    metadata = _packages(installed.parent) / f"tcplab-{testbed.VERSION}.dist-info"
    assert (metadata / "top_level.txt").read_text() == "tcplab\n"


def test_one_wheel_serves_every_python(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    engines = [name for name in zipfile.ZipFile(wheel).namelist() if "/_core" in name]
    assert engines == ["tcplab/analysis/flows/_core.abi3.so"]


def test_a_users_own_modules_stay_the_users(installed: Path, elsewhere: Path) -> None:
    code = "import tcplab, analysis; print(analysis.OWNER, tcplab.__file__)"
    said = printed(elsewhere, installed / "python", "-c", code)
    assert said.startswith(f"the user {installed.parent}")
    code = "import tcplab.testing; [getattr(tcplab, name) for name in dir(tcplab)]"
    printed(elsewhere, installed / "python", "-c", code)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("tcplab --help", "doctor"),
        ("tcplab sweep --help", "--seeds"),
        ("tcplab lab list", "congestion_control"),
        ("tcplab run sack --dry-run", "net.ipv4.tcp_sack"),
        ("tcplab run --list", "sack_loss_sweep"),
        ("tcplab analyze {capture}", "segments"),
        ("tcplab report --help", "ARGUMENTS"),
        ("python -m tcplab.experiments.sack --help", "--bw"),
        ("python -m tcplab.analysis report --help", "RUN_DIRECTORY"),
        ("python -m tcplab.labs list", "fairness"),
    ],
)
def test_the_wheel_works(installed: Path, elsewhere: Path, command: str, word: str) -> None:
    program, *arguments = command.format(capture=CAPTURE).split()
    assert word in printed(elsewhere, installed / program, *arguments)


def test_pages_and_handouts_find_their_templates(installed: Path, elsewhere: Path) -> None:
    start = ("lab", "start", "sack", "--student", "ann")
    printed(elsewhere, installed / "tcplab", *start)
    assert (elsewhere / "sack-ann/handout.md").exists()
    printed(elsewhere, installed / "tcplab", "analyze", CAPTURE, "--out", "graphs")
    assert (elsewhere / "graphs/graphs.html").exists()


def test_recipes_and_the_code_in_guests_are_those_of_a_checkout(
    installed: Path, elsewhere: Path
) -> None:
    """The names of cache entries hold the digests of every file of the recipes."""
    keys = "from {}testbed.lab.ready import parts; print([part.key for part in parts()])"
    theirs = printed(elsewhere, installed / "python", "-c", keys.format("tcplab."))
    assert theirs == printed(ROOT, sys.executable, "-c", keys.format(""))
    digest = "from {}testbed.host.job_archive import code_digest; print(code_digest())"
    theirs = printed(elsewhere, installed / "python", "-c", digest.format("tcplab."))
    assert theirs == printed(ROOT, sys.executable, "-c", digest.format(""))


def test_an_installed_copy_compiles_nothing_that_comes_with_the_code(
    built: Path, installed: Path, elsewhere: Path
) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if "/prebuilt/" in name}
    listed = {f"tcplab/{file.relative_to(ROOT)}" for file in (ROOT / "prebuilt").glob("*/*")}
    assert names == {name for name in listed if "/engine/" not in name}
    code = "from {}testbed.lab.ready import *; "
    code += "from {}testbed.lab.image import *; from {}testbed.builds.cache import *; "
    code += "parts = kernel_part(), init_part(), patient_recipe(); "
    code += "print([(part.key, manifest_of(part)['key']) for part in parts])"
    theirs = printed(elsewhere, installed / "python", "-c", code.replace("{}", "tcplab."))
    assert theirs == printed(ROOT, sys.executable, "-c", code.replace("{}", ""))


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
    extras = PROJECT["optional-dependencies"]
    python = _names([*PROJECT["dependencies"], *extras["figures"], *extras["test"]])
    assert [
        name
        for name in python | {*TOOLS.values()}
        if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)
    ] == []


def test_the_check_for_libraries_knows_all_of_them() -> None:
    modules = {"markdown-it-py": "markdown_it"}
    names = _names(PROJECT["dependencies"])
    assert {modules.get(name, name) for name in names} == {*_LIBRARIES.split()}


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
    "script",
    [
        ".ci/in-bare-root",
        ".ci/run",
        "provision.sh",
        "tcplab",
        "tests/native/start.sh",
        "tests/native/vagrant_up.sh",
    ],
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
