"""A link that changes while it is measured: the packets say so, and so does the evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.network.verdict import Usability, judge_network
from analysis.records.run_directory import run_of
from experiments.harness.play.columns import packets
from experiments.harness.play.settings import PlaySettings
from experiments.harness.running.seed import carry_seed, judge, limits_for
from topologies.foundation.data import to_data

pytestmark = pytest.mark.virtual


def test_rate_and_loss_change_and_the_queue_stays(ready_lab, tmp_path: Path) -> None:
    settings = PlaySettings.from_data({"change": "3s bw=2mbit loss=2%", "duration": "6s"})
    spec = settings.spec()
    data = to_data(spec)
    carry_seed(spec, 1, tmp_path, limits_for(spec, 300.0), ready_lab, lambda *_: None)
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
    assert "The link changes" in verdict.reasons[-1]
