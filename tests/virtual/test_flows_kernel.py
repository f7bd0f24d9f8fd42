"""Two captures of a path show what its kernels counted: retransmitted, lost, reported twice."""

import json

import pytest

from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from experiments.sack import SackParameters, experiment
from tests.tools.kernel_counts import truths
from topologies.data import to_data
from topologies.units import Duration, Packets, Rate, Share

LOSSY = experiment(SackParameters(duration=Duration.parse("8s")))
FULL_QUEUE = experiment(
    SackParameters(
        bw=Rate.parse("10mbit"),
        delay=Duration.parse("10ms"),
        loss=Share.parse("0%"),
        queue=Packets.parse("12"),
        duration=Duration.parse("4s"),
    )
)


@pytest.mark.parametrize("spec", [LOSSY, FULL_QUEUE], ids=["lossy", "full_queue"])
def test_the_captures_show_what_the_kernels_counted(in_guest, tmp_path, spec) -> None:
    run = tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    out, _usage = in_guest(spec)
    out.rename(run / "raw" / "seed-7")
    (run / "spec.json").write_text(json.dumps(to_data(spec)))
    (run / "manifest.json").write_text("{}")
    compared = truths(read_run(run, Problems()), Problems())
    names = {truth.name for truth in compared}
    assert {
        "segments retransmitted",
        "packets lost towards h2",
        "packets lost towards h1",
        "DSACKs sent",
    } <= names
    assert [truth for truth in compared if not truth.agrees] == []
    assert sum(truth.counted for truth in compared if truth.name == "packets lost towards h2") > 5
