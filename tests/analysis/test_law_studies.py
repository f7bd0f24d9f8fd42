"""What the studies against theory make of a run, from made-up packets and samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from analysis.measures.results import RunResults, measure_all
from analysis.records.json_reader import Problems
from analysis.records.output import SocketSample
from analysis.records.run_directory import read_run
from analysis.reporting.formulas import cubic_window, plateau_time
from analysis.reporting.laws import (
    Law,
    LawComparison,
    LawGraph,
    LawLine,
    LawPoint,
    law_report,
    loss_times,
    path_of,
)
from analysis.table import ColumnTable
from experiments.cubic_curve.report import epochs_of
from experiments.loss_formula import LossFormulaParameters
from experiments.reporting.studies import report_of
from experiments.slow_start.report import segments_by_round
from tests.analysis.made_runs import flow, made_run
from topologies.errors import UsageError

LAW = Law("Does it?", "the rate", "a formula", "a paper", 0.1, "A reason.")
STUDIES = (
    *("slow_start", "reno_sawtooth", "cubic_curve", "loss_formula", "fair_shares", "window_limit"),
)
PACKET = ("forward", "sequence", "acknowledgement", "payload")


def packets(*rows: tuple[bool, int, int, int]) -> ColumnTable:
    return ColumnTable.of_rows([dict(zip(PACKET, row, strict=True)) for row in rows])


def data(*numbers: int) -> Iterator[tuple[bool, int, int, int]]:
    return ((True, 1 + 100 * number, 1, 100) for number in numbers)


def ack(number: int) -> tuple[bool, int, int, int]:
    """All before the segment of that number has arrived."""
    return (False, 1, 1 + 100 * number, 0)


def test_a_round_trip_ends_with_the_first_ack_of_what_was_sent_in_it() -> None:
    """Two segments, then four by the ACKs of the two, then one by the first ACK of the four."""
    made = packets(
        (True, 0, 0, 0), ack(0), *data(0, 1), ack(1), *data(2, 3), ack(2), *data(4, 5), ack(4),
        *data(6),
    )  # fmt: skip
    assert segments_by_round(made, by_a=True) == [2, 4, 1]
    assert segments_by_round(made, by_a=False) == []
    turned = made.having(forward=~made["forward"].values)
    assert segments_by_round(turned, by_a=False) == [2, 4, 1]


def sample(time: float, cwnd: float, resent: float = 0, repairing: float = 0) -> SocketSample:
    return SocketSample(time, cwnd, 10, 0.2, 0, 0, 0, resent, 3, 0.2, timeout=0.4, lost=repairing)


def test_retransmissions_close_to_each_other_are_one_loss() -> None:
    resent = [0, 1, 3, 3, 3, 3, 4, 4]
    samples = [sample(float(at), 20, count) for at, count in enumerate(resent)]
    assert loss_times(samples, apart=2) == [1, 6]
    assert loss_times(samples, apart=0.5) == [1, 2, 6]
    assert loss_times([], apart=1) == []


def epoch(start: float, largest: float, begin: float, seconds: float) -> list[SocketSample]:
    """Samples that follow W_cubic, ten a second, and then one of a repair."""
    times = [begin / 10 for begin in range(round(10 * seconds))]
    course = [sample(begin + time, cubic_window(time, largest, start)) for time in times]
    return [*course, sample(begin + seconds, start, repairing=1)]


def test_the_largest_window_of_an_epoch_is_that_of_the_loss_before() -> None:
    """A loss at 200, then one below it, after which fast convergence aims lower."""
    long = 2 * plateau_time(200, 140)
    samples = [
        *epoch(100, 200, 0, plateau_time(200, 100) + 0.05),
        *epoch(140, 200, 100, 3.0),
        *epoch(130, 200, 200, long),
        *epoch(140, 200, 300, 1.0),
    ]
    ends = [[each.cwnd for each in samples if each.time < limit][-2] for limit in (100, 200)]
    first, second = epochs_of(samples)
    assert ends[0] == pytest.approx(200, rel=0.01) and ends[1] < ends[0]
    assert first.largest == pytest.approx(0.85 * ends[1])
    assert first.samples[0].cwnd == pytest.approx(130) and first.elapsed[0] == 0
    assert second.largest == [each.cwnd for each in samples if each.time < 300][-2]
    friendly = second.reno_friendly
    assert friendly[0] == pytest.approx(140)
    assert friendly[1] - friendly[0] == pytest.approx(9 / 17 * 0.1 / 0.2)


def test_no_samples_are_no_epochs() -> None:
    assert epochs_of([]) == []
    assert epochs_of([sample(0, 20), sample(1, 21)]) == []


def test_a_path_is_what_the_parameters_say(tmp_path: Path) -> None:
    """10 Mbit/s, 40 ms: a full segment takes 1.2112 ms, its ACK 0.0528 ms."""
    parameters = {"bw": "10mbit", "delay": "40ms", "queue": "67"}
    folder = made_run(tmp_path, "reno_sawtooth", parameters, [flow("flow1", "h1", 5001)], {"a": []})
    problems = Problems()
    path = path_of(measure_all(read_run(folder, problems), problems))
    assert path.serialization == pytest.approx(0.0012112)
    assert path.round_trip == pytest.approx(0.081264)
    assert (round(path.product, 1), path.full_window) == (67.1, 134)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("parameters", [{}, {"bw": "10mbit", "delay": "1ms", "queue": "9"}])
def test_a_run_without_samples_shows_nothing(
    tmp_path: Path, study: str, parameters: dict[str, str]
) -> None:
    """A folder that a stranger left may lack its parameters, its samples, or all."""
    folder = made_run(tmp_path, study, parameters, [flow("flow1", "h1", 5001)], {"reno": [{}]})
    problems = Problems()
    results, report = measure_all(read_run(folder, problems), problems), report_of(study)
    verdict = report.verdict(results)
    assert verdict is not None and verdict.word == "not shown"
    assert report.listings(results) == () and report.graphs(results) == []
    assert report.answers(results)


def test_rows_of_one_name_are_one_row_of_the_table() -> None:
    points = tuple(LawPoint("all", at, 100 + at, 100) for at in range(6))
    many = LawComparison(LAW, points, ("Flow", "Rate"), None, "")
    assert many.listing.rows == (
        ("all", "6 samples", "", "1.025 (1.000 to 1.050)", "6 of 6 within"),
    )
    few = LawComparison(LAW, (LawPoint("a", 1, 50, 100),), ("Flow", "Rate"), None, "")
    assert few.listing.rows == (("a", "50", "100", "0.500", "outside"),)
    assert law_report(LAW, lambda _: few).verdict is not None


@pytest.mark.parametrize("logarithmic", ["", "y", "xy"])
@pytest.mark.parametrize("count", [3, 100])
def test_a_graph_is_drawn_of_few_and_of_many_dots(logarithmic: str, count: int) -> None:
    across = [float(at) for at in range(1, count + 1)]
    lines = (LawLine("law", across, across), LawLine("other", across, across, other=True))
    graph = LawGraph(("x", "y"), lines, (across, across), logarithmic, tolerance=0.1)
    compared = LawComparison(LAW, (), ("", ""), graph, "what to look for")
    (group,) = law_report(LAW, lambda _: compared).graphs(cast(RunResults, None))
    assert group.caption == "what to look for"
    (drawn,) = group.graphs
    shapes = [layer.shape for layer in drawn.layers]
    assert shapes == ["band", "line", "line", "dots"] and len(drawn.layers[-1]) == count
    assert (drawn.x.log, drawn.y.log) == ("x" in logarithmic, "y" in logarithmic)


def test_losses_are_percentages() -> None:
    assert len(LossFormulaParameters().shares) == 6
    with pytest.raises(UsageError, match="percentage"):
        _ = LossFormulaParameters(losses="often").shares
