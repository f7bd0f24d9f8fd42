"""The same seed, kernel and image give the same packets for every user, folder and load."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from experiments.spec import ExperimentSpec
from testbed.host.supervise import Limits
from tests.virtual.conftest import digests
from topologies.data import to_data

pytestmark = pytest.mark.virtual


def test_a_seed_repeats_and_another_differs(in_guest, short_sack: ExperimentSpec) -> None:
    first, again, other = (digests(in_guest(short_sack, seed=seed)[0]) for seed in (7, 7, 8))
    assert first == again
    assert all(first[name] != other[name] for name in first if name.endswith(".pcap"))


def test_guests_beside_each_other_and_a_busy_machine_change_nothing(in_guest, short_sack) -> None:
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


def test_environment_and_folder_change_nothing(in_guest, short_sack, elsewhere) -> None:
    strange = {
        "LANG": "xx",
        "TMPDIR": "/var/tmp",
        "HOME": "/nowhere",
        "LD_LIBRARY_PATH": "/usr/lib",
        "A": "b" * 5000,
    }
    assert elsewhere(strange, os.geteuid(), "/usr").digests == digests(in_guest(short_sack)[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_and_an_ordinary_user_see_the_same_packets(in_guest, short_sack, elsewhere) -> None:
    assert elsewhere({}, 65534, "/").digests == digests(in_guest(short_sack)[0])


def test_memory_changes_nothing(in_guest, short_sack: ExperimentSpec) -> None:
    more = Limits(300.0, memory_mib=2560)
    assert digests(in_guest(short_sack, limits=more)[0]) == digests(in_guest(short_sack)[0])


def test_processor_features_change_nothing(in_guest, short_sack: ExperimentSpec) -> None:
    """The guest's C library picks its functions by them; two masks of one length."""
    masks = (
        "glibc.cpu.hwcaps=-AVX2,-AVX512F,-SSE4_2,-ERMS",
        "glibc.cpu.hwcaps=+AVX2,+AVX512F,+SSE4_2,+ERMS",
    )
    jobs = [{"job": "masked", "mask": mask, "spec": to_data(short_sack)} for mask in masks]
    first, second = (digests(in_guest(job, module="tests.virtual.jobs")[0]) for job in jobs)
    assert first == second
