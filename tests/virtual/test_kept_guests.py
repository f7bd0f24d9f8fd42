"""A guest that has carried seeds gives the next one the files of a fresh guest, byte by byte."""

from pathlib import Path

import pytest

from experiments.run.seed import limits_for, run_seed
from experiments.spec import ExperimentSpec
from experiments.study.catalogue import find
from testbed.lab.ready import Lab
from testbed.virtual.run import keeping_guests
from tests.virtual.conftest import digests

pytestmark = pytest.mark.virtual
STUDIES = ("sack", "l4s_coexistence", "incast", "reordering", "bbr_share")


@pytest.mark.parametrize("study", STUDIES)
def test_a_guest_is_as_good_as_new(ready_lab, tmp_path, pytestconfig, study) -> None:
    chosen = find(study)
    spec = chosen.spec(chosen.parameters()())
    seeds = range(1, 11 if pytestconfig.getoption("--long") else 4)
    fresh = [_files(spec, seed, tmp_path / f"fresh-{seed}", ready_lab) for seed in seeds]
    with keeping_guests():
        kept = [_files(spec, seed, tmp_path / f"kept-{seed}", ready_lab) for seed in seeds]
    assert kept == fresh


def _files(spec: ExperimentSpec, seed: int, out: Path, lab: Lab) -> dict[str, str]:
    out.mkdir()
    run_seed(spec, seed, out, limits_for(spec, 600.0), lab, lambda *_: None)
    return digests(out)
