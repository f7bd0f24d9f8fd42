"""Look and name of everything drawn: one table for page, pictures and xplot's files.

Colours are those of Okabe and Ito; marks differ too, so that a print in grey still tells them
apart. xplot's colours are tcptrace's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analysis.flows import columns
from analysis.rendering.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION

BLACK, SKY = "#000000", "#56B4E9"
Mark = Literal["", "triangle", "circle", "square", "diamond", "cross", "plus", "ring"]


@dataclass(frozen=True)
class SeriesLook:
    """The look of a series of marks; `width` is in px.

    With `every`, each mark is drawn at every zoom; a look that does not `fit` may leave the graph's
    height. `faint` is for areas behind others; `tints` is the scale of cells: "amount" or "ratio".
    """

    words: str
    colour: str
    mark: Mark = ""
    letter: str = ""
    every: bool = False
    fit: bool = True
    width: float = 1.5
    dash: bool = False
    xplot: str = "white"
    faint: bool = False
    tints: str = ""


def _retransmission(words: str, mark: Mark, colour: str = VERMILLION) -> SeriesLook:
    return SeriesLook(words, colour, mark, "R", every=True, width=2, xplot="red")


LOOKS: dict[str, SeriesLook] = {
    "window": SeriesLook(
        "limit of the receive window (may lie above)", ORANGE, fit=False, width=1.2, xplot="yellow"
    ),
    "ack": SeriesLook("acknowledged: all bytes below have arrived", GREEN, xplot="green"),
    "sack": SeriesLook(
        "S: block reported by SACK, arrived above a gap",
        PURPLE,
        letter="S",
        width=2.5,
        xplot="purple",
    ),
    "dsack": SeriesLook(
        "D: reported as arrived twice (DSACK)",
        SKY,
        "diamond",
        "D",
        every=True,
        width=3,
        xplot="blue",
    ),
    "data": SeriesLook("segment sent for the first time", BLUE),
    "fast": _retransmission("R: fast retransmission, after duplicate ACKs", "triangle"),
    "again_sack": _retransmission("R: retransmission because SACK reported a gap", "circle"),
    "rto": _retransmission("R: retransmission after a time-out (RTO)", "square", BLACK),
    "tlp": _retransmission("R: tail loss probe", "diamond"),
    "spurious": _retransmission("R: needless retransmission, as known afterwards", "cross", BLACK),
    "keepalive": SeriesLook("keep-alive probe", GREY, "plus", "K", every=True),
    "probe": SeriesLook("probe of a closed window", GREY, "ring", "P", every=True),
    "syn": _retransmission("R: SYN retransmitted", "plus", BLACK),
    "other": _retransmission("R: retransmission, no sign says why", "ring"),
    "late": SeriesLook(
        "fills a gap: late or retransmitted, seen behind the loss",
        SKY,
        "triangle",
        "L",
        every=True,
        width=2,
    ),
    "copy": SeriesLook(
        "a copy of what had already come by", PURPLE, "cross", "C", every=True, width=2
    ),
    "fin": _retransmission("R: FIN retransmitted", "plus", BLACK),
    "throughput": SeriesLook("throughput: all data sent, retransmissions too", BLUE, xplot="red"),
    "goodput": SeriesLook("goodput: bytes newly acknowledged", GREEN, width=2, xplot="blue"),
    "rtt": SeriesLook("round trip of a segment that was sent once", BLUE, "circle", xplot="red"),
    "smoothed": SeriesLook(
        "the socket's smoothed round trip", VERMILLION, dash=True, xplot="yellow"
    ),
    "share": SeriesLook("share of round trips that were at most this long", BLUE, width=2),
    "in_flight": SeriesLook("bytes in flight: sent, not yet acknowledged", BLUE, xplot="red"),
    "cwnd": SeriesLook("congestion window of the socket", VERMILLION, width=2, xplot="purple"),
    "ssthresh": SeriesLook("slow-start threshold of the socket", GREY, fit=False, dash=True),
    "rwnd": SeriesLook(
        "receive window (may lie above)", ORANGE, fit=False, width=1.2, xplot="yellow"
    ),
    "size": SeriesLook("payload of a segment", BLUE, "circle", xplot="red"),
    "average": SeriesLook("average so far", GREEN, width=2, xplot="blue"),
    "instant": SeriesLook(
        "one segment by the time since the one before", SKY, "circle", xplot="yellow"
    ),
    "order": SeriesLook("first byte of each segment, in the order sent", BLUE, "circle"),
    "ack_trip": SeriesLook("ACK without data", GREEN),
    "lost": SeriesLook(
        "seen by one capture only: lost on the way, or not captured", BLACK, "cross", every=True
    ),
    "waited": SeriesLook("waiting time beyond the quickest packet's", BLUE),
    "queued": SeriesLook("bytes that waited ahead", BLUE),
    "connection": SeriesLook("goodput of a connection", BLUE),
    "jain": SeriesLook("Jain's index: 1 if all are equal, 1/n if one has all", GREEN, width=2),
}


def look_of(look: str | SeriesLook) -> SeriesLook:
    """The look itself, or the one of that name."""
    return LOOKS[look] if isinstance(look, str) else look


_KINDS = {"none": "data", "new": "data", "sack": "again_sack"}
"""The looks of kinds that are called otherwise."""
KINDS: tuple[str, ...] = tuple(_KINDS.get(name, name) for name in columns.KIND)
"""The look of each kind of packets, which analysis/flows/kinds.csv defines."""
RETRANSMITTED = frozenset(columns.KIND[name] for name in (*columns.RETRANSMISSIONS, "syn", "fin"))
"""The kinds that are retransmissions, as seen before the loss."""
SERIES = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
"""Colours of several connections in one graph; they come round again."""
