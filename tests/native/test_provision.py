"""provision.sh in a clean Debian root: it installs everything, and the second time nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.builds.debian import mirror
from testbed.host.packages import NATIVE, install_command
from testbed.lab.image import SUITE

pytestmark = pytest.mark.native
ROOT = Path(__file__).resolve().parents[2]
_CODE = ("provision.sh", "testbed", "topologies")
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}


@pytest.fixture
def clean_root(tmp_path: Path) -> Path:
    """A Debian with apt, Python and our code in /tcplab; skips if this machine cannot make it."""
    if not shutil.which("mmdebstrap"):
        pytest.skip(f"no mmdebstrap here: {install_command(['mmdebstrap'])}")
    if os.geteuid() != 0:
        pytest.skip("making a Debian root needs root")
    root = tmp_path / "root"
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=apt",
        "--include=python3",
        SUITE,
        str(root),
        mirror(SUITE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mmdebstrap cannot make a root here: {done.stderr.strip().splitlines()[-1]}")
    (root / "tcplab").mkdir()
    for name in _CODE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / "tcplab" / name)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    return root


def inside(root: Path, *command: str) -> str:
    """What a command prints in the root, errors included; it sees only its own processes."""
    script = (
        f'mount -t proc proc "{root}/proc" && mount --rbind /dev "{root}/dev" && exec chroot'
        f' "{root}" "$@"'
    )
    isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*isolated, *command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | _ENVIRONMENT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_a_clean_debian_has_every_tool_afterwards(clean_root: Path) -> None:
    survey = ("sh", "-c", "cd /tcplab && python3 -B -m testbed.host.packages native")
    missing = inside(clean_root, *survey).split()
    assert {"mininet", "iperf", "mount"} <= set(missing)
    inside(clean_root, "sh", "/tcplab/provision.sh", "packages", *missing)
    assert inside(clean_root, *survey) == ""
    again = inside(clean_root, "sh", "/tcplab/provision.sh", "packages", *missing)
    assert "0 newly installed" in again
    answer = json.loads(
        inside(clean_root, "sh", "-c", "cd /tcplab && python3 -B -m testbed.doctor --json || true")
    )
    (tools,) = (finding for finding in answer["findings"] if finding["what"] == "network's tools")
    assert tools["state"] == "ok" and set(NATIVE.values()) <= {
        word.split()[0] for word in tools["said"].split(", ")
    }


def test_a_checkout_that_was_on_the_systems_path_is_taken_off_it(tmp_path: Path) -> None:
    """Version 0.1 wrote tcplab.pth. The function is run alone; its Python names a folder."""
    place = tmp_path / "dist-packages"
    place.mkdir()
    (place / "tcplab.pth").write_text("/vagrant\n")
    (place / "other.pth").touch()
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {place}\n")
    python.chmod(0o755)
    script = (ROOT / "provision.sh").read_text()
    begin = script.index("take_checkout_off_the_path() {")
    function = script[begin : script.index("\n}\n", begin) + 3]
    for _ in range(2):
        words = ["sh", "-euc", f"python={python}\n{function}\ntake_checkout_off_the_path"]
        subprocess.run(words, check=True)
    assert [file.name for file in place.iterdir()] == ["other.pth"]
    assert "pth" not in script.replace(function, "")
