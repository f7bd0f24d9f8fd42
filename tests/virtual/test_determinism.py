"""The same seed, kernel and image give the same packets for every user, folder and load."""

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
from testbed.lab.ready import Lab
from tests.virtual.conftest import digests
from topologies.data import to_data

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
RUN = """
import json, sys
from pathlib import Path
from testbed.lab.ready import Lab
from testbed.virtual.virtual_run import run_in_guest
kernel, confine, init, image, spec, out, seccomp = sys.argv[1:]
lab = Lab(Path(kernel), Path(confine), Path(init), Path(image), "", bool(int(seccomp)), {}, {})
data = json.loads(Path(spec).read_text())
run_in_guest(lab, "experiments.procedure", data, 7, Path(out), lambda *_: None)
"""


def test_a_seed_repeats_and_another_differs(in_guest, short_sack: ExperimentSpec) -> None:
    first, again, other = (digests(in_guest(short_sack, seed=seed)[0]) for seed in (7, 7, 8))
    assert first == again
    assert all(first[name] != other[name] for name in first if name.endswith(".pcap"))


def test_guests_beside_each_other_and_a_busy_machine_change_nothing(
    in_guest, short_sack: ExperimentSpec
) -> None:
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


@pytest.fixture
def elsewhere(ready_lab: Lab, short_sack: ExperimentSpec):
    """`elsewhere(environment, user, cwd)`: digests of the short study, run by another process.

    The lab is copied to where every user may read it: a home folder may be closed.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        files = (ready_lab.kernel, ready_lab.confine, ready_lab.init, ready_lab.image)
        copies = [shutil.copy(file, folder) for file in files]
        for copy in copies:
            Path(copy).chmod(0o755)
        (folder / "spec.json").write_text(json.dumps(to_data(short_sack)))

        def run(environment: dict[str, str], user: int, cwd: str) -> dict[str, str]:
            out = folder / "out"
            out.mkdir()
            os.chown(out, user, user)
            words = [*copies, str(folder / "spec.json"), str(out), str(int(ready_lab.seccomp))]
            environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environment}
            subprocess.run(
                [sys.executable, "-c", RUN, *words],
                cwd=cwd,
                env=environment,
                check=True,
                **_as(user),
            )
            return digests(out)

        yield run


def _as(user: int) -> dict:
    return {"user": user, "group": user, "extra_groups": []} if user != os.geteuid() else {}


def test_environment_and_folder_change_nothing(
    in_guest, short_sack: ExperimentSpec, elsewhere
) -> None:
    strange = {
        "LANG": "xx",
        "TMPDIR": "/var/tmp",
        "HOME": "/nowhere",
        "LD_LIBRARY_PATH": "/usr/lib",
        "A": "b" * 5000,
    }
    assert elsewhere(strange, os.geteuid(), "/usr") == digests(in_guest(short_sack)[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_and_an_ordinary_user_see_the_same_packets(
    in_guest, short_sack: ExperimentSpec, elsewhere
) -> None:
    assert elsewhere({}, 65534, "/") == digests(in_guest(short_sack)[0])


def test_processor_features_change_nothing(in_guest, short_sack: ExperimentSpec) -> None:
    """The guest's C library picks its functions by them; two masks of one length."""
    masks = (
        "glibc.cpu.hwcaps=-AVX2,-AVX512F,-SSE4_2,-ERMS",
        "glibc.cpu.hwcaps=+AVX2,+AVX512F,+SSE4_2,+ERMS",
    )
    jobs = [{"job": "masked", "mask": mask, "spec": to_data(short_sack)} for mask in masks]
    first, second = (digests(in_guest(job, module="tests.virtual.jobs")[0]) for job in jobs)
    assert first == second
