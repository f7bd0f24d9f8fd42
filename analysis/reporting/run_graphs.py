"""Graphs of a run: its packets, sockets and repetitions, and its stage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self

import numpy as np

from analysis import graphs
from analysis.fmt import listed
from analysis.graphs import layers as plots
from analysis.graphs import timelines
from analysis.graphs.capture import CaptureDirection, Numbers, directions
from analysis.graphs.stored import StagedTrial, shape_of
from analysis.graphs.webpage import Samples
from analysis.measures.captures import End, at_port
from analysis.measures.metrics import PAUSE, counter, metric
from analysis.measures.results import Measured, RunResults
from analysis.records.output import SocketSample


def page(title: str, trial: Measured) -> str:
    return graphs.page(title, [_capture(end) for end in trial.ends], _samples(trial))


def sent(trial: Measured) -> CaptureDirection | None:
    """Return the first flow's data as the sender's capture has it; None without one."""
    end = next((end for end in trial.ends if end.role == "sender"), None)
    if end is None:
        return None
    flow = graphs.Capture(end.interface, end.packets, end.reading.connection_table)
    return next((way for way in directions(flow) if way.forward == end.by_a), None)


MOST_PACKETS = 300_000
"""Packets of a capture that its page draws: each takes about 800 bytes while it is made."""


def _capture(end: End) -> graphs.Capture:
    """Return the capture, of a long one its beginning; `analyze` draws any part of it."""
    table = end.reading.packet_table
    if table is None or len(table) <= MOST_PACKETS:
        return graphs.Capture.of(end.interface, end.reading)
    beginning = replace(end.reading, packet_table=table.rows(slice(MOST_PACKETS)))
    return graphs.Capture.of(f"{end.interface}, first {MOST_PACKETS:,} packets", beginning)


def _samples(trial: Measured) -> Samples:
    """Return the sockets' samples by the connection's number in the first capture."""
    if not trial.ends:
        return {}
    rows, found = trial.ends[0].reading.connection_table, dict[int, Sequence[SocketSample]]()
    for flow in trial.flows:
        if flow.samples and len(matches := at_port(rows, flow.flow.port)):
            found[int(matches["connection"].values[0])] = flow.samples
    return found


PAUSED = plots.SeriesLook(
    f"no data was sent for {PAUSE:g} s or more", plots.ORANGE, fit=False, faint=True
)
TRIP = plots.SeriesLook("", plots.BLUE, "circle")
THRESHOLD = plots.SeriesLook("", plots.BLUE, dash=True, fit=False)
SEGMENTS = plots.Axis("segments", "", zero=True)
_BYTE_RATE = 1 / 8e6  # bytes in a ns of one kbit/s
_STEPS = 100  # about as many steps of a rate are drawn when all of it is seen
_IN_SIGHT = 5
"""The link's rate is drawn up to so many times the fastest second: beyond, it hides all else."""


def all_graphs(results: RunResults) -> list[plots.GraphGroup]:
    """Return the graphs of a single flow's first seed, and of all seeds."""
    if len(results.run.flows) > 1:
        return []
    courses = [DrawnCourse.of(trial) for trial in results.first]
    of_all = (_time_sequences(courses), *over_time(courses, results.link_rate))
    return [group for group in (*of_all, repetitions(results)) if group]


@dataclass(frozen=True)
class DrawnCourse:
    """The first flow of a trial over time: what its sender's capture has, if there is one."""

    label: str
    trial: Measured
    sent: CaptureDirection | None

    @classmethod
    def of(cls, trial: Measured, prefix: str = "") -> Self:
        """`prefix` precedes the name of the condition where there are several runs."""
        return cls(prefix + trial.trial.condition.label, trial, sent(trial))

    @property
    def seed(self) -> int:
        return self.trial.trial.seed

    @property
    def samples(self) -> Sequence[SocketSample]:
        return self.trial.samples

    @property
    def times(self) -> Numbers:
        """The samples' times in ns since the first packet, or sample."""
        start = self.sent.start if self.sent else round(1e9 * self.samples[0].time)
        return np.array([round(1e9 * sample.time) - start for sample in self.samples])


def over_time(courses: Sequence[DrawnCourse], link: float | None) -> list[plots.GraphGroup]:
    """Return throughput, round trips and windows on one axis; `link` is the rate in kbit/s."""
    drawn = (_throughput(courses, link), _round_trips(courses), _windows(courses))
    return [plots.alone(each) for each in drawn if each]


