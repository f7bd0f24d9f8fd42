"""What is measured beside a native run, and which figures lead to a warning."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.run.seed import judge
from experiments.sack import SackParameters, experiment
from testbed.native.realtime import REALTIME, _counted, _summary, _waits, warnings, watched

GOOD: dict[str, Any] = {
    "seconds": 20.0,
    "naps": 4000,
    "timer_late_seconds": {"median": 6e-5, "one_in_a_hundred": 3e-4, "most": 0.02},
    "waited_seconds": 0.4,
    "pressure_seconds": 1.0,
    "stolen_seconds": 0.0,
}


def test_a_quiet_machine_needs_no_warning_nor_one_that_counts_little() -> None:
    assert warnings(GOOD) == []
    assert warnings(GOOD | {"pressure_seconds": None, "stolen_seconds": None}) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"timer_late_seconds": {"one_in_a_hundred": 0.0042, "most": 0.0701}},
            "by 4.2 ms or more, the latest by 70",
        ),
        ({"waited_seconds": 3.26}, "waited 3.3 s for a processor in 20 s"),
        ({"pressure_seconds": 9.0}, "In 45 % of the time something"),
        ({"stolen_seconds": 1.0}, "In 5 % of the time another virtual machine"),
    ],
)
def test_each_trouble_is_a_sentence_with_its_figures(change: dict[str, Any], message: str) -> None:
    (sentence,) = warnings(GOOD | change)
    assert message in sentence


def test_a_native_seed_is_judged_with_its_warnings(tmp_path: Path) -> None:
    spec = experiment(SackParameters())
    for condition in spec.conditions:
        (tmp_path / condition.name).mkdir()
        (tmp_path / condition.name / "evidence.json").write_text('{"warnings": [], "proofs": []}')
    assert judge(spec, 3, tmp_path).warnings == ()
    (tmp_path / REALTIME).write_text(json.dumps(GOOD | {"stolen_seconds": 2.0}))
    assert judge(spec, 3, tmp_path).warnings == (
        "Seed 3: In 10 % of the time another virtual machine had a processor of this one.",
    )


def test_lateness_is_summed_up() -> None:
    assert _summary([0.0] * 50 + [0.001] * 49 + [0.5]) == {
        "median": 0.001,
        "one_in_a_hundred": 0.5,
        "most": 0.5,
    }
    assert _summary([]) == {"median": 0.0, "one_in_a_hundred": 0.0, "most": 0.0}


def test_pressure_steal_and_waits_are_read_from_proc(tmp_path: Path) -> None:
    def put(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert _counted(tmp_path) == (None, None)
    put(
        "pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=9\n",
    )
    put(
        "stat",
        "cpu  9 0 9 9 0 0 0 600 0 0\ncpu0 1 1 1 1 1 1 1 300 0 0\ncpu1 1 1 1 1 1 1 1 300 0"
        " 0\nintr 5\n",
    )
    assert _counted(tmp_path) == (2.5, 3.0)
    put("7/task/7/schedstat", "100 2000000000 3\n")
    put("7/task/7/children", "8 ")
    put("7/task/9/schedstat", "100 500000000 3\n")
    put("8/task/8/schedstat", "100 1000000000 3\n")
    put("6/task/6/schedstat", "100 9000000000 3\n")
    assert dict(_waits(7, tmp_path)) == {"7": 2.0, "8": 1.0, "9": 0.5}


def test_a_real_tree_of_processes_is_watched(tmp_path: Path) -> None:
    """Three that compute on one processor wait most of the time, whatever else the machine does."""
    spin = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    shell = ["sh", "-c", f'for each in 1 2 3; do "{sys.executable}" -c "{spin}" & done; wait']
    with subprocess.Popen(shell, start_new_session=True) as busy:
        with watched(busy.pid, tmp_path):
            time.sleep(1.5)
        os.killpg(busy.pid, signal.SIGTERM)
    facts = json.loads((tmp_path / REALTIME).read_text())
    assert facts["naps"] > 20
    assert facts["waited_seconds"] > 0.3 * facts["seconds"]
    assert any("for a processor" in sentence for sentence in warnings(facts))
