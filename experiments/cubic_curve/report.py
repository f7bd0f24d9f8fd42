"""CUBIC curve: the window of each sample next to W_cubic."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.measures.results import RunResults
from analysis.records.output import SocketSample
from analysis.reporting.formulas import (
    cubic_window,
    plateau_time,
    remembered_window,
    reno_friendly_growth,
)
from analysis.reporting.laws import (
    LawComparison,
    LawGraph,
    LawLine,
    LawPoint,
    law_report,
    samples_of,
)
from experiments.study.reports import law


@dataclass(frozen=True)
class Epoch:
    """The samples of one epoch, and W_max, at which CUBIC aims in it."""

    samples: tuple[SocketSample, ...]
    largest: float

    @property
    def elapsed(self) -> list[float]:
        return [sample.time - self.samples[0].time for sample in self.samples]

    @property
    def curve(self) -> list[float]:
        start = self.samples[0].cwnd
        return [cubic_window(elapsed, self.largest, start) for elapsed in self.elapsed]

    @property
    def reno_friendly(self) -> list[float]:
        """W_est at each sample: it grows by alpha_cubic in each round trip as long as it is."""
        windows = [self.samples[0].cwnd]
        for before, after in pairwise(self.samples):
            trips = (after.time - before.time) / before.rtt
            windows.append(windows[-1] + reno_friendly_growth() * trips)
        return windows


def epochs_of(samples: Sequence[SocketSample]) -> list[Epoch]:
    """Return the epochs after slow start's loss. W_max follows from the losses before each."""
    epochs: list[Epoch] = []
    largest = 0.0
    for samples_between in _between_losses(samples):
        if largest:
            epochs.append(Epoch(tuple(samples_between), largest))
        largest = remembered_window(samples_between[-1].cwnd, largest)
    return epochs[1:]


def _between_losses(samples: Sequence[SocketSample]) -> list[list[SocketSample]]:
    """Return runs of more than two samples in congestion avoidance without repairs."""
    runs: list[list[SocketSample]] = [[]]
    for sample in samples:
        if sample.repairing or sample.ssthresh is None or sample.cwnd < sample.ssthresh:
            runs.append([])
        else:
            runs[-1].append(sample)
    return [run for run in runs if len(run) > 2]


LAW = law(__file__)


def compare(results: RunResults) -> LawComparison:
    """Compare every sample of every epoch after that of slow start, of each repetition."""
    courses = [epochs_of(samples_of(measured)) for measured in results.measured]
    points = tuple(
        LawPoint(_name(number, epoch), elapsed, sample.cwnd, window)
        for epochs in courses
        for number, epoch in enumerate(epochs, 1)
        for elapsed, sample, window in zip(epoch.elapsed, epoch.samples, epoch.curve, strict=True)
    )
    return LawComparison(
        LAW,
        points,
        ("Epoch", "Congestion window (segments)"),
        _graph(courses[0]) if points else None,
        "Each dot is the congestion window of the socket, read every 0.1 s. Each line begins at the"
        " first dot after a recovery, and has W_max from the loss before; it is not fitted. Steep,"
        " flat near W_max, and steep again beyond it if there is room.",
        _assumptions([epoch for epochs in courses for epoch in epochs]),
    )


def _name(number: int, epoch: Epoch) -> str:
    start = epoch.samples[0].cwnd
    return (
        f"{number}: from {start:.0f} to W_max {epoch.largest:.0f}, K"
        f" {plateau_time(epoch.largest, start):.1f} s"
    )


def _graph(epochs: Sequence[Epoch]) -> LawGraph:
    begin = epochs[0].samples[0].time
    samples = [sample for epoch in epochs for sample in epoch.samples]
    lines = tuple(
        LawLine(
            "" if number else "the law, W_cubic",
            [sample.time - begin for sample in epoch.samples],
            epoch.curve,
        )
        for number, epoch in enumerate(epochs)
    )
    return LawGraph(
        ("seconds since the first epoch after slow start's", "congestion window (segments)"),
        lines,
        ([sample.time - begin for sample in samples], [sample.cwnd for sample in samples]),
    )


def _assumptions(epochs: Sequence[Epoch]) -> tuple[str, ...]:
    pairs = [
        pair for epoch in epochs for pair in zip(epoch.reno_friendly, epoch.curve, strict=True)
    ]
    faster = sum(friendly > window for friendly, window in pairs)
    return (
        f"CUBIC takes the larger of this curve and of the window that Reno would have on average"
        f" (W_est, section 4.3). By the round trips of this run W_est is larger in {faster} of"
        f" {len(pairs)} samples; in those the curve is not what is claimed.",
        "How slow start ended (HyStart) does not matter: the first epoch is left out.",
        "Linux computes with C = 0.4004 and a reduction to 0.7002, and aims at the window of one"
        " least round trip later, as section 4.2 has it (net/ipv4/tcp_cubic.c).",
    )


REPORT = law_report(LAW, compare)
