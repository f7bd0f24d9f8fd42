"""A release's wheels from an index: an installation by pip that needs neither network nor tools."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from testbed.builds import BuildReport
from testbed.builds.debian import read_lock
from testbed.lab.ready import lab
from testbed.release import files, wheels_of
from testbed.release.files import PIP

ROOT = Path(__file__).resolve().parents[2]
RUN = ("run", "sack", "--seed", "1", "--repeat", "1", "--duration", "2s", "--out", "runs")

pytestmark = [pytest.mark.virtual, pytest.mark.long]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of this checkout."""
    place = tmp_path_factory.mktemp("index")
    for wheel in wheels_of(lab(), BuildReport(), tmp_path_factory.mktemp("work")):
        wheel.rename(place / wheel.name)
    return place


@pytest.fixture(scope="module")
def installed(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment after `pip install tcplab`, with an archive's few others."""
    place = tmp_path_factory.mktemp("fresh")
    venv.create(place, with_pip=False)
    (packages,) = (place / "lib").glob("python3*/site-packages")
    others = place / "others"
    others.mkdir()
    for library in libraries():
        (others / library.name).symlink_to(library)
    (packages / "others.pth").write_text(f"{others}\n")
    pip = [str(place / "bin/python"), str(PIP), "install"]
    options = ["--quiet", "--no-index", "--no-compile", "--find-links", str(index)]
    subprocess.run([*pip, *options, "tcplab"], check=True)
    for name in ("sh", "chmod", "rm"):
        (place / "bin" / name).symlink_to(str(shutil.which(name)))
    return place / "bin"


def libraries() -> list[Path]:
    """Return what this Python has installed, the checkout itself left out."""
    folders = (Path(folder) for folder in reversed(sys.path) if folder.endswith("-packages"))
    found = {entry.name: entry for folder in folders for entry in folder.iterdir()}
    return [entry for name, entry in found.items() if not name.startswith("tcplab")]


def captures(place: Path, *program: str | Path, **environment: str) -> dict[str, str]:
    """Run the experiment in a folder; the SHA-256 of its captures by their paths."""
    done = subprocess.run([*program, *RUN], cwd=place, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    run = place / "runs/sack/latest"
    files = sorted(run.rglob("*.pcap"))
    return {str(f.relative_to(run)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_an_installed_copy_sends_the_packets_of_the_checkout(installed: Path, tmp_path) -> None:
    """It has neither a cache to take from nor programs of the machine to build with."""
    (tmp_path / "home").mkdir()
    (tmp_path / "there").mkdir()
    alone = {"PATH": str(installed), "HOME": str(tmp_path / "home")}
    theirs = captures(tmp_path / "home", installed / "tcplab", **alone)
    module = [sys.executable, "-P", "-m", "experiments.cli.main"]
    ours = captures(tmp_path / "there", *module, **{**os.environ, "PYTHONPATH": str(ROOT)})
    assert theirs == ours and len(ours) == 4
    assert not [*(tmp_path / "home/.cache").glob("tcplab/*-*")]


def test_the_licences_and_sources_of_all_programs_come_along(index: Path) -> None:
    (wheel,) = index.glob("tcplab_lab-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        texts = {
            Path(name).name: opened.read(name).decode()
            for name in opened.namelist()
            if ".dist-info/licenses/" in name
        }
    assert "GNU GENERAL PUBLIC LICENSE" in texts[files.GPL]
    packages = re.findall(r"^    (\S+) \S+$", texts["SOURCES.md"], re.MULTILINE)
    locked = {each.name for lock in files.DEBIAN for each in read_lock(lock).packages}
    assert {*packages} == locked
    for name in locked:
        assert f"\n{name}\n====" in texts[files.COPYRIGHT]
