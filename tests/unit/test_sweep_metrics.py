"""A sweep's metric: a probe keeps TCP's values, and expressions are columns of its table."""

from typing import Any

import pytest

from analysis.measures.sweep_folder import read_sweep
from analysis.pages.sweep import make_sweep_report
from analysis.records.json_reader import Problems
from analysis.statistics.sweep_samples import read_samples
from experiments.sweep.point import Record
from tests.unit.made_sweeps import Engine, carry, record, sack_plan
from topologies.errors import UsageError


def probed(_data: Any, seed: int) -> Record:
    """Two TCP flows, one each way, and a UDP probe, which knows no round trip."""
    groups = {"flow1": "tcp to h2", "back": "tcp to h1", "probe": "udp to h2"}
    made = record(0.0)
    made["rows"] = [
        {
            "condition": row["condition"],
            "flow": flow,
            "group": group,
            "goodput_kbit_s": {"flow1": 1000.0, "back": 400.0, "probe": 64.0}[flow] + seed,
            "rtt_p95_ms": None if flow == "probe" else 80.0 + seed,
            "udp_lost_percent": 3.0 if flow == "probe" else None,
            "goodput[flow1]": 1000.0 + seed,
        }
        for row in made["rows"]
        for flow, group in groups.items()
    ]
    return made


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("goodput_kbit_s", 1003.5),
        ("rtt_p95_ms", 83.5),
        ("udp_lost_percent", 3.0),
        ("goodput[flow1]", 1003.5),
    ],
)
def test_a_probe_and_the_way_back_leave_a_runs_value_alone(tmp_path, metric, expected) -> None:
    """A missing value belongs to a flow: 12 of 12 runs have one, and had none before."""
    asked = metric.replace("udp_lost_percent", "goodput_kbit_s")  # sack has no UDP flow
    planned = sack_plan(metric=asked, seeds=tuple(range(1, 7)))
    folder = carry(planned, tmp_path, Engine(probed))
    problems = Problems()
    sweep = read_sweep(folder, problems, metric)
    samples = read_samples(sweep, problems)
    assert problems.found == [] and samples.counts.tolist() == [6, 6]
    assert samples.median.tolist() == pytest.approx([expected, expected])


def test_a_report_compares_another_column_and_names_the_command_for_an_expression(tmp_path) -> None:
    folder = carry(sack_plan(seeds=(1, 2)), tmp_path, Engine(probed))
    assert make_sweep_report(folder, tmp_path / "out", metric="rtt_p95_ms").samples.unit == "ms"
    with pytest.raises(UsageError, match=r"--metric 'p95 rtt'"):
        make_sweep_report(folder, tmp_path / "out", metric="p95 rtt")
