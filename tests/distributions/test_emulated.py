"""A release on Debian's own kernel, with processors of other ages and with namespaces forbidden.

`--release FOLDER` as in test_distributions.py. Each start takes some minutes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.distributions.emulated import EmulatedComputer, release_disk
from tests.native.stock_kernel import QEMU

SHORT = ("run", "sack", "--seed", "1", "--repeat", "1", "--duration", "5s", "--out")


@pytest.fixture(scope="module")
def disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = request.config.getoption("--release")
    if not folder:
        pytest.skip("a long test: pytest --release FOLDER, which ./tcplab release has made")
    if not shutil.which(QEMU) or not shutil.which("mksquashfs"):
        pytest.skip("QEMU or mksquashfs is not installed")
    return release_disk(Path(folder).absolute(), tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def here(disk: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of the captures of the same run on this machine's own processor."""
    out = tmp_path_factory.mktemp("here")
    command = [disk.parent / "tree/tcplab", *SHORT, out]
    subprocess.run(command, check=True, capture_output=True)
    run = out / "sack/latest"
    files = sorted(run.rglob("*.pcap"))
    assert len(files) == 4
    return {
        f"./{file.relative_to(run)}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def packets(out: Path, name: str) -> dict[str, str]:
    """The digests of a run's captures."""
    lines = (out / f"{name}.sums").read_text().splitlines()
    return {file: digest for digest, file in (line.split() for line in lines)}


def sandbox(out: Path, name: str) -> dict[str, Any]:
    """What the manifest of a run says about its sandbox."""
    manifest = json.loads((out / f"{name}.json").read_text())
    assert manifest["release"].startswith("tcplab ")
    found: dict[str, Any] = manifest["sandbox"]
    return found


def test_an_old_processor_gives_the_same_packets(
    disk: Path, here: dict[str, str], tmp_path: Path
) -> None:
    """Nehalem has SSE 4.2, and no AVX."""
    EmulatedComputer(disk, tmp_path).carry_out("Nehalem", "run old")
    assert packets(tmp_path, "old") == here, (tmp_path / "old").read_text()


def test_a_processor_without_anything_new_gives_the_same_packets(
    disk: Path, here: dict[str, str], tmp_path: Path
) -> None:
    """qemu64 has what every x86-64 has: the analysis cannot run there, and that is said."""
    EmulatedComputer(disk, tmp_path).carry_out("qemu64", "run plain\nwhat=doctor tcplab doctor")
    assert packets(tmp_path, "plain") == here, (tmp_path / "plain").read_text()
    printed = (tmp_path / "plain").read_text()
    assert "has no report" in printed and "lacks instructions" in printed
    assert "no AVX2" in (tmp_path / "doctor").read_text()


_EVERY_SANDBOX = """
echo 0 >/proc/sys/user/max_user_namespaces
run supervisor
echo 2 >/proc/sys/kernel/yama/ptrace_scope
run refused
mkdir -p /lib64 /lib/x86_64-linux-gnu /usr/bin
for program in /release/python/lib/python3/dist-packages/tcplab/brought/bubblewrap; do
    cp "$program"/lib* /lib/x86_64-linux-gnu
    cp "$program/ld-linux-x86-64.so.2" /lib64
    cp "$program/bwrap" /usr/bin
done
chmod 4755 /usr/bin/bwrap
run set-uid
"""


def test_every_sandbox_on_debians_own_kernel_gives_the_same_packets(
    disk: Path, here: dict[str, str], tmp_path: Path
) -> None:
    """Without user namespaces, and so too with a set-uid bubblewrap.

    Without either, as where only root may trace (ptrace_scope 2), a sentence says why.
    """
    EmulatedComputer(disk, tmp_path).carry_out("max", _EVERY_SANDBOX)
    for name in ("supervisor", "set-uid"):
        assert packets(tmp_path, name) == here, (tmp_path / name).read_text()
    names = [sandbox(tmp_path, name)["name"] for name in ("supervisor", "set-uid")]
    assert names == ["supervisor", "set-uid bubblewrap"]
    refused = " ".join((tmp_path / "refused").read_text().split())
    assert "No sandbox for guests works on this system" in refused
    assert "kernel.yama.ptrace_scope=1" in refused
