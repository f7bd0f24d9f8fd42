"""Player: takes settings and streams the columns of a run of the real kernel."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.play import columns
from experiments.play.columns import BUCKET, LOST, PROBES, Frame, PlayEvent
from experiments.play.guests import WALL_SECONDS, GuestPool, MovedOn, WaitingGuest
from experiments.play.settings import PlaySettings
from experiments.run.seed import judge, limits_for
from experiments.run.session import run_from_python
from experiments.spec import Flow
from testbed.guest.job_entry import BEGUN, LOG, SAMPLE
from testbed.host.processes import available_mib
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab, lab
from topologies import untrusted
from topologies.data import to_data

Heard = Callable[[Frame | PlayEvent], None]
_FEWEST, _MOST = 2, 8
"""Guests ahead: a dragged slider uses about four a second, and most drags last two."""
_RESIDENT_MIB = 128  # memory that a waiting guest takes, measured
_SHARE = 4  # waiting guests take at most this part of the free memory
_LOOK = 0.005  # seconds between two looks at what the guest has printed
_CONDITION = "as_set"


@dataclass(frozen=True)
class PlayOutcome:
    """Result of a run: `verdict` is "good", or the reason why it is not usable.

    `flows` has goodput_mbit_s, retransmitted (segments), lost (segments), mean_rtt_ms and
    most_rtt_ms of each; `phases` the seconds of each phase.
    """

    verdict: str
    flows: tuple[dict[str, float], ...]
    phases: dict[str, float]


class Player:
    """Player of settings, with guests that wait. A context manager, which ends all guests."""

    def __init__(self, ready: Lab | None = None, waiting: int | None = None) -> None:
        self._processors = sorted(os.sched_getaffinity(0))
        fitting = max(_FEWEST, min(_MOST, available_mib() // _SHARE // _RESIDENT_MIB))
        self._pool = GuestPool(ready or lab(), self._processors, waiting or fitting)

    def __enter__(self) -> Player:
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)

    def play(self, settings: PlaySettings, hear: Heard, ended: threading.Event) -> PlayOutcome:
        """Run the settings; `hear` gets frames, then events. Raises MovedOn, TcplabError."""
        guest = self._pool.take(_limits(settings))
        try:
            return _PlayedRun(settings, guest, hear, ended).outcome()
        finally:
            guest.end()
            self._pool.fill_soon()

    def seeds(
        self, settings: PlaySettings, count: int, hear: Heard, ended: threading.Event
    ) -> None:
        """Run seeds 1 to `count`; `hear` gets a frame "band" (goodput, Mbit/s) after each.

        A tenth, half and nine tenths of the seeds are below low, middle and high.
        """

        def rates_of(seed: int) -> Frame:
            frames: list[Frame | PlayEvent] = []
            guest = self._pool.boot(_limits(settings))
            one = dataclasses.replace(settings, seed=seed)
            try:
                _PlayedRun(one, guest, frames.append, ended).outcome()
            finally:
                guest.end()
            return next(f for f in frames if isinstance(f, Frame) and f.kind == "rates")

        rates: list[Frame] = []
        with ThreadPoolExecutor(len(self._processors), "seeds") as turns:
            tasks = [turns.submit(rates_of, seed) for seed in range(1, count + 1)]
            try:
                for done in as_completed(tasks):
                    rates.append(done.result())
                    hear(_band(rates))
            finally:
                turns.shutdown(cancel_futures=True)

    def save(self, settings: PlaySettings) -> Path:
        """Make an ordinary run of the same packets with a report, and return its directory."""
        changed = settings.changed()
        return run_from_python(
            settings.spec().name, changed, seeds=[settings.seed], testbed="virtual"
        )


def _limits(settings: PlaySettings) -> Limits:
    return limits_for(settings.spec(), WALL_SECONDS)


class _PlayedRun:
    """One run: samples of the senders while the guest prints them, then its captures."""

    def __init__(
        self, settings: PlaySettings, guest: WaitingGuest, hear: Heard, ended: threading.Event
    ) -> None:
        self._settings, self._spec = settings, settings.spec()
        self._guest, self._hear, self._ended = guest, hear, ended
        self._offset, self._begun = 0, 0.0
        self._parts: list[Frame] = []

    def outcome(self) -> PlayOutcome:
        laps = [time.monotonic()]
        while not self._guest.ready.wait(_LOOK):
            self._go_on()
        laps.append(time.monotonic())
        self._guest.tell(to_data(self._spec.for_guest()), self._settings.seed)
        while not (self._guest.folder / _CONDITION).is_dir() and not self._guest.over.is_set():
            self._go_on()
            self._hear_samples()
            time.sleep(_LOOK)
        if self._guest.error:
            raise self._guest.error
        self._hear_samples()
        laps.append(time.monotonic())
        flows = self._hear_whole()
        failures = judge(self._spec, self._settings.seed, self._guest.folder).failures
        laps.append(time.monotonic())
        phases = zip(("guest", "traffic", "reading"), np.diff(laps).tolist(), strict=True)
        return PlayOutcome(" ".join(failures) or "good", flows, dict(phases))

    def _go_on(self) -> None:
        if self._ended.is_set():
            raise MovedOn

    def _hear_samples(self) -> None:
        with untrusted.opened(self._guest.folder, LOG) as file:
            file.seek(self._offset)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        fresh = []
        for line in complete.decode(errors="replace").splitlines():
            if line.startswith(BEGUN):
                self._begun = float(line.removeprefix(BEGUN))
            elif line.startswith(SAMPLE):
                fresh.append(line.removeprefix(SAMPLE))
        if fresh:
            self._parts.append(columns.samples(fresh, self._begun))
            self._hear(self._parts[-1])

    def _hear_whole(self) -> tuple[dict[str, float], ...]:
        """Deliver frames of the captures and all events, and return the figures of each flow."""
        folder = self._guest.folder / _CONDITION
        frames = {frame.kind: frame for frame in columns.packets(folder, self._begun)}
        probes = frames.pop(PROBES)
        for frame in frames.values():
            self._hear(frame)
        parts = self._parts
        sampled = columns.joined(parts) if parts else columns.samples((), self._begun)
        for event in columns.events(sampled, probes, folder):
            self._hear(event)
        used = (frames["rates"], frames["packets"], sampled)
        flows = enumerate(self._spec.flows)
        return tuple(_figures(flow, *(frame.of_flow(at) for frame in used)) for at, flow in flows)


def _figures(
    flow: Flow, rates: columns.Columns, sent: columns.Columns, sampled: columns.Columns
) -> dict[str, float]:
    came = rates["goodput"]
    until = rates["time"][came > 0].max(initial=flow.end.seconds)
    trips = sampled["rtt"][sampled["rtt"] > 0]
    return {
        "goodput_mbit_s": float(came.sum() * BUCKET / (until - flow.start.seconds)),
        "retransmitted": float(sent["again"].sum()),
        "lost": float((sent["kind"] == LOST).sum()),
        "mean_rtt_ms": float(trips.mean()) if len(trips) else float("nan"),
        "most_rtt_ms": float(trips.max()) if len(trips) else float("nan"),
    }


def _band(rates: list[Frame]) -> Frame:
    """Return the goodput below which a tenth, half and nine tenths of the seeds are, by bucket."""
    flows = np.unique(np.concatenate([frame.columns["flow"] for frame in rates]))
    parts = [[frame.of_flow(flow)["goodput"] for frame in rates] for flow in flows]
    length = max(len(part) for of_flow in parts for part in of_flow)
    padded = [[np.pad(part, (0, length - len(part))) for part in of_flow] for of_flow in parts]
    shares = np.quantile(padded, (0.1, 0.5, 0.9), axis=1).reshape(3, -1)
    named = dict(zip(("low", "middle", "high"), shares, strict=True))
    return columns.by_bucket("band", flows, length, **named)


_SHORT = {"goodput_mbit_s": "goodput", "mean_rtt_ms": "rtt", "most_rtt_ms": "longest_rtt"}


def measures_of(outcome: PlayOutcome, events: Iterable[PlayEvent] = ()) -> dict[str, float]:
    """Return every measure that is a number, by its name.

    Of flow N, counted from 1: `goodput_N` (Mbit/s), `rtt_N` and `longest_rtt_N` (mean and longest
    round trip, ms), `retransmitted_N`, `lost_N` (segments) and other columns of its outcome. Of all
    flows: `goodput`, `retransmitted` and `lost` (sums), `rtt` (mean), `longest_rtt`, `fairness`
    (Jain's index of the goodputs; Jain, Chiu and Hawe, DEC-TR-301, 1984), and `count_KIND`, the
    number of events of a kind, such as `count_time_out`.
    """
    every: dict[str, float] = {}
    known: dict[str, list[float]] = {name: [] for name in ("goodput", "rtt", "longest_rtt")}
    known |= {"retransmitted": [], "lost": []}
    for at, flow in enumerate(outcome.flows, 1):
        for column, value in flow.items():
            if value == value:
                name = _SHORT.get(column, column)
                every[f"{name}_{at}"] = float(value)
                known.setdefault(name, []).append(float(value))
    every |= {name: sum(known[name]) for name in ("goodput", "retransmitted", "lost")}
    goodputs, trips = known["goodput"], known["rtt"]
    if trips:
        every |= {"rtt": sum(trips) / len(trips), "longest_rtt": max(known["longest_rtt"])}
    if squares := sum(goodput**2 for goodput in goodputs):
        every["fairness"] = sum(goodputs) ** 2 / (len(goodputs) * squares)
    return every | Counter(f"count_{re.sub('[^a-z]', '_', event.kind)}" for event in events)