def _seen(courses: Sequence[DrawnCourse]) -> str:
    seeds = sorted({course.seed for course in courses})
    words = f"Seed {seeds[0]}" if len(seeds) == 1 else f"Seeds {listed([*map(str, seeds)])}"
    return f"{words}, at the sender."


def _time_sequences(courses: Sequence[DrawnCourse]) -> plots.GraphGroup | None:
    drawn = [each for course in courses for each in _time_sequence(course)]
    if not drawn:
        return None
    # One height, so that steepness can be compared.
    most = max(float(layer.y.max()) for one in drawn for layer in one.layers if layer.look == "ack")
    alike = tuple(replace(one, y=replace(one.y, range=(0.0, 1.1 * most))) for one in drawn)
    caption = plots.caption("time_sequence", seen=_seen(courses))
    return plots.GraphGroup("time_sequence", "What was sent, and when", caption, alike)


def _time_sequence(course: DrawnCourse) -> Iterator[plots.Graph]:
    way = course.sent
    if way is None or not len(way.sent.time):
        return
    plain = timelines.draw_segments(way)
    ended = float(way.answers.time.max(initial=0)) / 1e9
    arrived = float(way.answers.highest.max(initial=0)) / 1000
    again = int(np.isin(way.sent.kind, list(plots.RETRANSMITTED)).sum())
    title = f"{course.label}: {arrived:,.0f} kB in {ended:.1f} s; {again} retransmissions"
    key, layers = f"time_sequence_{course.trial.trial.condition.name}", plain.layers
    layers = (*_pauses(way), *layers)
    yield replace(plain, key=key, title=title, caption="", layers=layers, height=360)


def _pauses(way: CaptureDirection) -> list[plots.Layer]:
    """Return the pauses of the sender, as boxes as high as the graph."""
    times = np.sort(way.sent.time)
    (before,) = np.nonzero(np.diff(times) >= PAUSE * 1e9)
    if not len(before):
        return []
    low, top = np.zeros(len(before)), np.full(len(before), float(way.sent.high.max()))
    return [plots.Layer(PAUSED, "boxes", times[before], low, top, times[before + 1])]


def _throughput(courses: Sequence[DrawnCourse], link: float | None) -> plots.Graph | None:
    layers = [layer for at, course in enumerate(courses) for layer in _goodput(course, at)]
    if not layers:
        return None
    fastest = max(_fastest(layer, 1e9) for layer in layers)
    drawn_most = max(_fastest(layer, float(layer.x[-1]) / _STEPS) for layer in layers)
    captured = any(course.sent for course in courses)
    source = "the capture" if captured else "samples of the socket, ten a second or fewer"
    words = plots.caption("throughput", seen=_seen(courses), source=source)
    if link and link < _IN_SIGHT * fastest:
        layers.append(plots.level(link * _BYTE_RATE, "the link's rate"))
    if link and link <= drawn_most:
        words += plots.caption("above_link")
    return plots.graph("throughput", "Throughput", words, timelines.RATE, *layers)


def _goodput(course: DrawnCourse, series: int) -> list[plots.Layer]:
    if course.sent and len(course.sent.answers.time) > 1:
        layer = timelines.goodput(course.sent, "goodput", course.label)
        return [replace(layer, series=series)]
    if len(course.samples) < 2:
        return []
    acked = np.array([sample.bytes_acked for sample in course.samples])
    return [plots.Layer("goodput", "rate", course.times, acked, words=course.label, series=series)]


def _fastest(layer: plots.Layer, step: float) -> float:
    """Return the most that a time of `step` ns had, in kbit/s."""
    edges = np.arange(0, float(layer.x[-1]) + step, step)
    at = np.searchsorted(layer.x, edges, side="right") - 1
    sums = np.where(at < 0, 0, layer.y[np.maximum(at, 0)]).astype(float)
    return float(np.diff(sums).max(initial=0.0)) * 8e6 / step


def _round_trips(courses: Sequence[DrawnCourse]) -> plots.Graph | None:
    drawn = [_trips(course, at) for at, course in enumerate(courses)]
    layers = [(layer, source) for layer, source in drawn if layer is not None and len(layer)]
    if not layers:
        return None
    caption = f"{_seen(courses)} " + " ".join(sorted({source for _, source in layers}))
    trips = (layer for layer, _ in layers)
    return plots.graph("round_trips", "Round-trip time", caption, timelines.RTT, *trips)


