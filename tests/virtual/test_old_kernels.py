"""Each old kernel that is built here runs a whole study, again and again the same."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lab.kernel import kernel_version
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab_if_ready
from tests.virtual.conftest import digests

pytestmark = pytest.mark.virtual
OLD = ("4.4", "3.13", "2.6.32")


@pytest.fixture(params=OLD)
def ready_lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    series = request.param
    if ready := lab_if_ready(chosen(series)):
        yield ready
        return
    tarball = f"linux-{kernel_version(series).version}.tar.xz"
    pytest.skip(f"Linux {series} is not built: ./tcplab kernel build {series} --source {tarball}")


def test_an_old_kernel_repeats_a_study(in_guest, ready_lab, short_sack) -> None:
    first, again = (in_guest(short_sack, seed=7)[0] for _ in range(2))
    assert digests(first) == digests(again)
    environment = json.loads((first / "environment.json").read_text())
    assert environment["kernel"].removeprefix("Linux ").startswith(f"{ready_lab.choice.name}.")
    assert environment["clock"] == "virtual"
    assert environment["switches"] == ("Open vSwitch" if ready_lab.open_vswitch else "bridge")
    assert "net.ipv4.tcp_sack" in environment["shared_sysctls"]
    assert all(sack_was_as_asked(first / name) for name in ("sack_off", "sack_on"))


def sack_was_as_asked(folder: Path) -> bool:
    """Whether the sender's socket has SACK if its condition wants it, once it is connected."""
    samples = map(json.loads, (folder / "h1.sockets.jsonl").read_text().splitlines())
    sockets = [socket for sample in samples for socket in sample["sockets"]]
    found = {socket["sack"] for socket in sockets if socket["state"] == "ESTAB"}
    return found == {folder.name == "sack_on"}
