"""A kernel of one's own that crashes, spins or leaks ends its guest, and is shown with its lines.

One patch does all of it, as a setting says. Its kernel takes minutes to build, so these are left
out unless pytest has `--faults`.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import playground
from experiments.run.seed import run_seed
from experiments.spec import Condition, ExperimentSpec
from testbed.host.supervise import Limits
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab
from topologies.errors import TcplabError
from topologies.units import Duration

pytestmark = pytest.mark.virtual
PATCH = Path(__file__).with_name("faulty.patch")
SETTING = "net.ipv4.tcp_challenge_ack_limit"
FAULTS = {
    "1": ("kernel crashed", "tcp_test_fault", "tcp_input.c"),
    "2": ("spins", "tcp_test_fault", "tcp_input.c"),
    "3": ("spins", "tcp_sendmsg_locked", "tcp.c"),
    "4": ("MiB", "tcp_test_fault", "tcp_input.c"),
}
"""By the setting: what is said, the function, its file. 2 spins while it handles a packet, 3 in a
system call.
"""


@pytest.fixture(scope="module")
def faulty_lab(request: pytest.FixtureRequest) -> Lab:
    if not request.config.getoption("--faults"):
        pytest.skip("It takes minutes: --faults")
    return lab(kernel=chosen(f"7.2+{PATCH}"))


def carry(faulty: Lab, spec: ExperimentSpec, value: str, out: Path) -> None:
    condition = Condition("fault", "fault", ((SETTING, value),))
    spec = replace(spec, kernel=str(faulty.choice), conditions=(condition,), headline=None)
    flows = tuple(replace(flow, duration=Duration.parse("30s")) for flow in spec.flows)
    run_seed(
        replace(spec, flows=flows), 3, out, Limits(60.0), faulty, lambda _phase, _elapsed: None
    )


@pytest.mark.parametrize("value", FAULTS)
def test_a_fault_is_shown_with_its_line(value, faulty_lab, short_sack, tmp_path) -> None:
    said, function, file = FAULTS[value]
    where = rf"{said}(.|\n)*{function} at net/ipv4/{re.escape(file)}:\d+"
    with pytest.raises(TcplabError, match=where):
        carry(faulty_lab, short_sack, value, tmp_path)


def test_a_guest_that_is_told_later_is_shown_with_the_line(faulty_lab: Lab, tmp_path: Path) -> None:
    spec = playground.experiment(playground.PlaygroundParameters())
    with pytest.raises(TcplabError, match=r"tcp_test_fault at net/ipv4/tcp_input.c:\d+"):
        carry(faulty_lab, spec, "1", tmp_path)


def test_without_a_fault_it_measures(faulty_lab: Lab, short_sack: ExperimentSpec, tmp_path) -> None:
    carry(faulty_lab, short_sack, "0", tmp_path)
