"""The figures of each direction that carried data, as the capture's place allows.

A capture at the sender sees the retransmissions. One at the receiver sees gaps that were filled, by
segments that may have been lost or overtaken on the way: none of them is called a retransmission.
An ACK follows its data at once there, so that the time between them is no round trip.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from analysis.analyze import short_numbers
from analysis.analyze.policing import Segments, evidence, unread
from analysis.flows.columns import RETRANSMISSIONS
from analysis.flows.reader import IcmpError

Row = Mapping[str, Any]
Place = Literal["sender", "receiver", "middle", "unknown"]

CALLED = {
    "fast": "after duplicate ACKs",
    "sack": "by SACK",
    "rto": "by the timer",
    "tlp": "as tail loss probe",
    "spurious": "needless",
    "other": "without a sign",
    "fastopen": "as the SYN's data were refused",
}
"""The kinds of retransmissions in a student's words."""
_MANY = 20
"""A direction with less than this part of the other's bytes has requests only."""
LIMITS = {"receiver": "receive window", "network": "network", "application": "application"}


@dataclass(frozen=True)
class DirectionFacts:
    """Data that one end of a connection sent.

    `place` is where the capture is, seen from this direction.
    """

    source: str
    target: str
    place: Place
    row: Row
    ending: str

    def __getitem__(self, name: str) -> Any:
        """Return the column `name` of this direction."""
        return self.row[f"{name}_{self.ending}"]

    def back(self, name: str) -> Any:
        """Return the column `name` of the other direction."""
        return self.row[f"{name}_{self.ending[::-1]}"]

    @property
    def answered(self) -> bool:
        """True if the capture has packets of the other direction."""
        return bool(self.back("total_packets"))

    @property
    def carried(self) -> int:
        """Bytes of payload, each once."""
        return int(self["unique_bytes_sent"])

    @property
    def is_request(self) -> bool:
        """True if it asks for the data of the other direction: no limit of it matters."""
        return self.carried * _MANY < int(self.back("unique_bytes_sent"))

    @property
    def kinds(self) -> dict[str, int]:
        """Retransmitted packets by kind, without the kinds of which there are none."""
        counts = {kind: int(self[f"retransmissions_{kind}"]) for kind in RETRANSMISSIONS}
        return {kind: number for kind, number in counts.items() if number}

    @property
    def sees_sending(self) -> bool:
        """True if retransmissions pass the capture.

        At the receiver and behind a loss they do not.
        """
        return self.place in ("sender", "unknown")

    @property
    def limits(self) -> dict[str, int]:
        """Nanoseconds for which each of LIMITS limited the sender, the longest first."""
        times = {state: int(self[f"limited_{state}"] or 0) for state in LIMITS}
        return dict(
            sorted(
                ((state, time) for state, time in times.items() if time), key=lambda item: -item[1]
            )
        )


@dataclass(frozen=True)
class ConnectionFacts:
    """One connection: its row and the directions, that with more payload first."""

    number: int
    row: Row
    directions: tuple[DirectionFacts, DirectionFacts]
    segments: Segments = unread
    errors: Sequence[IcmpError] = ()
    """Errors of ICMP that quote it."""

    @cached_property
    def policing(self) -> float | None:
        """Evidence for a policer, proved from 1 on; None if the segments cannot be read."""
        found = self.segments(self.number, self.directions[0].ending == "a2b")
        return None if found is None else evidence(found)

    @property
    def duration(self) -> int:
        return int(self.row["duration"])

    @property
    def carried(self) -> int:
        """Bytes of both directions."""
        return sum(direction.carried for direction in self.directions)

    @property
    def shown(self) -> tuple[DirectionFacts, ...]:
        """The directions that carried data."""
        return tuple(direction for direction in self.directions if direction["actual_data_pkts"])

    @property
    def vantage(self) -> str:
        """Place of the capture with the evidence, as a sentence."""
        vantage = self.row["vantage"]
        if vantage == "middle":
            return "Captured in the middle of the path (by the handshake)."
        if vantage not in ("a", "b"):
            return "The place of the capture is not known (no handshake)."
        end = _end(self.row, vantage)
        main = self.directions[0]
        role = "sender" if main.source == end else "receiver"
        return f"Captured at {end}, the {role} (by the {self.row['vantage_source']})."

    @property
    def opened(self) -> str:
        """Opener, time and number of SYNs; empty if the capture lacks them."""
        syns, answers = int(self.row["syns_a2b"]), int(self.row["syns_b2a"])
        if not syns or not answers:
            return ""
        if all(self.row[f"syns_{way}"] > self.row[f"syn_acks_{way}"] for way in ("a2b", "b2a")):
            return "Opened by both ends at once: their SYNs crossed."
        took, again = self.row["connect_time"], []
        again += [f"its SYN was sent {syns} times"] if syns > 1 else []
        again += [f"the answer was sent {answers} times"] if answers > 1 else []
        within = "" if took is None else f" in {short_numbers.seconds(took)}"
        return "; ".join([f"Opened by {_end(self.row, 'a')}{within}", *again]) + "."

    @property
    def silence(self) -> str:
        """Packets of a connection without data, as a sentence."""
        kept = [
            f"{short_numbers.counted(direction['keepalives'], 'keep-alive')} of {direction.source}"
            for direction in self.directions
            if direction["keepalives"]
        ]
        return f"No data was captured{', but ' if kept else ''}{' and '.join(kept)}."

    @property
    def ended(self) -> str:
        """End of the connection in words; without a beginning, the reason."""
        if unopened := self._unopened():
            return unopened
        words = {"yes": "opened and closed in the capture", "reset": "ended by a reset"}
        if self.row["complete"] in words:
            return words[self.row["complete"]]
        missing = [] if self.row["syns_a2b"] and self.row["syns_b2a"] else ["opening"]
        missing += [] if self.row["fins_a2b"] and self.row["fins_b2a"] else ["close"]
        return f"without its {' and '.join(missing)}" if missing else "not complete"

    def _unopened(self) -> str:
        """The answer to a SYN without a connection: none, or a reset; empty for a connection."""
        syns, answered = int(self.row["syns_a2b"]), int(self.row["total_packets_b2a"])
        if (
            not syns
            or self.row["total_packets_a2b"] > syns
            or answered > self.row["resets_sent_b2a"]
        ):
            return ""
        times = "once" if syns == 1 else f"{syns} times"
        return (
            f"refused by a reset, {times}"
            if answered
            else f"its SYN was sent {times} and not answered"
        )


def connection(
    row: Row, segments: Segments = unread, errors: Sequence[IcmpError] = ()
) -> ConnectionFacts:
    """Return the facts of a row of `flows.read(...).connection_table`, and its errors of ICMP."""
    a_to_b, b_to_a = _direction(row, "a", "b"), _direction(row, "b", "a")
    directions = (a_to_b, b_to_a) if a_to_b.carried >= b_to_a.carried else (b_to_a, a_to_b)
    return ConnectionFacts(int(row["connection"]), row, directions, segments, errors)


def _direction(row: Row, source: str, target: str) -> DirectionFacts:
    places: dict[str, Place] = {source: "sender", target: "receiver", "middle": "middle"}
    return DirectionFacts(
        _end(row, source),
        _end(row, target),
        places.get(row["vantage"], "unknown"),
        row,
        f"{source}2{target}",
    )


def _end(row: Row, end: str) -> str:
    return short_numbers.end(row[f"host_{end}"], row[f"port_{end}"])
