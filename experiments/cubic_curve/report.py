"""CUBIC curve: the window of each sample next to W_cubic."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.measures.results import RunResults
from analysis.records.output import SocketSample
from analysis.reporting import laws
from analysis.reporting.formulas import (
    cubic_window,
    plateau_time,
    remembered_window,
    reno_friendly_growth,
)
from experiments.study.reports import law, law_texts


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
    runs: list[list[SocketSample]] = [[]]
    for sample in samples:
        if sample.repairing or sample.ssthresh is None or sample.cwnd < sample.ssthresh:
            runs.append([])
        else:
            runs[-1].append(sample)
    return [run for run in runs if len(run) > 2]


LAW = law(__file__)


def compare(results: RunResults) -> laws.LawComparison:
    """Compare every sample of every epoch after that of slow start, of each repetition."""
    courses = [epochs_of(laws.samples_of(measured)) for measured in results.measured]
    points = tuple(
        laws.LawPoint(_name(number, epoch), elapsed, sample.cwnd, window)
        for epochs in courses
        for number, epoch in enumerate(epochs, 1)
        for elapsed, sample, window in zip(epoch.elapsed, epoch.samples, epoch.curve, strict=True)
    )
    faster = [
        friendly > window
        for epochs in courses
        for epoch in epochs
        for friendly, window in zip(epoch.reno_friendly, epoch.curve, strict=True)
    ]
    return laws.LawComparison(
        LAW,
        points,
        ("Epoch", "Congestion window (segments)"),
        _graph(courses[0]) if points else None,
        *law_texts(__file__, faster=sum(faster), samples=len(faster)),
    )


def _name(number: int, epoch: Epoch) -> str:
    start = epoch.samples[0].cwnd
    return (
        f"{number}: from {start:.0f} to W_max {epoch.largest:.0f}, K"
        f" {plateau_time(epoch.largest, start):.1f} s"
    )


def _graph(epochs: Sequence[Epoch]) -> laws.LawGraph:
    begin = epochs[0].samples[0].time
    samples = [sample for epoch in epochs for sample in epoch.samples]
    lines = tuple(
        laws.LawLine(
            "" if number else "the law, W_cubic",
            [sample.time - begin for sample in epoch.samples],
            epoch.curve,
        )
        for number, epoch in enumerate(epochs)
    )
    return laws.LawGraph(
        ("seconds since the first epoch after slow start's", "congestion window (segments)"),
        lines,
        ([sample.time - begin for sample in samples], [sample.cwnd for sample in samples]),
    )


REPORT = laws.law_report(LAW, compare)
