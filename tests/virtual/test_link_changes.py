"""A link that changes while it is measured: the packets say so, and so does the evidence."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.measures.captures import drop_causes
from analysis.network.verdict import Usability, judge_network
from analysis.records.run_directory import run_of
from experiments.play.columns import packets
from experiments.play.settings import PlaySettings
from experiments.run.seed import judge, limits_for, run_seed
from experiments.spec import ExperimentSpec, Flow, LinkChange, congestion_control
from experiments.study.catalogue import find
from experiments.study.grid import single
from topologies.data import to_data
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate, Share

pytestmark = pytest.mark.virtual


def test_rate_and_loss_change_and_the_queue_stays(ready_lab, tmp_path: Path) -> None:
    settings = PlaySettings.from_data({"change": "3s bw=2mbit loss=2%", "duration": "6s"})
    spec = settings.spec()
    data = to_data(spec)
    run_seed(spec, 1, tmp_path, limits_for(spec, 300.0), ready_lab, lambda *_: None)
    folder = tmp_path / "as_set"
    begun = float((tmp_path / "job.log").read_text().partition("begun ")[2].split()[0])
    rates = next(f for f in packets(folder, begun) if f.kind == "rates").columns
    before = rates["goodput"][(rates["time"] > 1.5) & (rates["time"] <= 2.9)].mean()
    after = rates["goodput"][(rates["time"] > 4.0) & (rates["time"] <= 5.9)].max()
    assert 9.0 < before < 9.7
    assert after < 2.2
    assert not judge(spec, 1, tmp_path).failures
    claims = [
        proof["claim"] for proof in json.loads((folder / "evidence.json").read_text())["proofs"]
    ]
    for port in ("s1-eth1", "s1-eth2"):
        assert f"{port} loses 0% of the packets that enter it" in claims
        assert f"{port} loses 2% of the packets that enter it" in claims
    limits = [
        row["options"]["limit"]
        for rows in json.loads((folder / "qdiscs.json").read_text())["after"].values()
        for row in rows
        if row["kind"] == "pfifo"
    ]
    assert limits == [33, 33]
    verdict = judge_network(run_of(tmp_path, data))
    assert verdict.verdict == Usability.CARE
    (reason,) = verdict.reasons
    assert "The link changes" in reason


def test_every_condition_meets_the_same_changes(ready_lab, tmp_path: Path) -> None:
    channel = Channel(Rate.parse("10mbit"), Duration.parse("10ms"), queue=Packets(50))
    slow = replace(channel, bandwidth=Rate.parse("1mbit"), loss=Share.parse("2%"))
    spec = ExperimentSpec(
        "changing",
        "Both conditions meet a slow link.",
        two_hosts(channel),
        (Flow("flow", "h1", "h2", Duration.parse("6s")),),
        (congestion_control("reno"), congestion_control("cubic")),
        captures=("h1-eth0", "h2-eth0"),
        changes=(LinkChange(Duration.parse("3s"), "s1-eth2", slow),),
    )
    run_seed(spec, 1, tmp_path, limits_for(spec, 300.0), ready_lab, lambda *_: None)
    assert not judge(spec, 1, tmp_path).failures
    for condition in ("reno", "cubic"):
        (change,) = json.loads((tmp_path / condition / "changes.json").read_text())
        rates = [row["options"]["rate"] for row in change["before"] if row["kind"] == "tbf"]
        assert rates == [channel.bandwidth.base / 8]


def test_a_policed_study_is_good_and_knows_what_its_policer_dropped(ready_lab, tmp_path) -> None:
    settings = ["link.policer=500kbit", "link.policer_burst=32KiB", "loss=0%", "duration=5s"]
    spec = single(find("sack"), settings).spec
    run_seed(spec, 1, tmp_path, limits_for(spec, 300.0), ready_lab, lambda *_: None)
    assert not judge(spec, 1, tmp_path).failures
    run = run_of(tmp_path, to_data(spec))
    assert judge_network(run).verdict == Usability.GOOD
    causes = [drop_causes(run, trial) for trial in run.trials]
    assert all(each and each.policed > 10 and each.full_queue == 0 for each in causes)
