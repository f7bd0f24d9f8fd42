"""The example with etcd passes, also when each network is made twice."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.virtual.conftest import ROOT

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.needs("curl"),
    pytest.mark.skipif(not shutil.which("etcd"), reason="sudo apt-get install etcd-server"),
]


def test_a_cluster_of_etcd_keeps_confirmed_writes(ready_lab, tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs/gallery/programs/test_etcd.py", tmp_path)
    options = ["--tcplab-twice", "-n0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, "test_etcd.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
