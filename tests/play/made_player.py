"""A player without a lab kernel: an additive-increase sender by formula, as frames like the lab's.

What a page and a server need is here: several flows, losses, events, all columns, a run that ends
when it is told to, and counts of what was started and ended.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from experiments.play.columns import Frame, PlayEvent
from experiments.play.guests import MovedOn
from experiments.play.player import Player, PlayOutcome
from experiments.play.settings import PlaySettings
from topologies.units import Duration, Packets, Rate, Share

_SEGMENT = 1448
_STEP = 0.01
_PIECES = 10

Hear = Callable[[Frame | PlayEvent], None]


@dataclass
class MadePlayer(Player):
    """Every run takes `seconds`, in ten pieces.

    `running` and `most` count runs at one time, `cut` those that were ended early.
    """

    seconds: float = 0.1
    folder: Path = Path("runs/made")
    played: list[PlaySettings] = field(default_factory=list)
    running: int = 0
    most: int = 0
    ended: int = 0
    cut: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def play(self, settings: PlaySettings, hear: Hear, ended: threading.Event) -> PlayOutcome:
        with self._lock:
            self.played.append(settings)
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            return self._play(settings, hear, ended)
        finally:
            with self._lock:
                self.running -= 1
                self.ended += 1

    def _play(self, settings: PlaySettings, hear: Hear, ended: threading.Event) -> PlayOutcome:
        data = settings.as_data()
        traces = [Trace(data, flow) for flow in range(len(data["flows"].split("+")))]
        for piece in range(_PIECES):
            for trace in traces:
                hear(Frame("samples", trace.samples(piece)))
            if ended.wait(self.seconds / _PIECES):
                self.cut += 1
                raise MovedOn
        for trace in traces:
            for event in trace.events:
                hear(event)
            hear(Frame("rates", trace.rates()))
            hear(Frame("drops", trace.drops()))
            hear(Frame("packets", trace.packets()))
        hear(Frame("queue", traces[0].queue()))
        phases = {"guest": 0.003, "traffic": self.seconds, "reading": 0.01}
        return PlayOutcome("good", tuple(trace.summary() for trace in traces), phases)

    def save(self, settings: PlaySettings) -> Path:
        time.sleep(self.seconds)
        return self.folder / settings.as_data()["seed"]

    def seeds(self, settings: PlaySettings, count: int, hear: Hear, ended: threading.Event) -> None:
        outcome = self.play(settings, lambda _: None, ended)
        for spread in (0.01, 0.1):
            parts = [Trace(settings.as_data(), flow).rates() for flow in range(len(outcome.flows))]
            rates = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            middle = rates.pop("goodput")
            band = {"low": (1 - spread) * middle, "middle": middle, "high": (1 + spread) * middle}
            hear(Frame("band", rates | band))


class Trace:
    """One flow's columns: a window that grows by a segment each round trip and halves at a loss."""

    def __init__(self, data: dict[str, str], flow: int) -> None:
        self.flow, self.count = flow, len(data["flows"].split("+"))
        self.rate = Rate.parse(data["bw"]).base / 8 / self.count
        self.trip = 2 * Duration.parse(data["delay"]).seconds + 0.001
        self.room = Packets.parse(data["queue"]).base * _SEGMENT / self.count
        self.times = np.arange(0, Duration.parse(data["duration"]).seconds, _STEP)
        draws = np.random.default_rng(int(data["seed"]) + flow)
        self._grow(Share.parse(data["loss"]).fraction, draws)

    def _grow(self, loss: float, draws: np.random.Generator) -> None:
        window, threshold = 10.0 * _SEGMENT, float("nan")
        windows, thresholds, states, self.events = [], [], [], list[PlayEvent]()
        lost_at, halved = [], -1.0
        for time_ in self.times:
            sent = min(window / self.trip, self.rate) * _STEP / _SEGMENT
            is_full = window > self.rate * self.trip + self.room
            is_lost = time_ - halved > self.trip and (is_full or draws.random() < loss * sent)
            if is_lost:
                if threshold != threshold:
                    self._event(time_, "slow start left", "The first loss ended slow start.")
                self._event(time_, "fast recovery", "Three duplicate ACKs: half the window.")
                window, halved = window / 2, time_
                threshold = window
                lost_at.append(time_)
            factor = 2 ** (_STEP / self.trip) if not window >= threshold else 1.0
            window = window * factor + (_SEGMENT * _STEP / self.trip if factor == 1.0 else 0.0)
            windows.append(window)
            thresholds.append(threshold)
            states.append(3 if time_ - halved < self.trip and halved >= 0 else 0)
        self.window, self.threshold = np.array(windows), np.array(thresholds)
        self.state = np.array(states, dtype=np.uint8)
        self.lost = np.array(lost_at)
        self.goodput = np.minimum(self.window / self.trip, self.rate)
        self.delivered = np.cumsum(self.goodput) * _STEP
        self.waiting = np.clip(self.window - self.rate * self.trip, 0, self.room)

    def _event(self, time_: float, kind: str, sentence: str) -> None:
        self.events.append(PlayEvent(float(time_), self.flow, kind, sentence))

    def _flow(self, length: int) -> np.ndarray:
        return np.full(length, self.flow, dtype=np.uint8)

    def samples(self, piece: int) -> dict[str, np.ndarray]:
        part = slice(piece * len(self.times) // _PIECES, (piece + 1) * len(self.times) // _PIECES)
        trip = 1000 * (self.trip + self.waiting / self.rate)
        return {
            "time": self.times[part],
            "flow": self._flow(len(self.times[part])),
            "cwnd": self.window[part],
            "ssthresh": self.threshold[part],
            "in_flight": 0.98 * self.window[part],
            "rtt": trip[part].astype(np.float32),
            "delivered": self.delivered[part],
            "state": self.state[part],
        }

    def rates(self) -> dict[str, np.ndarray]:
        every = round(0.1 / _STEP)
        goodput = 8e-6 * self.goodput[: len(self.times) // every * every]
        means = goodput.reshape(-1, every).mean(axis=1)
        return {
            "time": self.times[::every][: len(means)],
            "flow": self._flow(len(means)),
            "goodput": means,
        }

    def drops(self) -> dict[str, np.ndarray]:
        sequence = np.interp(self.lost, self.times, self.delivered)
        return {"time": self.lost, "flow": self._flow(len(self.lost)), "sequence": sequence}

    def queue(self) -> dict[str, np.ndarray]:
        delay = 1000 * self.waiting / self.rate
        packets = np.round(self.count * self.waiting / _SEGMENT).astype(np.int32)
        return {"time": self.times, "delay": delay, "packets": packets}

    def packets(self) -> dict[str, np.ndarray]:
        sequence = np.arange(0, max(self.delivered[-1], _SEGMENT), _SEGMENT)
        sent = np.interp(sequence, self.delivered, self.times)
        lost = np.interp(self.lost, sent, sequence) // _SEGMENT * _SEGMENT
        kinds = [
            (sent, sequence, 0),
            (self.lost + self.trip, lost, 1),
            (sent + self.trip, sequence + _SEGMENT, 2),
            (self.lost, lost, 4),
        ]
        times = np.concatenate([times for times, _, _ in kinds])
        order = np.argsort(times, kind="stable")
        kind = np.concatenate([np.full(len(times), of) for times, _, of in kinds])
        return {
            "time": times[order],
            "flow": self._flow(len(times)),
            "sequence": np.concatenate([sequence for _, sequence, _ in kinds])[order],
            "length": np.full(len(times), _SEGMENT, dtype=np.int32),
            "kind": kind[order].astype(np.uint8),
        }

    def summary(self) -> dict[str, float]:
        return {
            "goodput_mbit_s": float(8e-6 * self.goodput.mean()),
            "retransmitted": float(len(self.lost)),
            "mean_rtt_ms": float(1000 * (self.trip + self.waiting.mean() / self.rate)),
            "most_rtt_ms": float(1000 * (self.trip + self.waiting.max() / self.rate)),
        }
