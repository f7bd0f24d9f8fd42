"""The study on other kernels: it runs, is proved, and a seed repeats, on each version of the lab.

A kernel that is not built takes minutes, so those are left out unless pytest has `--kernels`. CI
builds one, which the page about kernels needs too.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.run.seed import judge, run_seed
from experiments.spec import ExperimentSpec
from testbed.host.supervise import Limits
from testbed.lab.kernel import DEFAULT, all_series, kernel_version
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab, lab_if_ready
from tests.virtual.conftest import digests, read

pytestmark = pytest.mark.virtual
OTHERS = [series for series in all_series() if series != DEFAULT]


@pytest.fixture(params=OTHERS)
def other_lab(request: pytest.FixtureRequest) -> Lab:
    """The lab on a kernel that is built, or that is built now with --kernels."""
    kernel = chosen(request.param)
    has_source = bool(kernel_version(request.param).package)
    if request.config.getoption("--kernels") in ("all", request.param) and has_source:
        return lab(kernel=kernel)
    if ready := lab_if_ready(kernel):
        return ready
    pytest.skip(f"Linux {request.param} is not built: ./tcplab kernel build {request.param}")


def carried(other: Lab, spec: ExperimentSpec, out: Path, seed: int = 7) -> Path:
    out.mkdir()
    spec = replace(spec, kernel=str(other.choice))
    run_seed(spec, seed, out, Limits(600), other, lambda _phase, _elapsed: None)
    assert judge(spec, seed, out).failures == ()
    return out


def test_the_study_runs_and_repeats_on_every_kernel(
    other_lab: Lab, ready_lab: Lab, short_sack: ExperimentSpec, tmp_path: Path
) -> None:
    first = carried(other_lab, short_sack, tmp_path / "first")
    again = carried(other_lab, short_sack, tmp_path / "again")
    other_seed = carried(other_lab, short_sack, tmp_path / "seed", 8)
    usual = carried(ready_lab, short_sack, tmp_path / "usual")
    assert digests(first) == digests(again)
    environment = read(first / "environment.json")
    assert environment["kernel"] == f"Linux {other_lab.kernel_release}"
    assert environment["lines"]
    for another in (other_seed, usual):
        pairs = zip(digests(first).items(), digests(another).items(), strict=True)
        assert all(mine != theirs for mine, theirs in pairs if mine[0].endswith(".pcap"))
