"""Connections that begin late: their text, their flows, and the spec's field."""

import pytest

from experiments.cubic_vs_reno import CubicVsRenoParameters, experiment
from experiments.spec import ExperimentSpec, Flow
from experiments.study.grid import with_field
from experiments.study.parameters import NONE, late_starts
from experiments.study.published import targets
from topologies.errors import UsageError
from topologies.units import Count, Duration

MINUTE = Duration.parse("60s")


def seconds(text: str, streams: int) -> list[float]:
    return [start.seconds for start in late_starts(text, streams, MINUTE)]


def test_the_first_are_late_and_the_others_are_not() -> None:
    assert seconds(NONE, 3) == [0, 0, 0]
    assert seconds("2x3s", 3) == [3, 3, 0]
    assert seconds("1x9s+2x6s", 4) == [9, 6, 6, 0]


@pytest.mark.parametrize("text", ["", "3s", "x3s", "2x", "4x3s", "1x59.5s", "1x-3s"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        seconds(text, 3)


def spec() -> ExperimentSpec:
    return experiment(CubicVsRenoParameters(streams=Count(3), late="2x3s"))


def test_late_flows_end_with_the_others() -> None:
    assert [(flow.start.seconds, flow.duration.seconds) for flow in spec().flows] == [
        (3, 57),
        (3, 57),
        (0, 60),
    ]
    assert {flow.end for flow in spec().flows} == {MINUTE}


def test_the_start_of_flows_can_be_set_and_has_limits() -> None:
    changed = with_field(spec(), "flows.*.start", "1s")
    assert {flow.start for flow in changed.flows} == {Duration.parse("1s")}
    with pytest.raises(UsageError, match="must fit into"):
        Flow("flow1", "h1", "h2", MINUTE, start=Duration.parse("24h"))


def test_published_rows_with_several_connections_have_their_late_starts() -> None:
    late = {
        (target.experiment, target.where): dict(target.then)["late"]
        for target in targets(quick=False)
        if "late" in dict(target.then)
    }
    assert len(late) == 11
    reno = "section 3.5: 5 % loss, reno, 30 streams, 60 s"
    assert late["custom_cc", reno] == "9x9s+13x6s"
