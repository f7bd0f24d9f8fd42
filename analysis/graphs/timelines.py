"""Graphs of one direction over time, and distributions of its values."""

from collections.abc import Sequence

import numpy as np

from analysis.graphs.capture import CaptureDirection, LimitIntervals, SackBlocks, SentSegments
from analysis.graphs.ladder import rows_by_look, taken
from analysis.graphs.layers import BYTES, SEQUENCE, Axis, Graph, Layer, Shape, graph
from analysis.records.output import SocketSample
from analysis.table import Whole

SEGMENTS_CAPTION = (
    "Steeper is faster; flat is waiting. Each stroke is one segment at the bytes that it carries. "
    "What lies below the ACK line has arrived."
)


def draw_segments(direction: CaptureDirection) -> Graph:
    """Draw window and ACK lines, SACK blocks, data, and a layer per kind of retransmission."""
    answers, numbers = direction.answers, {"record": direction.answers.number}
    return graph(
        "time_sequence",
        "Time and sequence",
        SEGMENTS_CAPTION,
        SEQUENCE,
        Layer("window", "stairs", answers.time, answers.edge, fields=numbers),
        Layer("ack", "stairs", answers.time, answers.highest, fields=numbers),
        *(_reported(direction.blocks, duplicate) for duplicate in (False, True)),
        *by_kind(direction.sent),
        height=440,
    )


def by_kind(sent: SentSegments, shape: Shape = "bars") -> list[Layer]:
    """Return a layer a kind of segments, those sent once first; `dots` are at the first byte."""
    return [_of(taken(sent, rows), name, shape) for name, rows in rows_by_look(sent.kind)]


def _of(sent: SentSegments, name: str, shape: Shape) -> Layer:
    top = sent.high if shape == "bars" else None
    return Layer(name, shape, sent.time, sent.low, top, fields={"record": sent.number})


def _reported(blocks: SackBlocks, duplicate: bool) -> Layer:
    some = taken(blocks, blocks.duplicate == duplicate)
    look = "dsack" if duplicate else "sack"
    return Layer(look, "bars", some.time, some.left, some.right, fields={"record": some.number})


LIMITS_CAPTION = (
    "Cause that limits the sender at each time. Intervals too short to be kept one by one share"
    " their height."
)
_LIMIT_LOOKS = ("limit_receiver", "limit_network", "limit_waiting", "limit_idle")


def draw_limits(direction: CaptureDirection) -> Graph:
    """Draw a band of boxes, each as high as its cause's share of the interval."""
    share = Axis("share of the time", "%", 100.0, zero=True)
    layers = [_limit_layer(direction.limits, look) for look in _LIMIT_LOOKS if direction.limits]
    return graph("limits", "Limited by", LIMITS_CAPTION, share, *layers, height=120)


