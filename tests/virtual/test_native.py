"""The native testbed on the lab kernel: it leaves the machine as it was, whenever it is killed."""

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.custom_cc import CustomCcParameters, experiment
from experiments.spec import Condition, ExperimentSpec, Proof
from testbed.guest.kernel_modules import module_from
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab
from testbed.modules import attached, built
from testbed.virtual.run import run_in_guest
from tests.virtual.conftest import native_code, read
from topologies.data import to_data
from topologies.units import Duration

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
EXP = ROOT / "experiments/custom_cc/exp.c"
RESTRICTED = "vegas"  # hosts, as namespaces, may not choose it until it is allowed


@pytest.fixture
def native_job(ready_lab: Lab, tmp_path: Path) -> Callable[..., Path]:
    """Runs a job of native_jobs with a module and a restricted congestion control: its results."""

    def run(job: str, spec: ExperimentSpec, modules: bool, **more: Any) -> Path:
        data = {
            "job": job,
            "spec": to_data(spec),
            "code": native_code(),
            "algorithms": [RESTRICTED],
            **more,
        }
        files = attached([built(module_from(EXP), ready_lab)]) if modules else {}
        run_in_guest(
            ready_lab,
            "tests.virtual.native_jobs",
            data,
            1,
            tmp_path,
            lambda *_: None,
            Limits(600, 2048),
            files,
        )
        return tmp_path

    return run


def spec(own: bool) -> ExperimentSpec:
    """Two short transfers: under a restricted congestion control, and under a module's or CUBIC."""
    study = experiment(
        CustomCcParameters(cc="own" if own else "cubic", duration=Duration.parse("2s"))
    )
    name = "net.ipv4.tcp_congestion_control"
    restricted = Condition(
        RESTRICTED, RESTRICTED, ((name, RESTRICTED),), (Proof("congestion_control", RESTRICTED),)
    )
    return dataclasses.replace(study, conditions=(*study.conditions, restricted))


def moments(count: int) -> list[float]:
    """Half of the moments are in the start, which is short in virtual time, half in all the run."""
    chance = random.Random(7)
    return [
        10 ** chance.uniform(-4, -1) if number % 4 < 2 else chance.uniform(0.1, 9)
        for number in range(count)
    ]


def test_killed_at_any_moment_it_leaves_the_machine_and_strangers_as_they_were(
    native_job, pytestconfig: pytest.Config
) -> None:
    folder = native_job(
        "killed", spec(own=True), True, moments=moments(pytestconfig.getoption("--kills"))
    )
    report = read(folder / "found.json")
    assert report["pings"] == report["pings_after"] == "loss 0.0"
    assert {moment: lines for moment, lines in report["differences"].items() if lines} == {}
    *undone, at_the_end = report["cleaned"]
    assert at_the_end == "Killed runs left no changes.\n"
    assert any(
        "module exp is unloaded" in output and f"control {RESTRICTED} is restricted" in output
        for output in undone
    )
    for condition in ("exp", RESTRICTED):
        assert read(folder / "whole" / condition / "evidence.json")["held"]
    (module,) = read(folder / "whole/environment.json")["modules"]
    assert module["found"].startswith("exp ")
    assert read(folder / "whole/environment.json")["clock"] == "real"


def test_two_at_once_do_not_meet(native_job) -> None:
    folder = native_job("together", spec(own=False), False, runs=["left", "right"])
    assert read(folder / "found.json") == {"statuses": [0, 0], "difference": {}}
    for run in ("left", "right"):
        for condition in ("cubic", RESTRICTED):
            assert read(folder / run / condition / "evidence.json")["held"]


def test_a_native_network_can_be_typed_into(native_job) -> None:
    keys = [
        ("mininet> ", "left ping -c 2 right\r"),
        ("0% packet loss", ""),
        ("mininet> ", "left sleep 1000\r"),
        ("sleep 1000", "\x03"),
        ("mininet> ", "\x04"),
    ]
    report = read(native_job("typed", spec(own=False), False, keys=keys) / "found.json")
    assert (report["status"], report["difference"]) == (0, {})
    assert "2 received" in report["text"]