def _trips(course: DrawnCourse, series: int) -> tuple[plots.Layer | None, str]:
    """Return single round trips from the capture, or else the socket's smoothed one."""
    if course.sent and (course.sent.answers.rtt >= 0).any():
        some = course.sent.answers.rtt >= 0
        times, trips = course.sent.answers.time[some], course.sent.answers.rtt[some]
        layer = plots.Layer(TRIP, "dots", times, trips, words=course.label, series=series)
        return layer, plots.caption("single_trips")
    if not course.samples:
        return None, ""
    smoothed = np.array([round(1e9 * sample.rtt) for sample in course.samples])
    known = smoothed > 0
    words = f"{course.label}, smoothed"
    layer = plots.Layer(
        TRIP, "stairs", course.times[known], smoothed[known], words=words, series=series
    )
    return layer, plots.caption("smoothed_trips")


def _windows(courses: Sequence[DrawnCourse]) -> plots.Graph | None:
    layers = [layer for at, course in enumerate(courses) for layer in _window(course, at)]
    if not layers:
        return None
    caption = plots.caption("windows", seen=_seen(courses))
    return plots.graph("windows", "Congestion window", caption, SEGMENTS, *layers)


def _window(course: DrawnCourse, series: int) -> Iterator[plots.Layer]:
    if not course.samples:
        return
    window, words = np.array([sample.cwnd for sample in course.samples]), f"{course.label}: window"
    yield plots.Layer("cwnd", "stairs", course.times, window, words=words, series=series)
    limits = [(at, s.ssthresh) for at, s in enumerate(course.samples) if s.ssthresh is not None]
    if limits:
        times = course.times[[at for at, _ in limits]]
        values = np.array([value for _, value in limits], dtype=float)
        words = f"{course.label}: slow-start threshold"
        yield plots.Layer(THRESHOLD, "stairs", times, values, words=words, series=series)


def repetitions(results: RunResults) -> plots.GraphGroup | None:
    """Return graphs of every seed under every condition; None for one seed."""
    compared = (
        ("Throughput", plots.RATE, metric("server.rate")),
        ("Time-outs", plots.Axis("TcpExtTCPTimeouts", "", zero=True), counter("TcpExtTCPTimeouts")),
    )
    conditions = results.run.conditions if len(results.run.seeds) > 1 else ()
    labels = [condition.label for condition in conditions]
    drawn = (
        repeated(title, axis, results.pairs(key, conditions), labels)
        for title, axis, key in compared
        if conditions
    )
    kept = tuple(filter(None, drawn))
    caption = "A line joins what the conditions gave under one seed. The thick mark is the median."
    return plots.GraphGroup("repetitions", "All repetitions", caption, kept) if kept else None


def repeated(
    title: str, axis: plots.Axis, pairs: Sequence[Sequence[float]], labels: Sequence[str]
) -> plots.Graph | None:
    """Return a graph of the values of each seed, one for each label; None without a seed."""
    if not pairs:
        return None
    values = np.array(pairs)
    count, places = values.shape
    at, across = np.repeat(np.arange(places), count).astype(float), values.T.ravel()
    before = (places - 1) * count
    joined = plots.Layer(
        replace(plots.DOT, width=1),
        "bars",
        at[:before],
        across[:before],
        across[count:],
        at[count:],
        words="one seed",
    )
    middles = plots.bars(range(places), [median(column) for column in values.T], 0.14, "median")
    layers = [plots.Layer(plots.DOT, "dots", at, across, words="one seed"), middles]
    layers[:0] = [joined] if places > 1 else []
    key = f"repetitions_{title.lower()}"
    heading = f"{title}, {count} repetition{'' if count == 1 else 's'}"
    return plots.Graph(key, heading, "", plots.named("", labels), axis, tuple(layers))


MOST_STAGES = 4  # conditions above each other; more would not fit a screen


def run_stage(results: RunResults) -> list[StagedTrial]:
    drawn, spec = list[StagedTrial](), results.run.spec
    network = None if spec.changes else spec.topology.network()
    for each in [each for each in results.first if len(each.ends) > 1][:MOST_STAGES]:
        (near, far), flow, label = each.ends, results.run.flows[0], each.trial.condition.label
        shape = shape_of(network, flow.sender, flow.receiver)
        ends = near.packets, far.packets
        drawn.append(StagedTrial.of(label, shape, ends, near.by_a, each.samples))
    return drawn
