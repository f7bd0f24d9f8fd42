"""Graphs of one direction over time, and distributions of its values (texts: graphs.csv)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.graphs.capture import CaptureDirection, LimitIntervals, SackBlocks, SentSegments
from analysis.graphs.ladder import rows_by_look
from analysis.graphs.layers import Graph, Layer, Shape, axis_of, plain
from analysis.records.output import SocketSample
from analysis.table import Whole

RATE, RTT = axis_of("throughput"), axis_of("rtt")  # of the steepness in bytes per ns, and of ns
_LIMIT_LOOKS = ("limit_receiver", "limit_network", "limit_waiting", "limit_idle")
STEPS = 1000  # points of the distribution


def draw_segments(direction: CaptureDirection) -> Graph:
    """Draw window and ACK lines, SACK blocks, data, and a layer per kind of retransmission."""
    answers, numbers = direction.answers, {"record": direction.answers.number}
    return plain(
        "time_sequence",
        Layer("window", "stairs", answers.time, answers.edge, fields=numbers),
        Layer("ack", "stairs", answers.time, answers.highest, fields=numbers),
        *(_reported(direction.blocks, duplicate) for duplicate in (False, True)),
        *by_kind(direction.sent),
    )


def by_kind(sent: SentSegments, shape: Shape = "bars") -> list[Layer]:
    """Return a layer a kind of segments, those sent once first; `dots` are at the first byte."""
    return [_of(sent.at(rows), name, shape) for name, rows in rows_by_look(sent.kind)]


def _of(sent: SentSegments, name: str, shape: Shape) -> Layer:
    fields = {"record": sent.number}
    if shape != "bars":
        return Layer(name, shape, sent.time, sent.low, fields=fields)
    goes_on, run = sent.left_out > 0, int(sent.left_out.max(initial=0)) + 1
    if run == 1:
        return Layer(name, shape, sent.time, sent.low, sent.high, fields=fields)
    # A stroke leads to the next segment over those in between.
    end, top = (np.append(column[1:], column[-1:]) for column in (sent.time, sent.low))
    end, top = np.where(goes_on, end, sent.time), np.where(goes_on, top, sent.high)
    return Layer(name, shape, sent.time, sent.low, top, end, fields, run=run)


def _reported(blocks: SackBlocks, duplicate: bool) -> Layer:
    some = blocks.at(blocks.duplicate == duplicate)
    look = "dsack" if duplicate else "sack"
    return Layer(look, "bars", some.time, some.left, some.right, fields={"record": some.number})


def draw_limits(direction: CaptureDirection) -> Graph:
    """Draw a band of boxes, each as high as its cause's share of the interval."""
    limits = direction.limits
    return plain("limits", *(_limit_layer(limits, look) for look in _LIMIT_LOOKS if limits))


