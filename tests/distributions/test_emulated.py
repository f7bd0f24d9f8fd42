"""A release on own kernels of Debian and Ubuntu, on old processors, and without namespaces.

`--release FOLDER` and `--ubuntu MIRROR` as in test_distributions.py. Each start takes some minutes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.distributions.emulated import EmulatedComputer, release_disk
from tests.distributions.ubuntu_kernel import RULE, ubuntu_kernel
from tests.native.stock_kernel import QEMU

SHORT = "--seed 1 --repeat 1 --duration 1s --limit 40min"
"""The limit is of the emulated computer's own clock, and a busy machine may be very slow."""


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
    command = [disk.parent / "tree/tcplab", "run", "sack", *SHORT.split(), "--out", out]
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


@pytest.mark.parametrize("processor", ["Nehalem", "max"])
def test_any_processor_gives_the_same_packets(
    disk: Path, here: dict[str, str], tmp_path: Path, processor: str
) -> None:
    """Nehalem (2008) has SSE 4.2 and no AVX, `max` has AVX2 and no AVX-512; both have a report."""
    EmulatedComputer(disk, tmp_path).carry_out(processor, f"run short {SHORT}")
    printed = (tmp_path / "short").read_text()
    assert packets(tmp_path, "short") == here, printed
    assert "report.html" in printed


def test_a_processor_without_anything_new_gives_the_same_packets(
    disk: Path, here: dict[str, str], tmp_path: Path
) -> None:
    """qemu64 has what every x86-64 has: the analysis cannot run there, and that is said."""
    EmulatedComputer(disk, tmp_path).carry_out(
        "qemu64", f"run plain {SHORT}\nwhat=doctor tcplab doctor"
    )
    assert packets(tmp_path, "plain") == here, (tmp_path / "plain").read_text()
    printed = (tmp_path / "plain").read_text()
    assert "has no report" in printed and "lacks instructions" in printed
    assert "no ssse3" in (tmp_path / "doctor").read_text()


_NO_NAMESPACES = "echo 0 >/proc/sys/user/max_user_namespaces\n"


def test_without_user_namespaces_on_debians_own_kernel_the_packets_are_the_same(
    disk: Path, here: dict[str, str], tmp_path: Path
) -> None:
    EmulatedComputer(disk, tmp_path).carry_out("max", f"{_NO_NAMESPACES}run short {SHORT}")
    printed = (tmp_path / "short").read_text()
    assert packets(tmp_path, "short") == here, printed
    assert sandbox(tmp_path, "short")["name"] == "supervisor", printed


def test_on_ubuntus_kernel_with_its_rule_for_namespaces_the_packets_are_the_same(
    request: pytest.FixtureRequest, disk: Path, here: dict[str, str], tmp_path: Path
) -> None:
    address = request.config.getoption("--ubuntu")
    if not address:
        pytest.skip("pytest --ubuntu MIRROR fetches Ubuntu's kernel from that mirror")
    computer = EmulatedComputer(disk, tmp_path, partial(ubuntu_kernel, address))
    computer.carry_out("max", f"{RULE}run short {SHORT}")
    printed = (tmp_path / "short").read_text()
    assert packets(tmp_path, "short") == here, printed
    chosen = sandbox(tmp_path, "short")
    assert chosen["name"] == "supervisor", printed
    assert "Operation not permitted" in chosen["refused"]["bubblewrap"]


@pytest.mark.parametrize(
    ("scope", "remedy"), [(2, "sysctl -w kernel.yama.ptrace_scope=1"), (3, "until the next start")]
)
def test_where_users_may_not_trace_either_a_sentence_says_why(
    disk: Path, tmp_path: Path, scope: int, remedy: str
) -> None:
    closed = f"{_NO_NAMESPACES}echo {scope} >/proc/sys/kernel/yama/ptrace_scope\n"
    EmulatedComputer(disk, tmp_path).carry_out("max", f"{closed}run refused {SHORT}")
    printed = " ".join((tmp_path / "refused").read_text().split())
    assert "No sandbox for guests works on this system" in printed
    assert remedy in printed
