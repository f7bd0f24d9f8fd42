"""Which graphs a report has, from what was measured."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.measures import metric_keys
from analysis.measures.run_results import RunResults
from analysis.measures.trial_measures import PAUSE, Measured

if TYPE_CHECKING:
    from analysis.figures.over_time import ConditionCourse
    from analysis.graphs.tcptrace_lines import TimeSequence


@dataclass(frozen=True)
class Picture:
    """A PNG under its file name, with the sentence that tells what to look for."""

    name: str
    title: str
    caption: str
    png: bytes

    @property
    def data_url(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def pictures(results: RunResults) -> list[Picture]:
    """The graphs of the first seed and, if there are several seeds, one of all."""
    from analysis.reporting import packet_graphs  # matplotlib, which takes a third of a second

    trials = [DrawnTrial(trial, *packet_graphs.drawn(trial)) for trial in results.first]
    drawn = (_time_sequence(trials), _over_time(trials, results.link_rate), _repetitions(results))
    return [picture for picture in drawn if picture]


@dataclass(frozen=True)
class DrawnTrial:
    """A trial with the lines of its time-sequence graph and its samples of round trips."""

    trial: Measured
    sequence: TimeSequence | None
    round_trips: list[tuple[float, float]]

    @property
    def label(self) -> str:
        return self.trial.trial.condition.label

    @property
    def seed(self) -> int:
        return self.trial.trial.seed


def _time_sequence(trials: list[DrawnTrial]) -> Picture | None:
    from analysis.figures import time_sequence

    shown = [
        (trial.label, trial.sequence)
        for trial in trials
        if trial.sequence and len(trial.sequence.data)
    ]
    if not shown:
        return None
    caption = (
        f"Seed {trials[0].seed}, at the sender. Steeper is faster; flat is waiting."
        " Each mark is one segment at the bytes that it carries. A green step up is an ACK: what"
        " lies below it has arrived. Letters and colours are those of tcptrace -S."
    )
    return Picture(
        "time_sequence.png", "What was sent, and when", caption, time_sequence.draw(shown, PAUSE)
    )


def _over_time(trials: list[DrawnTrial], link: float | None) -> Picture | None:
    from analysis.figures import over_time

    courses: list[ConditionCourse] = [
        over_time.ConditionCourse(
            trial.label, trial.sequence, trial.round_trips, trial.trial.samples, link
        )
        for trial in trials
        if trial.sequence or trial.trial.samples
    ]
    if not courses:
        return None
    return Picture(
        "over_time.png",
        "Throughput, round-trip time and congestion window",
        f"Seed {trials[0].seed}, at the sender. {' '.join(_sources(courses))}",
        over_time.draw(courses),
    )


def _sources(courses: Sequence[ConditionCourse]) -> list[str]:
    """What each row of the picture is drawn from; of what is missing, that it is empty."""
    captured = any(course.sequence for course in courses)
    rtts, sampled = (
        any(course.rtts for course in courses),
        any(course.samples for course in courses),
    )
    whence = "the capture" if captured else "the socket's samples, without a capture"
    return [
        f"Throughput counts newly acknowledged bytes (from {whence}).",
        "Round-trip times are samples of segments that were sent once (RFC 6298, section 3)."
        if rtts
        else "Round-trip times are the socket's smoothed ones."
        if sampled
        else "There are no round-trip times.",
        "The congestion window and the slow-start threshold are the socket's own, sampled like ss"
        " -ti."
        if sampled
        else "The socket was not sampled, so no window is drawn.",
    ]


def _repetitions(results: RunResults) -> Picture | None:
    from analysis.figures import repetitions

    conditions = results.run.conditions
    compared = (
        ("Throughput", "kbit/s", metric_keys.SERVER_RATE),
        ("Time-outs", "TcpExtTCPTimeouts", metric_keys.counter("TcpExtTCPTimeouts")),
    )
    rows = [
        repetitions.RepeatedQuantity(title, unit, results.pairs(key, conditions))
        for title, unit, key in compared
    ]
    enough = [row for row in rows if len(row.pairs) > 1]
    if not enough:
        return None
    caption = (
        "One line per seed joins what the conditions gave under that seed. The thick mark is the"
        " median."
    )
    png = repetitions.draw([condition.label for condition in conditions], enough)
    return Picture("repetitions.png", "All repetitions", caption, png)
