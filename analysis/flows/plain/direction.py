"""What is remembered of one direction of a connection.

Counters have tcptrace's names if tcptrace has them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.flows.columns import KINDS
from analysis.flows.plain.losses import LossRecovery
from analysis.flows.plain.rtt_samples import Histogram, RttSamples
from analysis.flows.plain.scoreboard import Scoreboard, Worth
from analysis.flows.plain.sequence_ranges import SequenceRanges
from analysis.flows.plain.window_offer import WindowOffer

_SMALLEST_MSS = 536
"""What every host takes (RFC 9293, section 3.7.1)."""
_OPTIONS = 40
"""The most bytes that options take of a segment."""
_STAMPS = 12
"""What timestamps take with their padding (RFC 7323, appendix A)."""
_TURN = 1 << 32
_HALF = 1 << 31


class RareCounters:
    """What a plain connection without faults does not need."""

    def __init__(self, compatible: bool) -> None:
        self.urgent_packets = self.urgent_bytes = 0
        self.probe_packets = self.probe_bytes = 0
        self.out_of_order = self.repeated_packets = self.repeated_bytes = 0
        self.hardware_duplicates = 0
        self.sack_packets = self.sacks_sent = self.dsacks = self.most_blocks = 0
        self.zero_windows = self.zero_window_time = 0
        self.zero_window_since: int | None = None
        self.ect0 = self.ect1 = self.ce = self.ece = self.cwr = 0
        self.retransmission_times = RttSamples(compatible)
        self.last_times = RttSamples(compatible)
        self.most_again = self.duplicate_acks = self.triple_duplicates = 0
        self.after_loss = self.ambiguous = 0
        self.kinds, self.kind_bytes = [0] * len(KINDS), [0] * len(KINDS)
        self.losses = LossRecovery()


class RoundTrips:
    """RTT samples: tcptrace's, those of full-sized segments, and ours."""

    def __init__(self, compatible: bool) -> None:
        self.all, self.full, self.full_size = RttSamples(compatible), RttSamples(compatible), 0
        self.ours, self.histogram, self.timestamps = RttSamples(), Histogram(), Histogram()


NOTHING, RECEIVER, NETWORK, IDLE, APPLICATION = range(5)
"""What limits a sender (docs/analysis.md): nothing more to come, the receiver's window, the
network, or the application, that left nothing or something in flight."""


@dataclass(slots=True)
class WindowUsage:
    """Bytes in flight over time, and what limited the sender meanwhile."""

    since: int
    began: int | None = None
    flight: int = 0
    most: int = 0
    weighted: int = 0
    state: int = 0
    """One of these constants; `limited` has the time in each."""
    limited: list[int] = field(default_factory=lambda: [0, 0, 0, 0, 0])

    def advance(self, now: int) -> None:
        passed = now - self.since
        if passed > 0:
            self.weighted += self.flight * passed
            self.limited[self.state] += passed
            self.since = now