def _limit_layer(limits: LimitIntervals, look: str) -> Layer:
    rows = limits.causes == look.removeprefix("limit_")
    shares = limits.duration / (limits.until - limits.since)
    # Rows of one interval follow each other: each stands on those before it.
    first = np.flatnonzero(np.diff(limits.since, prepend=limits.since[:1] - 1))
    tops = np.cumsum(shares)
    below = np.repeat((tops - shares)[first], np.diff(first, append=len(shares)))
    top = (tops - below)[rows]
    return Layer(
        look,
        "boxes",
        limits.since[rows],
        top - shares[rows],
        top,
        limits.until[rows],
        {"microseconds": limits.duration[rows] // 1000},
    )


RATE = Axis("rate", "bit/s", 8e9, zero=True)
"""Steepness in bytes per ns, shown in bit/s."""
THROUGHPUT_CAPTION = (
    "Rates are averages over short equal times, which become shorter as you zoom in, down to some"
    " ten segments. Throughput"
    " counts payload each time that it is sent; goodput counts each byte once, when it is"
    " acknowledged."
)


def draw_throughput(direction: CaptureDirection) -> Graph:
    """Draw both rates as growing sums, whose steepness is seen."""
    sent = np.cumsum(direction.sent.high - direction.sent.low)
    return graph(
        "throughput",
        "Throughput and goodput",
        THROUGHPUT_CAPTION,
        RATE,
        Layer("throughput", "rate", direction.sent.time, sent),
        goodput(direction, "goodput"),
    )


def goodput(direction: CaptureDirection, look: str, words: str = "") -> Layer:
    """Return the highest ACK so far."""
    return Layer(look, "rate", direction.answers.time, direction.answers.highest, words=words)


RTT = Axis("round-trip time", "ms", 1e-6, zero=True)
STEPS = 1000
"""Points of the distribution."""
RTT_CAPTION = (
    "From a segment to the ACK that covers it; retransmitted segments give none, since the ACK may"
    " be for either transmission."
)

RTT_AT_RECEIVER = (
    "No round trips: this capture was taken at the receiver, where an ACK follows its data at once."
    " The times are what the receiver waits before it acknowledges. "
)


def _at(samples: Sequence[SocketSample], direction: CaptureDirection) -> Whole:
    """Return the times of the samples in ns since the page's start."""
    return np.array([round(each.time * 1e9) - direction.start for each in samples], dtype=np.int64)


def draw_rtt(direction: CaptureDirection, samples: Sequence[SocketSample] = ()) -> Graph:
    """Draw each round trip at the time of its ACK, and the socket's smoothed value if known."""
    times, rtts, numbers = _measured(direction)
    smoothed = np.array([round(sample.rtt * 1e9) for sample in samples], dtype=np.int64)
    return graph(
        "rtt",
        "Round-trip time",
        RTT_AT_RECEIVER * direction.at_receiver + RTT_CAPTION,
        RTT,
        Layer("rtt", "dots", times, rtts, fields={"record": numbers}),
        Layer("smoothed", "stairs", _at(samples, direction), smoothed),
    )


def draw_rtt_distribution(direction: CaptureDirection) -> Graph:
    """Return the cumulative distribution: y is the share of round trips that were at most x."""
    _, rtts, _ = _measured(direction)
    shares = np.linspace(0, 1, min(STEPS, len(rtts)) + 1) if len(rtts) else np.zeros(0)
    at = np.quantile(rtts, shares, method="inverted_cdf") if len(rtts) else shares
    layer = Layer("share", "stairs", at, shares)
    words = "Read upwards: at half height stands the median. A steep part is a time that many had."
    layers = (layer,) if len(layer) else ()
    share = Axis("share", "", zero=True)
    return Graph(
        "rtt_distribution",
        "Round-trip times, distribution",
        RTT_AT_RECEIVER * direction.at_receiver + words,
        RTT,
        share,
        layers,
    )


def _measured(direction: CaptureDirection) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    some = direction.answers.rtt >= 0
    return direction.answers.time[some], direction.answers.rtt[some], direction.answers.number[some]


IN_FLIGHT_CAPTION = (
    "Bytes in flight are sent but neither acknowledged nor reported by SACK. If they stay below"
    " both windows, the application had no data to send. The congestion window is counted in"
    " segments of the largest size that was seen."
)

IN_FLIGHT_AT_RECEIVER = (
    "This capture was taken at the receiver: what is still on its way there is not among these"
    " bytes. "
)


def draw_in_flight(direction: CaptureDirection, samples: Sequence[SocketSample] = ()) -> Graph:
    """Draw bytes in flight, which segments raise and ACKs lower, and windows as stairs.

    `samples` are of the sending socket. Without packets of the other direction no arrival is
    known, so the graph is empty.
    """
    caption = IN_FLIGHT_AT_RECEIVER * direction.at_receiver + IN_FLIGHT_CAPTION
    time, in_flight, number = _flight(direction)
    segment = int((direction.sent.high - direction.sent.low).max(initial=0))
    at = _at(samples, direction)
    windows = np.array([sample.cwnd for sample in samples], dtype=np.float64)
    has_threshold = np.array([sample.ssthresh is not None for sample in samples], dtype=np.bool_)
    thresholds = np.array([sample.ssthresh or 0 for sample in samples], dtype=np.float64)
    return graph(
        "in_flight",
        "Bytes in flight and windows",
        caption,
        BYTES,
        Layer("rwnd", "stairs", direction.answers.time, direction.answers.window),
        Layer("in_flight", "stairs", time, in_flight, fields={"record": number}),
        Layer("ssthresh", "stairs", at[has_threshold], thresholds[has_threshold] * segment),
        Layer("cwnd", "stairs", at, windows * segment),
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


STEVENS_CAPTION = (
    "A point is one segment at its first byte. The line steps back at each retransmission."
)


def draw_stevens(direction: CaptureDirection) -> Graph:
    """Return one line through all segments in the order sent, and marks on retransmissions."""
    again = [layer for layer in by_kind(direction.sent, "dots") if layer.look != "data"]
    sent = direction.sent
    order = Layer("order", "line", sent.time, sent.low, fields={"record": sent.number})
    return graph("stevens", "Stevens graph", STEVENS_CAPTION, SEQUENCE, order, *again, height=340)


SIZES_CAPTION = (
    "Full segments lie on one line; small ones below it end a burst, or are what the application"
    " sent by itself."
)


def draw_segment_sizes(direction: CaptureDirection) -> Graph:
    """Return a dot a segment, and the average so far. SYN and FIN count as one byte."""
    sizes = direction.sent.high - direction.sent.low
    average = np.cumsum(sizes) / np.arange(1, len(sizes) + 1)
    return graph(
        "segment_sizes",
        "Segment sizes",
        SIZES_CAPTION,
        Axis("payload", "B", zero=True),
        Layer("size", "dots", direction.sent.time, sizes, fields={"record": direction.sent.number}),
        Layer("average", "line", direction.sent.time, average),
    )
