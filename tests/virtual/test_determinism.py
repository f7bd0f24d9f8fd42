"""The same seed, kernel and image give the same packets, whoever runs them, where and beside what."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from experiments.spec import ExperimentSpec
from testbed.lab import Lab
from tests.virtual.conftest import digests
from topologies.data import to_data

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
RUN = """
import json, sys
from pathlib import Path
from testbed.lab import Lab
from testbed.virtual import run_in_guest
kernel, init, image, spec, out, seccomp = sys.argv[1:]
lab = Lab(Path(kernel), Path(init), Path(image), "", bool(int(seccomp)), {}, {})
run_in_guest(lab, "experiments.procedure", json.loads(Path(spec).read_text()), 7, Path(out), lambda *_: None)
"""


def test_a_seed_repeats_and_another_differs(in_guest, short_sack: ExperimentSpec) -> None:
    first, again, other = (digests(in_guest(short_sack, seed=seed)[0]) for seed in (7, 7, 8))
    assert first == again
    assert all(first[name] != other[name] for name in first if name.endswith(".pcap"))


def test_guests_beside_each_other_and_a_busy_machine_change_nothing(in_guest, short_sack: ExperimentSpec) -> None:
    alone = digests(in_guest(short_sack)[0])
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        with ThreadPoolExecutor(3) as pool:
            together = list(pool.map(lambda _: digests(in_guest(short_sack)[0]), range(3)))
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert together == [alone] * 3


def _elsewhere(lab: Lab, spec_file: Path, out: Path, environment: dict[str, str], user: int | None, cwd: str) -> None:
    out.mkdir()
    if user is not None:
        os.chown(out, user, user)
    names = [lab.kernel, lab.init, lab.image, spec_file, out, int(lab.seccomp)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, names)], cwd=cwd, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environment},
        **({"user": user, "group": user, "extra_groups": []} if user is not None else {}),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture
def open_lab(ready_lab: Lab):
    """A copy of the lab, and a folder beside it, that every user may read: a home folder may be closed."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        copies = [shutil.copy(file, folder) for file in (ready_lab.kernel, ready_lab.init, ready_lab.image)]
        for copy in copies:
            Path(copy).chmod(0o755)
        yield Lab(*map(Path, copies), ready_lab.kernel_release, ready_lab.seccomp, {}, {}), folder


def test_environment_folder_and_processor_features_change_nothing(
    in_guest, short_sack: ExperimentSpec, open_lab: tuple[Lab, Path]
) -> None:
    lab, folder = open_lab
    spec_file = folder / "spec.json"
    spec_file.write_text(json.dumps(to_data(short_sack)))
    here = digests(in_guest(short_sack)[0])
    without_vectors = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX,-SSE4_2,-ERMS,-FSRM"
    strange = {
        "GLIBC_TUNABLES": without_vectors,
        "LANG": "xx",
        "TMPDIR": str(folder),
        "HOME": "/nowhere",
        "A": "b" * 5000,
    }
    _elsewhere(lab, spec_file, folder / "strange", strange, None, "/usr")
    assert digests(folder / "strange") == here


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_and_an_ordinary_user_see_the_same_packets(
    in_guest, short_sack: ExperimentSpec, open_lab: tuple[Lab, Path]
) -> None:
    lab, folder = open_lab
    spec_file = folder / "spec.json"
    spec_file.write_text(json.dumps(to_data(short_sack)))
    _elsewhere(lab, spec_file, folder / "nobody", {}, 65534, "/")
    assert digests(folder / "nobody") == digests(in_guest(short_sack)[0])
