"""Player: takes settings and streams the columns of a run of the real kernel."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.play.columns import (
    BUCKET,
    LOST,
    PROBES,
    Frame,
    PlayEvent,
    events,
    joined,
    packets,
    samples,
)
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
        self._pool = GuestPool(ready or lab(), self._processors, waiting or _fitting())

    def __enter__(self) -> Player:
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)

    def play(self, settings: PlaySettings, hear: Heard, ended: threading.Event) -> PlayOutcome:
        """Run the settings; `hear` gets frames, then events. Raises MovedOn, TcplabError."""
        watch = _Watch(ended)
        with ExitStack() as stack:
            guest = self._pool.take(_limits(settings))
            stack.callback(self._pool.fill_soon)
            stack.callback(guest.end)
            return _carried_out(settings, guest, hear, watch)

    def seeds(
        self, settings: PlaySettings, count: int, hear: Heard, ended: threading.Event
    ) -> None:
        """Run seeds 1 to `count`; `hear` gets a frame "band" (goodput, Mbit/s) after each.

        A tenth, half and nine tenths of the seeds are below low, middle and high.
        """
        rates: list[Frame] = []

        def rates_of(seed: int) -> Frame:
            frames: list[Frame | PlayEvent] = []
            guest = self._pool.boot(_limits(settings))
            try:
                _carried_out(
                    dataclasses.replace(settings, seed=seed), guest, frames.append, _Watch(ended)
                )
            finally:
                guest.end()
            return next(f for f in frames if isinstance(f, Frame) and f.kind == "rates")

        with ThreadPoolExecutor(len(self._processors), "seeds") as turns:
            tasks = [turns.submit(rates_of, seed) for seed in range(1, count + 1)]
            try:
                for done in as_completed(tasks):
                    rates.append(done.result())
                    hear(band(rates))
            finally:
                for task in tasks:
                    task.cancel()

    def save(self, settings: PlaySettings) -> Path:
        """Make an ordinary run of the same packets with a report, and return its directory."""
        changed = settings.changed()
        return run_from_python(
            settings.spec().name, changed, seeds=[settings.seed], testbed="virtual"
        )


def _fitting() -> int:
    return max(_FEWEST, min(_MOST, available_mib() // _SHARE // _RESIDENT_MIB))


@dataclass
class _Watch:
    """Wait for a run unless it is ended, and count the seconds of each phase."""

    ended: threading.Event
    phases: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def until(self, event: threading.Event) -> None:
        while not event.wait(_LOOK):
            self._go_on()

    def looks(self, guest: WaitingGuest) -> Iterator[None]:
        """Yield until the guest has delivered all results."""
        while not (guest.folder / _CONDITION).is_dir() and not guest.over.is_set():
            self._go_on()
            yield
            time.sleep(_LOOK)
        if guest.error:
            raise guest.error
        yield

    def lap(self, phase: str) -> None:
        now = time.monotonic()
        self.phases[phase], self._since = now - self._since, now

    def _go_on(self) -> None:
        if self.ended.is_set():
            raise MovedOn


class _Samples:
    """Samples of the senders, read while the guest prints them."""

    def __init__(self, guest: WaitingGuest, hear: Heard) -> None:
        self._guest, self._hear = guest, hear
        self._offset = 0
        self.begun = 0.0
        self._parts: list[Frame] = []

    def again(self) -> None:
        fresh = []
        for line in self._new().splitlines():
            if line.startswith(BEGUN):
                self.begun = float(line.removeprefix(BEGUN))
            elif line.startswith(SAMPLE):
                fresh.append(line.removeprefix(SAMPLE))
        if fresh:
            self._parts.append(samples(fresh, self.begun))
            self._hear(self._parts[-1])

    def whole(self) -> Frame:
        return joined(self._parts) if self._parts else samples((), self.begun)

    def _new(self) -> str:
        with untrusted.opened(self._guest.folder, LOG) as file:
            file.seek(self._offset)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        return complete.decode(errors="replace")


def _limits(settings: PlaySettings) -> Limits:
    return limits_for(settings.spec(), WALL_SECONDS)


def _carried_out(
    settings: PlaySettings, guest: WaitingGuest, hear: Heard, watch: _Watch
) -> PlayOutcome:
    watch.until(guest.ready)
    watch.lap("guest")
    guest.tell(to_data(settings.spec().for_guest()), settings.seed)
    heard = _Samples(guest, hear)
    for _ in watch.looks(guest):
        heard.again()
    watch.lap("traffic")
    outcome = _whole(settings, guest.folder, heard, hear)
    watch.lap("reading")
    return dataclasses.replace(outcome, phases=watch.phases)


def _whole(settings: PlaySettings, out: Path, heard: _Samples, hear: Heard) -> PlayOutcome:
    folder = out / _CONDITION
    frames = {frame.kind: frame for frame in packets(folder, heard.begun)}
    probes = frames.pop(PROBES)
    for frame in frames.values():
        hear(frame)
    sampled = heard.whole()
    for event in events(sampled, probes, folder):
        hear(event)
    spec = settings.spec()
    verdict = " ".join(judge(spec, settings.seed, out).failures) or "good"
    flows = enumerate(spec.flows)
    figures = (_figures(number, flow, frames, sampled) for number, flow in flows)
    return PlayOutcome(verdict, tuple(figures), {})


def _figures(number: int, flow: Flow, frames: dict[str, Frame], sampled: Frame) -> dict[str, float]:
    rates, sent, trips = (
        _of(frame, number) for frame in (frames["rates"], frames["packets"], sampled)
    )
    kinds = sent["kind"]
    times, came = rates["time"], rates["goodput"]
    until = times[came > 0].max(initial=flow.end.seconds)
    trip = trips["rtt"][trips["rtt"] > 0]
    return {
        "goodput_mbit_s": float(came.sum() * BUCKET / (until - flow.start.seconds)),
        "retransmitted": float(sent["again"].sum()),
        "lost": float((kinds == LOST).sum()),
        "mean_rtt_ms": float(trip.mean()) if len(trip) else float("nan"),
        "most_rtt_ms": float(trip.max()) if len(trip) else float("nan"),
    }


def _of(frame: Frame, flow: int) -> dict[str, np.ndarray[Any, Any]]:
    rows = frame.columns["flow"] == flow
    return {name: column[rows] for name, column in frame.columns.items()}


def band(rates: list[Frame]) -> Frame:
    """Return the goodput below which a tenth, half and nine tenths of the seeds are, by bucket."""
    flows = np.unique(np.concatenate([frame.columns["flow"] for frame in rates]))
    length = max(int((frame.columns["flow"] == flow).sum()) for frame in rates for flow in flows)
    parts = [[_of(frame, int(flow))["goodput"] for frame in rates] for flow in flows]
    shares = [
        np.quantile(
            [np.pad(part, (0, length - len(part))) for part in of_flow], (0.1, 0.5, 0.9), axis=0
        )
        for of_flow in parts
    ]
    low, middle, high = (np.concatenate([share[at] for share in shares]) for at in range(3))
    return Frame(
        "band",
        {
            "time": np.tile((np.arange(length) + 1) * BUCKET, len(flows)),
            "flow": np.repeat(flows, length).astype(np.uint8),
            "low": low,
            "middle": middle,
            "high": high,
        },
    )


_SHORT = {"goodput_mbit_s": "goodput", "mean_rtt_ms": "rtt", "most_rtt_ms": "longest_rtt"}


def measures_of(outcome: PlayOutcome, events: Iterable[PlayEvent] = ()) -> dict[str, float]:
    """Return every measure that is a number, by its name.

    Of flow N, counted from 1: `goodput_N` (Mbit/s), `rtt_N` and `longest_rtt_N` (mean and longest
    round trip, ms), `retransmitted_N`, `lost_N` (segments) and other columns of its outcome. Of all
    flows: `goodput`, `retransmitted` and `lost` (sums), `rtt` (mean), `longest_rtt`, `fairness`
    (Jain's index of the goodputs; Jain, Chiu and Hawe, DEC-TR-301, 1984), and `count_KIND`, the
    number of events of a kind, such as `count_time_out`.
    """
    flows = [
        {_SHORT.get(name, name): float(value) for name, value in flow.items()}
        for flow in outcome.flows
    ]
    counted = Counter(f"count_{re.sub('[^a-z]', '_', event.kind)}" for event in events)
    every = {
        f"{name}_{at}": value for at, flow in enumerate(flows, 1) for name, value in flow.items()
    }
    every |= _together(flows) | counted
    return {name: value for name, value in every.items() if value == value}


def _together(flows: list[dict[str, float]]) -> dict[str, float]:
    def column(name: str) -> list[float]:
        return [flow[name] for flow in flows if flow.get(name, float("nan")) == flow.get(name)]

    goodputs, trips = column("goodput"), column("rtt")
    squares = sum(goodput**2 for goodput in goodputs)
    return {
        "goodput": sum(goodputs),
        "retransmitted": sum(column("retransmitted")),
        "lost": sum(column("lost")),
        "rtt": sum(trips) / len(trips) if trips else float("nan"),
        "longest_rtt": max(column("longest_rtt"), default=float("nan")),
        "fairness": sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else float("nan"),
    }
