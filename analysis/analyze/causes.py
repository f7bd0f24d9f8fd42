"""Causes of slowness, their remedies, and verdicts in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from analysis.analyze import short_numbers


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
        share = (
            "" if self.share is None else f"{short_numbers.share(self.share, 1)} of {self.whole}"
        )
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
