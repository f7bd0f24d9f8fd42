"""What is said of a connection: the figures of each direction that carried data, as the capture's
place allows.

A capture at the sender sees what was sent again. One at the receiver sees gaps that were filled,
which may have been lost or overtaken on the way: there nothing is called a retransmission, and
an ACK follows its data at once, so that the time between them is no round trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from analysis.flows.columns import RETRANSMISSIONS

Row = Mapping[str, Any]
Place = Literal["sender", "receiver", "middle", "unknown"]

CALLED = {
    "fast": "after duplicate ACKs",
    "sack": "by SACK",
    "rto": "by the timer",
    "tlp": "as tail loss probe",
    "spurious": "needless",
    "other": "without a sign",
}
"""The kinds of retransmissions in a student's words."""
LIMITS = {"receiver": "receive window", "network": "network", "application": "application"}


@dataclass(frozen=True)
class Side:
    """What one end of a connection sent. `place` is where the capture is, seen from this
    direction.
    """

    source: str
    target: str
    place: Place
    row: Row
    ending: str

    def __getitem__(self, name: str) -> Any:
        """The column `name` of this direction."""
        return self.row[f"{name}_{self.ending}"]

    def back(self, name: str) -> Any:
        """The column `name` of the other direction."""
        return self.row[f"{name}_{self.ending[::-1]}"]

    @property
    def answered(self) -> bool:
        """Whether the capture has packets of the other direction."""
        return bool(self.back("total_packets"))

    @property
    def carried(self) -> int:
        """Bytes of payload, each once."""
        return int(self["unique_bytes_sent"])

    @property
    def kinds(self) -> dict[str, int]:
        """Packets sent again by kind, without those kinds that there are none of."""
        found = {kind: int(self[f"retransmissions_{kind}"]) for kind in RETRANSMISSIONS}
        return {kind: number for kind, number in found.items() if number}

    @property
    def sees_sending(self) -> bool:
        """Whether what is sent again passes the capture; at the receiver and behind a loss it does
        not.
        """
        return self.place in ("sender", "unknown")

    @property
    def limits(self) -> dict[str, int]:
        """Nanoseconds for which each of LIMITS limited the sender, the longest first."""
        found = {state: int(self[f"limited_{state}"] or 0) for state in LIMITS}
        return dict(
            sorted(
                ((state, time) for state, time in found.items() if time), key=lambda one: -one[1]
            )
        )


@dataclass(frozen=True)
class ConnectionFacts:
    """One connection: its row and the directions, that with more payload first."""

    number: int
    row: Row
    sides: tuple[Side, Side]

    @property
    def duration(self) -> int:
        return int(self.row["duration"])

    @property
    def carried(self) -> int:
        """Bytes of both directions."""
        return sum(side.carried for side in self.sides)

    @property
    def shown(self) -> tuple[Side, ...]:
        """The directions that carried data."""
        return tuple(side for side in self.sides if side["actual_data_pkts"])

    @property
    def vantage(self) -> str:
        """Where the capture was taken and how that is known, as a sentence."""
        where = self.row["vantage"]
        if where == "middle":
            return "Captured in the middle of the path (by the handshake)."
        if where not in ("a", "b"):
            return "Where it was captured is not known (no handshake)."
        end = _end(self.row, where)
        main = self.sides[0]
        role = "sender" if main.source == end else "receiver"
        return f"Captured at {end}, the {role} (by the {self.row['vantage_source']})."

    @property
    def ended(self) -> str:
        """How it ended, in words; of one that never began why."""
        if unopened := self._unopened():
            return unopened
        said = {"yes": "opened and closed in the capture", "reset": "ended by a reset"}
        if self.row["complete"] in said:
            return said[self.row["complete"]]
        missing = [] if self.row["syns_a2b"] and self.row["syns_b2a"] else ["opening"]
        missing += [] if self.row["fins_a2b"] and self.row["fins_b2a"] else ["close"]
        return f"without its {' and '.join(missing)}" if missing else "not complete"

    def _unopened(self) -> str:
        """That a SYN had no answer, or a reset for one; empty where something else came of it."""
        asked, answered = int(self.row["syns_a2b"]), int(self.row["total_packets_b2a"])
        if (
            not asked
            or self.row["total_packets_a2b"] > asked
            or answered > self.row["resets_sent_b2a"]
        ):
            return ""
        times = "once" if asked == 1 else f"{asked} times"
        return (
            f"refused by a reset, {times}"
            if answered
            else f"its SYN was sent {times} and not answered"
        )


def connection(row: Row) -> ConnectionFacts:
    """The facts of one row of `flows.read(...).connections`."""
    one, two = _side(row, "a", "b"), _side(row, "b", "a")
    sides = (one, two) if one.carried >= two.carried else (two, one)
    return ConnectionFacts(int(row["connection"]), row, sides)


def _side(row: Row, source: str, target: str) -> Side:
    places: dict[str, Place] = {source: "sender", target: "receiver", "middle": "middle"}
    return Side(
        _end(row, source),
        _end(row, target),
        places.get(row["vantage"], "unknown"),
        row,
        f"{source}2{target}",
    )


def _end(row: Row, side: str) -> str:
    host = row[f"host_{side}"]
    return f"[{host}]:{row[f'port_{side}']}" if ":" in host else f"{host}:{row[f'port_{side}']}"