def _limit_layer(limits: LimitIntervals, look: str) -> Layer:
    rows = limits.causes == look.removeprefix("limit_")
    shares = limits.duration / (limits.until - limits.since)
    # Rows of one interval follow each other: each stands on those before it.
    first = np.flatnonzero(np.diff(limits.since, prepend=limits.since[:1] - 1))
    tops = np.cumsum(shares)
    below = np.repeat((tops - shares)[first], np.diff(first, append=len(shares)))
    top = (tops - below)[rows]
    x, end = limits.since[rows], limits.until[rows]
    fields = {"microseconds": limits.duration[rows] // 1000}
    return Layer(look, "boxes", x, top - shares[rows], top, end, fields)


def draw_throughput(direction: CaptureDirection) -> Graph:
    sent = direction.sent
    both = Layer("throughput", "rate", sent.time, sent.carried)
    return plain("throughput", both, goodput(direction, "goodput"))


def goodput(direction: CaptureDirection, look: str, words: str = "") -> Layer:
    """Return the highest ACK so far."""
    return Layer(look, "rate", direction.answers.time, direction.answers.highest, words=words)


def _at(samples: Sequence[SocketSample], direction: CaptureDirection) -> Whole:
    return np.array([round(each.time * 1e9) - direction.start for each in samples], dtype=np.int64)


def draw_rtt(direction: CaptureDirection, samples: Sequence[SocketSample] = ()) -> Graph:
    """Draw each round trip at the time of its ACK, and the socket's smoothed value if known."""
    answers, some = direction.answers, direction.answers.rtt >= 0
    records = {"record": answers.number[some]}
    smoothed = np.array([round(sample.rtt * 1e9) for sample in samples], dtype=np.int64)
    return plain(
        "rtt",
        Layer("rtt", "dots", answers.time[some], answers.rtt[some], fields=records),
        Layer("smoothed", "stairs", _at(samples, direction), smoothed),
        at_receiver=direction.at_receiver,
    )


def draw_rtt_distribution(direction: CaptureDirection) -> Graph:
    """Return the cumulative distribution: y is the share of round trips that were at most x."""
    answers = direction.answers
    rtts = answers.rtt[answers.regular & (answers.rtt >= 0)]
    shares = np.linspace(0, 1, min(STEPS, len(rtts)) + 1) if len(rtts) else np.zeros(0)
    at = np.quantile(rtts, shares, method="inverted_cdf") if len(rtts) else shares
    layer = Layer("share", "stairs", at, shares)
    return replace(plain("rtt_distribution", layer, at_receiver=direction.at_receiver), x=RTT)


def draw_in_flight(direction: CaptureDirection, samples: Sequence[SocketSample] = ()) -> Graph:
    """Draw bytes in flight and windows; empty without packets of the other direction."""
    time, in_flight, number = _flight(direction)
    segment = int((direction.sent.high - direction.sent.low).max(initial=0))
    at = _at(samples, direction)
    windows = np.array([sample.cwnd for sample in samples], dtype=np.float64)
    has_threshold = np.array([sample.ssthresh is not None for sample in samples], dtype=np.bool_)
    thresholds = np.array([sample.ssthresh or 0 for sample in samples], dtype=np.float64)
    return plain(
        "in_flight",
        Layer("rwnd", "stairs", direction.answers.time, direction.answers.window),
        Layer("in_flight", "stairs", time, in_flight, fields={"record": number}),
        Layer("ssthresh", "stairs", at[has_threshold], thresholds[has_threshold] * segment),
        Layer("cwnd", "stairs", at, windows * segment),
        at_receiver=direction.at_receiver,
    )


def _flight(direction: CaptureDirection) -> tuple[Whole, Whole, Whole]:
    """Return time, bytes in flight and number of the packets of both ways, in order of time."""
    sent, answers = direction.sent, direction.answers
    if not len(answers.time):
        return sent.time[:0], sent.in_flight[:0], sent.number[:0]
    number = np.concatenate([sent.number, answers.number])
    time = np.concatenate([sent.time, answers.time])
    in_flight = np.concatenate([sent.in_flight, answers.in_flight])
    order = np.lexsort((number, time))
    return time[order], in_flight[order], number[order]


def draw_stevens(direction: CaptureDirection) -> Graph:
    """Return one line through all segments in the order sent, and marks on retransmissions."""
    again = [layer for layer in by_kind(direction.sent, "dots") if layer.look != "data"]
    sent = direction.sent
    order = Layer("order", "line", sent.time, sent.low, fields={"record": sent.number})
    return plain("stevens", order, *again)


def draw_segment_sizes(direction: CaptureDirection) -> Graph:
    """Return a dot a segment, and the average so far. SYN and FIN count as one byte."""
    sent, sizes = direction.sent, direction.sent.high - direction.sent.low
    average = sent.carried / sent.count
    return plain(
        "segment_sizes",
        Layer("size", "dots", sent.time, sizes, fields={"record": sent.number}),
        Layer("average", "line", sent.time, average),
    )
