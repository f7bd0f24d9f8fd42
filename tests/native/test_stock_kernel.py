"""The native testbed for real, on Debian's own kernel, on a computer that QEMU emulates slowly.

What is asserted is what the network does (round trips, rates, proofs), never how long anything
takes.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from experiments.run.seed import judge
from experiments.sack import SackParameters, experiment
from experiments.spec import Condition, Proof
from testbed.host.packages import install_command
from testbed.lab.ready import lab
from testbed.native.realtime import REALTIME
from tests.native.stock_kernel import QEMU, run, stock_kernel
from tests.virtual.conftest import native_code, read
from topologies.data import to_data
from topologies.units import Duration, Share

pytestmark = pytest.mark.native
RESTRICTED = "vegas"
ON_DEMAND = {"nfnetlink", "nfnetlink_cttimeout", "sch_fifo"}


@pytest.mark.long
@pytest.mark.skipif(
    not shutil.which(QEMU), reason=f"no QEMU here: {install_command(['qemu-system-x86'])}"
)
def test_a_run_is_right_and_leaves_the_machine_as_it_was(tmp_path: Path) -> None:
    study = experiment(SackParameters(duration=Duration.parse("5s"), loss=Share.parse("0%")))
    setting = ("net.ipv4.tcp_congestion_control", RESTRICTED)
    restricted = Condition(
        RESTRICTED, RESTRICTED, (setting,), (Proof("congestion_control", RESTRICTED),)
    )
    spec = dataclasses.replace(study, conditions=(restricted,), headline=None)
    data = {
        "job": "together",
        "spec": to_data(spec),
        "code": native_code(),
        "algorithms": [RESTRICTED],
        "runs": ["only"],
    }
    run(stock_kernel(), lab(), "tests.virtual.native_jobs", data, tmp_path, 900)
    report = read(tmp_path / "found.json")
    assert report["statuses"] == [0]
    modules = {line.removeprefix("+ ") for line in report["difference"].pop("modules", [])}
    assert modules <= ON_DEMAND, "what the kernel loads on demand stays, and nothing else"
    assert report["difference"] == {}
    assert read(tmp_path / "only/environment.json")["clock"] == "real"
    assert judge(spec, 1, tmp_path / "only").failures == ()
    assert read(tmp_path / "only" / REALTIME)["naps"] > 100
    _check_the_link(tmp_path / "only" / RESTRICTED)


def _check_the_link(folder: Path) -> None:
    """1 Mbit/s and 40 ms each way: 80 ms there and back, and at most 1448 of 1514 bytes are data.

    How much later and less arrives depends on what else needs the processors that emulate this
    computer. A little more can arrive because of its clock: packets leave netem when they should
    have left, so seconds that begin late hold more of them.
    """
    lines = (folder / "h1.sockets.jsonl").read_text().splitlines()
    rows = [row for line in lines for row in json.loads(line)["sockets"] if row["state"] == "ESTAB"]
    assert min(row["min_rtt_us"] for row in rows if row["min_rtt_us"]) >= 80_000
    words = (folder / "flow1.server.txt").read_text().split()
    rate, unit = float(words[-2]), words[-1]
    goodput = rate * {"Kbits/sec": 1e3, "Mbits/sec": 1e6}[unit]
    assert 0 < goodput < 1e6
