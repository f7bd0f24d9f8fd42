"""A release on other Linuxes, as an ordinary user: the same packets everywhere.

`--release FOLDER` names what `./tcplab release` made. The roots take minutes, and 1.5 GB meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributions.roots import HOME, ForeignRoot, busybox, debian, ubuntu

RUN = ("run", "sack", "--seed", "1", "--repeat", "1", "--out", f"/{HOME}/runs")


@pytest.fixture(scope="module")
def release(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--release")
    if not folder:
        pytest.skip("a long test: pytest --release FOLDER, which ./tcplab release has made")
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("making the roots of other Linuxes needs root and mmdebstrap")
    return Path(folder).absolute()


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that the ordinary user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def captures(root: ForeignRoot) -> dict[str, str]:
    """SHA-256 of the captures of the run in a root's home, by their paths in the run."""
    runs = root.home / "runs/sack/latest"
    files = sorted(runs.rglob("*.pcap"))
    assert len(files) == 4
    return {str(f.relative_to(runs)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


EXPECTED: dict[str, str] = {}
"""The captures of the first root, which all others must have too."""


def check(what: str, root: ForeignRoot, *program: str) -> None:
    """Run the experiment; print how long it took, and compare its packets."""
    begun = time.monotonic()
    printed = root.called(*program, *RUN)
    seconds = time.monotonic() - begun
    assert "report.html" in printed
    found = captures(root)
    print(f"{what}: {seconds:.1f} s to the first report, {next(iter(found.values()))[:12]}")
    assert EXPECTED.setdefault("all", repr(found)) == repr(found)
    manifest = (root.home / "runs/sack/latest/manifest.json").read_text()
    assert '"release": "tcplab' in manifest
    shutil.rmtree(root.home / "runs")


def unpack(release: Path, root: ForeignRoot) -> None:
    (archive,) = release.glob("*.tar.gz")
    command = ["tar", "-xzf", str(archive), "-C", str(root.home), "--no-same-owner"]
    subprocess.run(command, check=True, user=65534, group=65534, extra_groups=[])
    next(root.home.glob("tcplab-*")).rename(root.home / "tcplab")


def check_archive(what: str, release: Path, root: ForeignRoot) -> None:
    unpack(release, root)
    check(f"{what}, archive", root, f"/{HOME}/tcplab/tcplab")
    shutil.rmtree(root.home / "tcplab")


def check_wheel(what: str, release: Path, root: ForeignRoot) -> None:
    for wheel in release.glob("*.whl"):
        shutil.copy(wheel, root.home)
    root.called("python3", "-m", "venv", "venv")
    options = ("--quiet", "--only-binary", ":all:", "--find-links", f"/{HOME}")
    pip = ("venv/bin/pip", "install", *options, "tcplab")
    root.called(*pip, network=True)
    check(f"{what}, wheel", root, f"/{HOME}/venv/bin/tcplab")


def test_a_root_with_nothing_but_busybox(release: Path, place: Path) -> None:
    root = busybox(place / "busybox", place / "work")
    (archive,) = release.glob("*.tar.gz")
    shutil.copy(archive, root.home / "release.tar.gz")
    root.called("tar", "-xzf", "release.tar.gz")
    next(root.home.glob("tcplab-*")).rename(root.home / "tcplab")
    check("busybox, archive", root, f"/{HOME}/tcplab/tcplab")
    shutil.rmtree(root.folder)


@pytest.mark.parametrize("suite", ["bookworm", "trixie", "sid"])
def test_a_debian(release: Path, place: Path, suite: str) -> None:
    root = debian(suite, place / suite)
    check_archive(suite, release, root)
    check_wheel(suite, release, root)
    shutil.rmtree(root.folder)


@pytest.mark.parametrize(("suite", "takes_wheel"), [("jammy", False), ("noble", True)])
def test_an_ubuntu(
    request: pytest.FixtureRequest, release: Path, place: Path, suite: str, takes_wheel: bool
) -> None:
    """Ubuntu 22.04 has Python 3.10, for which there is no wheel."""
    address = request.config.getoption("--ubuntu")
    if not address:
        pytest.skip("pytest --ubuntu MIRROR makes roots of Ubuntu from that mirror")
    root = ubuntu(suite, address, place / suite, place / f"keys-of-{suite}")
    check_archive(suite, release, root)
    if takes_wheel:
        check_wheel(suite, release, root)
    shutil.rmtree(root.folder)
