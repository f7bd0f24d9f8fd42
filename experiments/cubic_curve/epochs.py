"""The epochs of a CUBIC flow: from the end of a recovery until the next loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.records.socket_samples import SocketSample
from analysis.theory.cubic_law import cubic_window, remembered_window, reno_friendly_growth


@dataclass(frozen=True)
class Epoch:
    """The samples of one epoch, and the window W_max that CUBIC heads for in it."""

    samples: tuple[SocketSample, ...]
    largest: float

    @property
    def elapsed(self) -> list[float]:
        """Seconds since the epoch began, at each sample."""
        return [sample.time - self.samples[0].time for sample in self.samples]

    @property
    def curve(self) -> list[float]:
        """W_cubic at each sample."""
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
    """All epochs after slow start's own loss, whose W_max the run does not tell; the last is whole
    or not.

    W_max follows from the windows at the losses before it, with fast convergence.
    """
    epochs: list[Epoch] = []
    largest = 0.0
    for samples_between in _between_losses(samples):
        if largest:
            epochs.append(Epoch(tuple(samples_between), largest))
        largest = remembered_window(samples_between[-1].cwnd, largest)
    return epochs[1:]


def _between_losses(samples: Sequence[SocketSample]) -> list[list[SocketSample]]:
    """Runs of samples in congestion avoidance without anything to repair, of more than two."""
    runs: list[list[SocketSample]] = [[]]
    for sample in samples:
        if sample.repairing or sample.ssthresh is None or sample.cwnd < sample.ssthresh:
            runs.append([])
        else:
            runs[-1].append(sample)
    return [run for run in runs if len(run) > 2]
