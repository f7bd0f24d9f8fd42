"""The drift of two captures' clocks is told from the delays of both directions, and taken out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from analysis.flows.ends import MatchedConnection
from tests.analysis.captures import START, MadeCapture, match_captures
from tests.analysis.test_analyze import analyze

MS = 10**6
PPM = 1e-6
SECONDS = 20


def both_ends(
    folder: Path,
    skew: float = 0,
    offset: float = 0,
    grows: float = 0,
    seconds: int = SECONDS,
) -> list[Path]:
    """A segment each 50 ms, which takes 20 ms and up to 5 more, and its ACK, which takes as much.

    The far clock gains `skew` and is `offset` seconds ahead; a queue of data grows by `grows`
    seconds in a second.
    """
    chance = Random(1)
    near, far = MadeCapture(), MadeCapture()
    at_near, at_far = near.flow(), far.flow()
    for flow, times in ((at_near, (0, 0.04, 0.04)), (at_far, (0.02, 0.02, 0.06))):
        flow.a.syn(times[0], stamp=1, echo=0)
        flow.b.syn(times[1], stamp=1, echo=1)
        flow.a.ack(times[2], stamp=1, echo=1)
    for step in range(1, seconds * 20):
        sent = step * 0.05
        came = sent + 0.02 + grows * sent + chance.random() * 0.005
        back = came + 0.02 + chance.random() * 0.005
        stamps = {"stamp": step + 1, "echo": step}
        at_near.a.send(sent, **stamps)
        at_far.a.send(came, **stamps)
        at_near.b.ack(back, **stamps)
        at_far.b.ack(came, **stamps)
    far.records[:] = [
        replace(record, time=START + round((record.time - START) * (1 + skew) + offset * 1e9))
        for record in far.records
    ]
    return [near.write(folder, name="near.pcap"), far.write(folder, name="far.pcap")]


def matched(files: list[Path], aligned: bool = False) -> MatchedConnection:
    (connection,) = match_captures(*files, aligned=aligned)
    assert connection.forward.packets["lost"].values.sum() == 0
    return connection


@pytest.mark.parametrize("offset", [0, 3600, -5])
@pytest.mark.parametrize("skew", [2000, -2000, 50, 20])
def test_a_drift_is_told_and_taken_out(tmp_path: Path, skew: int, offset: float) -> None:
    files = both_ends(tmp_path, skew * PPM, offset)
    drift = matched(files).drift
    assert drift is not None
    assert drift.skew / PPM == pytest.approx(skew, abs=max(0.01 * abs(skew), 4))
    assert drift.greatest == pytest.approx(SECONDS * abs(skew) * 1000, rel=0.2)
    aligned = matched(files, aligned=True)
    for way in (aligned.forward, aligned.back):
        delays = way.packets["delay"].known
        assert delays.min() == pytest.approx(20 * MS, abs=0.3 * MS)
        assert delays.max() == pytest.approx(25 * MS, abs=0.3 * MS)


def test_clocks_that_agree_show_no_drift(tmp_path: Path) -> None:
    assert matched(both_ends(tmp_path, offset=3600)).drift is None


def test_a_queue_that_grows_is_no_drift(tmp_path: Path) -> None:
    assert matched(both_ends(tmp_path, grows=0.002)).drift is None


def test_few_packets_show_no_drift(tmp_path: Path) -> None:
    assert matched(both_ends(tmp_path, 2000 * PPM, seconds=0)).drift is None


def test_analyze_warns_of_a_drift_and_takes_it_out(tmp_path: Path) -> None:
    files = both_ends(tmp_path, 2000 * PPM)
    output = " ".join(analyze("--match", *files).output.split())
    assert "Note: the clocks drift: the second capture's gains 2,00" in output
    aligned = " ".join(analyze("--match", *files, "--align-clocks").output.split())
    assert "which was taken out too" in aligned and "Delay least 20" in aligned


@pytest.mark.parametrize("offset", [0.015, -0.015])
def test_analyze_warns_of_clocks_whose_difference_makes_no_delay_negative(
    tmp_path: Path, offset: float
) -> None:
    apart = " ".join(analyze("--match", *both_ends(tmp_path, offset=offset)).output.split())
    assert "two directions differ by 30" in apart and "the clocks are 15" in apart
    alike = " ".join(analyze("--match", *both_ends(tmp_path)).output.split())
    assert "Delays are by the two captures' own clocks" in alike
