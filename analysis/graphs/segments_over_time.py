"""The time-sequence graph: every segment at its bytes, between the ACK line and the window."""

from __future__ import annotations

from analysis.graphs.capture import CaptureDirection, SackBlocks, SentSegments
from analysis.graphs.layers import SEQUENCE, Graph, Layer, Shape, graph
from analysis.graphs.mark_rows import rows_by_look, taken

CAPTION = (
    "Steeper is faster; flat is waiting. Each stroke is one segment at the bytes that it carries. "
    "What lies below the ACK line has arrived."
)


def draw(direction: CaptureDirection) -> Graph:
    """Window and ACK lines, SACK blocks, data, and a layer per kind of retransmission."""
    answers, numbers = direction.answers, {"record": direction.answers.number}
    return graph(
        "time_sequence",
        "Time and sequence",
        CAPTION,
        SEQUENCE,
        Layer("window", "stairs", answers.time, answers.edge, fields=numbers),
        Layer("ack", "stairs", answers.time, answers.highest, fields=numbers),
        *(_reported(direction.blocks, duplicate) for duplicate in (False, True)),
        *by_kind(direction.sent),
        height=440,
    )


def by_kind(sent: SentSegments, shape: Shape = "bars") -> list[Layer]:
    """The segments as one layer a kind, those that were sent once first.

    `dots` stand at the first byte.
    """
    return [_of(taken(sent, rows), name, shape) for name, rows in rows_by_look(sent.kind)]


def _of(sent: SentSegments, name: str, shape: Shape) -> Layer:
    top = sent.high if shape == "bars" else None
    return Layer(name, shape, sent.time, sent.low, top, fields={"record": sent.number})


def _reported(blocks: SackBlocks, duplicate: bool) -> Layer:
    some = taken(blocks, blocks.duplicate == duplicate)
    look = "dsack" if duplicate else "sack"
    return Layer(look, "bars", some.time, some.left, some.right, fields={"record": some.number})
