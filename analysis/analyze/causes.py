"""Causes of slowness with their remedies, and the quantities that a verdict's rules compare."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from analysis import fmt
from analysis.analyze.facts import ConnectionFacts, DirectionFacts


class Cause(StrEnum):
    """Causes of slowness; the values are the words of `--json`."""

    UNANSWERED = "no answer"
    REFUSED = "refused"
    LOST_SYN = "lost SYN"
    BLACK_HOLE = "MTU black hole"
    SILENT = "silent peer"
    RESET = "reset"
    WINDOW = "receive window"
    UNSCALED = "window without scale"
    CLOSED = "zero window"
    LOSS = "random loss"
    POLICER = "policer"
    TIMEOUT = "time-outs"
    BLOAT = "bufferbloat"
    BRIEF = "brief"
    LINK = "link rate"
    START = "slow start"
    MARKS = "congestion marks"
    REORDERING = "reordering"
    DELAYED_ACK = "delayed ACKs"
    SERVER = "server"
    CLIENT = "client"
    PAUSES = "sender pauses"
    UNKNOWN = "cannot tell"


MOST = 0.35
"""A cause of less than this share of the time is not what makes a connection slow."""
REMEDIES = {
    Cause.UNANSWERED: "check the firewall's rules, and the server's address",
    Cause.REFUSED: "start the server, or use its port",
    Cause.LOST_SYN: "look for losses on the path, or raise the server's backlog",
    Cause.BLACK_HOLE: "lower the MTU, clamp the MSS, or set net.ipv4.tcp_mtu_probing=1",
    Cause.SILENT: "check that the host there runs and is reached (ping), and firewalls between",
    Cause.RESET: "see why the program there ended, or left data unread; a reset that a capture"
    " there lacks comes from a firewall between",
    Cause.WINDOW: "enlarge the receive buffer (net.ipv4.tcp_rmem, SO_RCVBUF)",
    Cause.UNSCALED: "enable window scaling at both ends",
    Cause.CLOSED: "run strace -f -r -p PID there; long steps show what it does between its reads",
    Cause.LOSS: "look for errors on the path, or use BBR, which slows down less",
    Cause.POLICER: "pace the sender, or raise the policer's burst size",
    Cause.TIMEOUT: "look for losses on the path; SACK and RACK-TLP avoid time-outs",
    Cause.BLOAT: "use fq_codel or cake at the slowest link",
    Cause.START: "reuse connections for more data",
    Cause.MARKS: "use a faster link",
    Cause.REORDERING: "send each flow along one path",
    Cause.DELAYED_ACK: "set TCP_NODELAY, or write each message at once",
    Cause.SERVER: "run strace -f -r -p PID there; long steps show what delays an answer",
    Cause.CLIENT: "run strace -f -r -p PID there; long steps show what delays the next request",
    Cause.PAUSES: "run strace -f -r -p PID there; long steps show what delays a write",
}
"""Remedies by cause, to follow *Try:*; the other causes have none."""
_BEGINNINGS = {
    Cause.UNKNOWN: "Cannot tell: ",
    Cause.BRIEF: "No fault found: ",
    Cause.LINK: "No fault found: ",
    Cause.RESET: "Broken off: ",
    Cause.SILENT: "Broken off: ",
}


@dataclass(frozen=True)
class SlownessVerdict:
    """A cause with its evidence; `share` is of the time that `whole` names."""

    cause: Cause
    because: str
    share: float | None = None
    whole: str = "busy time"
    packets: tuple[int, int] = (0, 0)
    confidence: str = "high"

    @property
    def sentence(self) -> str:
        """The line for the terminal."""
        return f"{self.reason} {self.advice}".rstrip()

    @property
    def remedy(self) -> str:
        """The remedy of the cause; empty without one."""
        return REMEDIES.get(self.cause, "")

    @property
    def advice(self) -> str:
        """The remedy as a sentence; empty without one."""
        return f"Try: {self.remedy}." if self.remedy else ""

    @property
    def reason(self) -> str:
        """The cause and its evidence as a sentence."""
        evidence = "; ".join(self._evidence)
        text = _BEGINNINGS.get(self.cause, "Slow because: ") + self.because
        return text + (f" ({evidence})." if evidence else ".")

    @property
    def _evidence(self) -> list[str]:
        share = "" if self.share is None else f"{fmt.share(self.share, 1)} of {self.whole}"
        first, last = self.packets
        several = f"packets {first:,} to {last:,}" if last > first else f"packet {first:,}"
        doubt = "" if self.confidence == "high" else f"{self.confidence} confidence"
        return [part for part in (share, several if first else "", doubt) if part]

    @property
    def data(self) -> dict[str, object]:
        """Members for --json."""
        return {
            "cause": str(self.cause),
            "sentence": self.sentence,
            "share": self.share,
            "share_of": self.whole,
            "packets": list(self.packets) if self.packets[0] else None,
            "confidence": self.confidence,
            "remedy": self.remedy or None,
        }


_QUEUE = 5 * 10**6
"""A shorter queue says little: timestamps count milliseconds, and ACKs are delayed."""
_OFTEN = 50
"""Segments for each loss, below which losses are frequent."""
_BURST = 5
"""Segments for each loss event that only a full queue or a policer loses."""
_FREQUENT = 5
"""Loss events, above which they are no single outage."""
_TRIPS = {"a2b": ("outer", "inner"), "b2a": ("inner", "outer")}
"""Round trips of the handshake from the middle to the receiver and to the sender."""
_DISTURBING = 0.6
"""A sender that queues does so within this part of its longest queue before a loss."""
_SLOW = 0.4
"""A window that its reader empties carries more than this part of its size in a round trip."""


_FIRST_WINDOW = 10
"""Segments that a sender may send without an ACK (RFC 6928)."""
_FREE = 4
"""Segments, more than which a reader that is slow leaves no room for."""
_STANDING = 10**6
"""A queue without losses that is shorter half of the time fills only at times."""


@dataclass(frozen=True)
class Signs:
    """Quantities of a connection that rules compare; times in nanoseconds.

    `main` is the direction with more payload.
    """

    facts: ConnectionFacts
    main: DirectionFacts

    @property
    def is_far(self) -> bool:
        """True if the way to the sender is a large part of the round trip."""
        return self.main.place in ("receiver", "middle")

    @property
    def trip(self) -> int:
        """The shortest round trip that is known; 0 if none is."""
        row = self.facts.row
        whole = (row["handshake_outer"] or 0) + (row["handshake_inner"] or 0)
        measured = 0 if self.is_far else self.main["rtt_min"] or 0
        return min(filter(None, (whole, measured)), default=0)

    @property
    def time(self) -> int:
        """Busy time, and time in which an end had to answer or the sender paused."""
        return max(self.busy + self.server + self.client + self.pauses, 1)

    @property
    def busy(self) -> int:
        return int(self.main["busy"]) - self._unproved

    @property
    def server(self) -> int:
        """Time that the main sender took for its answers."""
        return int(self.main["answer_time"])

    @property
    def client(self) -> int:
        """Time that the other end took until it sent again."""
        return int(self.main.back("answer_time"))

    @property
    def pauses(self) -> int:
        """Idle time of the sender within its data."""
        held = int(self.main["delayed_ack_time"])
        idle = int(self.main["limited_application"]) - held
        within = round(1e9 * float(self.main["data_xmit_time"]))
        return max(min(idle + self._unproved, within) - self.server - self.client, 0)

    @property
    def lacking(self) -> float:
        """Share of the acknowledged bytes that the capture does not have."""
        acknowledged = int(self.main["bytes_acknowledged"])
        return max(acknowledged - self.main.carried, 0) / max(acknowledged, 1)

    @property
    def lacks_acks(self) -> bool:
        """True if more was sent than the windows of the captured packets can allow."""
        windows = int(self.main.back("max_win_adv")) * int(self.main.back("total_packets"))
        return self.main.place != "unknown" and self.main.carried > windows

    @property
    def is_small(self) -> bool:
        """True if the first congestion window holds all data."""
        return self.main.carried <= _FIRST_WINDOW * self._segment

    @property
    def _segment(self) -> int:
        return min(int(self.main["mss"]), 1460)  # network cards join segments

    @property
    def marked(self) -> int:
        """Congestion marks, as they pass or as ACKs report them."""
        reported = max(int(self.main.back("ece_packets")), int(self.main.back("marks_reported")))
        return int(self.main["ce_packets"]) or reported

    @property
    def closed(self) -> int:
        return min(int(self.main.back("zero_window_time")), self.windowed)

    @property
    def windowed(self) -> int:
        return int(self.main["limited_receiver"])

    @property
    def allowed(self) -> float:
        """Bit/s that the largest window allows in the shortest round trip; 0 if unknown."""
        return 8e9 * int(self.main.back("max_win_adv")) / self.trip if self.trip else 0.0

    @property
    def reads_slowly(self) -> bool:
        """True if a window limits the sender to far less than its largest size would."""
        is_full = self.closed or self.main.back("min_win_adv") < _FREE * self._segment
        reached = 8e9 * self.main.carried / max(self.windowed + self.congested + self.timeouts, 1)
        return bool(is_full and reached < _SLOW * self.allowed)

    @property
    def congested(self) -> int:
        """Time that the network limited, without waits for timers."""
        return max(int(self.main["limited_network"]) - self.timeouts - self._unproved, 0)

    @property
    def timeouts(self) -> int:
        """Time of waits for the retransmission timer; without losses there are none."""
        events = self.main["loss_events"]
        # Without SACK a repair each round trip looks like waits in the middle.
        are_acks = self._waits <= self._for_acks or self._is_blind
        if self.is_far and (not events or (events >= _FREQUENT and are_acks)):
            return 0
        return self._waits

    @property
    def _is_blind(self) -> bool:
        return self.main.place == "middle" and not self.has_sack

    @property
    def _waits(self) -> int:
        return min(int(self.main["timeout_time"]), int(self.main["limited_network"]))

    @property
    def _for_acks(self) -> int:
        """Time that ACKs from behind the middle take at most, which the middle sees as waits."""
        if self.main.place != "middle":
            return 0
        to_receiver, to_sender = (
            int(self.facts.row[f"handshake_{way}"] or 0) for way in _TRIPS[self.main.ending]
        )
        return (int(self.main["busy"]) - self._waits) * to_receiver // max(to_sender, 1)

    @property
    def _unproved(self) -> int:
        """Pauses behind a full segment, far from the sender: without a loss its program paused."""
        is_lossless = self.is_far and not self.main["loss_events"]
        return max(self._waits - self._for_acks, 0) if is_lossless else 0

    @property
    def needless(self) -> int:
        """Retransmissions of what had arrived, by the sender's signs or the receiver's reports."""
        return max(int(self.main["retransmissions_spurious"]), int(self.main.back("dsacks")))

    @property
    def lost(self) -> int:
        """Segments that were repaired, as far as the capture shows."""
        return self.repairs + int(self.main["losses_repaired"])

    @property
    def repairs(self) -> int:
        """Retransmissions that are not known to be needless."""
        needless = ("retransmissions_spurious", "retransmissions_fastopen", "repairs_held")
        return int(self.main["retransmissions"]) - sum(int(self.main[name]) for name in needless)

    def queueing(self, percent: int) -> int:
        """Return how much longer than the shortest so many percent of the round trips are.

        In the middle the queue is before or behind the capture.
        """
        before = (self.main[f"queueing_p{percent}"] or 0) if self.is_far else 0
        measures = not self.is_far or self.main.place == "middle" or not before
        if not measures or self.main["rtt_min"] is None:
            return int(before)
        return max(int(self.main[f"rtt_p{percent}"]) - int(self.main["rtt_min"]), int(before))

    def packets(self, name: str) -> tuple[int, int]:
        """Return the first and last packet of a limit or of other evidence."""
        return int(self.main[f"{name}_first"]), int(self.main[f"{name}_last"])

    @property
    def has_queue(self) -> bool:
        """True if packets wait in a queue, if only before a loss."""
        # In the middle a repair that is under way makes this delay too long, but not before a
        # burst. A queue that loses often is in many round trips.
        is_known = self.main.place != "middle" or self.lost > _BURST * self.main["loss_events"]
        before = self._before_losses if is_known and not self._loses_often else 0
        return max(self.queueing(95), before) >= self._least_queue

    @property
    def _before_losses(self) -> int:
        return int(self.main["loss_delay"] or 0)

    @property
    def _least_queue(self) -> int:
        return max(_QUEUE, self.trip // 8)

    @property
    def fills_link(self) -> bool:
        """True if the queue loses packets, or stands."""
        is_filled = self.main["loss_events"] or self.queueing(50) >= _STANDING
        return bool(self.has_queue and is_filled)

    @property
    def _loses_often(self) -> bool:
        return bool(_OFTEN * self.main["loss_events"] >= self.main["actual_data_pkts"])

    @property
    def is_queued(self) -> bool:
        """True if packets waited before losses, or most of the time."""
        return self._before_losses >= _QUEUE or self.queueing(50) >= self._least_queue

    @property
    def shows_queue(self) -> bool:
        """True if the delay before losses is one, although without SACK it is measured late."""
        least = _QUEUE if self.queueing(50) >= _STANDING else 2 * _QUEUE
        return self.has_queue and self._before_losses >= least

    @property
    def hides_queue(self) -> bool:
        """True if the delay before losses is unknown for want of SACK, and may be a queue's."""
        often_waits = self.has_queue and self.queueing(50) >= _STANDING
        in_bursts = self.is_direct and self.lost > 2 * self.main["loss_events"]
        waited = in_bursts and 2 * self._before_losses >= _QUEUE
        return (often_waits or waited) and not (self.has_sack or self._loses_often)

    @property
    def has_sack(self) -> bool:
        """True if both SYNs permit SACK."""
        return bool(self.main["req_sack"] == self.main.back("req_sack") == "Y")

    @property
    def is_direct(self) -> bool:
        """True if packets hardly ever wait."""
        return self.queueing(95) < _QUEUE

    @property
    def loses_at_random(self) -> bool:
        """True if the delay before losses is not that of a full queue."""
        delay, most = self.main["loss_delay"], _DISTURBING * self.queueing(95)
        if self._loses_often and self.queueing(50) < _QUEUE:
            return True  # a queue that is full so often is never empty
        if not self.has_sack and self.shows_queue:
            return False
        if self.has_queue and self.main["loss_events"] < 2 and self.queueing(50) > most:
            return False  # one loss in a queue that stands all the time proves little
        return not self.has_queue or (delay is not None and delay < most)