@dataclass(slots=True)
class SenderState:
    compatible: bool
    usage: WindowUsage

    origin: int = 0
    """The number before the first byte, and whether anything is known of this direction."""
    has_begun: bool = False
    reference: int = 0
    """The highest number sent or acknowledged: what numbers on the wire are unwrapped near to."""
    next: int = 0
    """The end of all that was sent (SYN and FIN count)."""
    data_end: int = 0
    acknowledged: int = 0
    acknowledged_time: int = 0
    data_acknowledged_time: int = 0
    last_received: int = 0
    duplicates: int = 0
    board: Scoreboard = field(default_factory=Scoreboard)
    sacked: SequenceRanges = field(default_factory=SequenceRanges)
    smoothed: int | None = None
    """The smoothed RTT of RFC 6298 in whole nanoseconds."""
    timestamps: list[tuple[int, int]] = field(default_factory=list)
    """Values that wait for their first echo, and when they were sent."""
    short: bool = False

    syn_number: int = 0
    """As on the wire, for tcptrace's rules on new connections."""
    fin_end: int | None = None
    latest_end: int = 0
    window_end: int = 0
    last_ack: int | None = None
    """The last ACK this direction carried, relative to the peer's numbers."""
    offer: WindowOffer = field(default_factory=WindowOffer)
    """What the peer allows this direction to send."""
    last_window: int = 0
    advertises_zero: bool = False

    packets: int = 0
    acks: int = 0
    pure_acks: int = 0
    resets: int = 0
    syns: int = 0
    fins: int = 0
    mss: int = 0
    scale: int = 0
    scaled: bool = False
    scales: bool = False
    """Whether `scale` is for the windows after the SYNs.

    A SYN-ACK asks for it only if the SYN did (RFC 7323, section 2.2), though the capture may lack
    that.
    """
    timestamped: bool = False
    sack_permitted: bool = False
    data_acked: bool = False
    window_restarted: bool = False
    last_marks: list[int] = field(default_factory=list)
    """Sequence number and IP identification of the last packets, in one number."""
    unique_bytes: int = 0
    data_packets: int = 0
    data_bytes: int = 0
    pushed: int = 0
    largest: int = 0
    smallest: int = 0
    cut: int = 0
    """The largest payload without PSH: there the sender itself cut its stream."""
    window_max: int = 0
    window_min: int = 0
    window_sum: int = 0
    window_count: int = 0
    owin_max: int = 0
    owin_min: int = 0
    owin_sum: int = 0
    owin_count: int = 0
    owin_weighted: int = 0
    owin_last: int = 0
    owin_since: int = 0
    initial_bytes: int = 0
    initial_packets: int = 0
    truncated_bytes: int = 0
    truncated_packets: int = 0
    first_data: int | None = None
    last_data: int = 0
    last_time: int | None = None
    longest_pause: int = 0
    cumulative: int = 0
    last_sample: int = 0
    handshake_sample: int = 0
    some_rtts: RoundTrips | None = None
    some_rare: RareCounters | None = None

    def relative(self, number: int) -> int:
        """A number on the wire, made relative and of 64 bit: the one nearest to the newest."""
        near = self.origin + self.reference
        return self.reference + (number - near + _HALF) % _TURN - _HALF

    def begin(self, origin: int) -> None:
        """Fixes the origin at the first number that is seen."""
        self.has_begun, self.origin = True, origin % _TURN
        self.reference, self.next, self.data_end = 0, 0, 1

    @property
    def rare(self) -> RareCounters:
        if self.some_rare is None:
            self.some_rare = RareCounters(self.compatible)
        return self.some_rare

    @property
    def rtts(self) -> RoundTrips:
        if self.some_rtts is None:
            self.some_rtts = RoundTrips(self.compatible)
        return self.some_rtts

    def smooth(self, time: int) -> None:
        """Takes a sample of the RTT; the shift rounds down."""
        self.smoothed = (
            time if self.smoothed is None else self.smoothed + (time - self.smoothed >> 3)
        )

    def in_flight(self) -> int:
        """Payload sent and neither acknowledged nor SACKed."""
        acknowledged = self.acknowledged
        flight = self.data_end - (acknowledged if acknowledged > 1 else 1) - self.sacked.total
        return flight if flight > 0 else 0

    def repairs(self) -> bool:
        """Whether losses are being repaired."""
        return self.some_rare is not None and self.acknowledged < self.some_rare.losses.recover

    def is_short(self, payload: int, is_pushed: bool, peer: SenderState) -> bool:
        """Whether the sender had no more than this payload: it is not full.

        A full one has what both SYNs allow, less options, or as much as this sender sends without
        PSH. Of a larger one, that the sender's card is to cut, the rest counts.
        """
        agreed = min(self.mss or peer.mss, peer.mss or self.mss) or _SMALLEST_MSS
        if payload > agreed:
            stamps = _STAMPS if self.timestamped else 0
            is_known = self.mss > 0 or peer.mss > 0
            return is_known and is_pushed and payload % max(agreed - stamps, 1) != 0
        least = max(agreed - _OPTIONS, 0)
        return payload < (min(least, self.cut) if self.cut else least)

    def segment_size(self, peer: SenderState) -> int:
        """The largest payload, at most what the peer's SYN allows."""
        return min(self.largest, peer.mss) if peer.mss else self.largest

    # What the scoreboard tells.

    def resent(self, time: int, again: int) -> None:
        rare = self.rare
        rare.most_again = max(rare.most_again, again)
        rare.retransmission_times.add(time)

    def exactly(self, time: int, size: int, worth: Worth) -> None:
        if worth == "sample":
            self.last_sample = time
            self._sample(time, size)
            return
        self.last_sample, rare = 0, self.rare
        if worth == "after loss":
            rare.after_loss += 1
        else:
            rare.ambiguous += 1
            rare.last_times.add(time)

    def _sample(self, time: int, size: int) -> None:
        rtts = self.rtts
        rtts.all.add(time)
        # tcptrace computes 2^32 for the size of a segment of one, such as a SYN.
        size = _TURN if self.compatible and size == 1 else size
        if size > rtts.full_size:
            rtts.full_size, rtts.full = size, RttSamples(self.compatible)
        if size == rtts.full_size:
            rtts.full.add(time)

    def cumulatively(self) -> None:
        self.cumulative += 1

    def once_more(self, times: int) -> None:
        self.rare.duplicate_acks += 1
        self.rare.triple_duplicates += times == 4
