"""Causes of slowness with their remedies, and the quantities that a verdict's rules compare."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from analysis import fmt
from analysis.analyze.facts import ConnectionFacts, DirectionFacts, Place
from analysis.flows.columns import table_rows


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
    HOST = "losses at the receiver"
    POLICER = "policer"
    TIMEOUT = "time-outs"
    BLOAT = "bufferbloat"
    BRIEF = "brief"
    LINK = "link rate"
    START = "slow start"
    FLIGHT = "data in flight"
    MARKS = "congestion marks"
    REORDERING = "reordering"
    DELAYED_ACK = "delayed ACKs"
    SERVER = "server"
    CLIENT = "client"
    IDLE = "idle"
    PATH = "long path"
    PAUSES = "sender pauses"
    UNKNOWN = "cannot tell"


TABLE = tuple(table_rows(Path(__file__).with_name("causes.csv")))
"""A row for each rule of a verdict: cause, sentence, what its share is of, and what helps.

*Transfer time* is that in which data was sent, awaited or withheld (Features.time).
"""


@dataclass(frozen=True)
class SlownessVerdict:
    """A cause with its evidence; `share` is of the time that `whole` names.

    `doubt` is a fault of the capture on which the cause depends, as a clause.
    """

    cause: Cause
    because: str
    share: float | None
    packets: tuple[int, int]
    whole: str
    confidence: str
    beginning: str
    remedy: str
    doubt: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.reason} {self.advice}".rstrip()

    @property
    def advice(self) -> str:
        return f"Try: {self.remedy}." if self.remedy else ""

    @property
    def reason(self) -> str:
        share = "" if self.share is None else f"{fmt.share(self.share, 1)} of {self.whole}"
        several = fmt.packets(*self.packets) if self.packets[0] else ""
        doubt = "" if self.confidence == "high" else f"{self.confidence} confidence"
        fault = f"but {self.doubt}" if self.doubt else ""
        evidence = "; ".join(filter(None, (share, several, doubt, fault)))
        text = f"{self.beginning}: {self.because}"
        return text + (f" ({evidence})." if evidence else ".")

    @property
    def data(self) -> dict[str, object]:
        return {
            "cause": str(self.cause),
            "sentence": self.sentence,
            "share": self.share,
            "share_of": self.whole,
            "packets": list(self.packets) if self.packets[0] else None,
            "confidence": self.confidence,
            "remedy": self.remedy or None,
        }


QUEUE = 5 * 10**6
"""ns; a shorter queue says little: timestamps count milliseconds, and ACKs are delayed."""
OFTEN = 50  # segments for each loss event, below which losses are frequent
BURST = 5  # segments for each loss event that only a full queue or a policer loses
FREQUENT = 5  # loss events from which on they are no single outage
DISTURBING = 0.6
"""A sender that queues does so within this part of its longest queue before a loss.

A full queue loses at its longest, random losses anywhere: the matrix of tests/tools/slow_causes.py
has no cause wrong at the sender with it."""
SLOW = 0.4
"""A window that its reader empties carries more than this part of its size in a round trip.

Linux announces about half of its buffer (tcp_adv_win_scale 1); the matrix separates both here."""
FIRST_WINDOW = 10  # segments that a sender may send without an ACK (RFC 6928)
FREE = 4  # segments, more than which a reader that is slow leaves no room for
STANDING = 10**6  # ns; a queue without losses that is shorter half of the time fills only at times
JITTER = 50
"""Part of the round trip that a standing queue is longer than: less is jitter of the path."""
SMALL = 536
"""Payload that any path carries (RFC 9293, section 3.7.1): bulk data come in larger segments."""
SPARSE = 10**9
"""ns between messages; programs that keep a connection alive do so once a second at most (the
least of Linux's TCP_KEEPIDLE; BGP's hold time is 3 s or more, RFC 4271, section 4.2)."""
STEADY_TURNS = 3
LONG_TRIP = 200 * 10**6
"""ns: once around the earth, 40,000 km, by light in glass (200,000 km/s), is no longer."""
UNASKED = frozenset({179, 639, 646, 1883, 5222, 5269, 6667, 8883})
"""Ports of protocols in which both ends speak unasked: BGP, MSDP, LDP, MQTT, XMPP, IRC."""
_TRIPS = {"a2b": ("outer", "inner"), "b2a": ("inner", "outer")}
"""Round trips of the handshake from the middle to the receiver and to the sender."""


@dataclass(frozen=True)
class Features:
    """Quantities of a connection that rules compare, of the direction with more payload.

    Times are in ns, sizes in bytes. `silence` is the time after the last data, `trip` the shortest
    known round trip, 0 if unknown; `server` is the time that the called end took for its answers,
    `client` that of the opener before its
    next requests, `first_waits` those of both before the first data of all; `answers` are the turns
    of both. With `is_mutual` both ends speak unasked, with `is_alike` perhaps; `message` is the
    mean payload of a segment, `message_time` the mean time between two. `clock_back` is how far
    time goes backwards in the file, `stall` the longest pause of both ends at most. `waits` is the
    time of waits for timers, `ack_waits` what ACKs from behind a capture in the middle take of it
    at most; `idle` is that without data within `data_time`. `repaired` are losses whose repair was
    seen as it arrived, `repairs` retransmissions not known to be needless. The window is the other
    end's, `flight` the most that the sender had outstanding. `silences` are, for each way, repeats
    without an answer and for how long. `policing` is 1 or more if a token bucket explains the
    losses, None if the segments cannot be read.
    """

    place: Place = "sender"
    duration: int = 0
    silence: int = 0
    trip: int = 0
    carried: int = 0
    segments: int = 0
    segment: int = 1460
    acknowledged: int = 0
    answered: bool = True
    lacks_acks: bool = False
    has_sack: bool = True
    is_unscaled: bool = False
    is_reset: bool = False
    busy_time: int = 0
    server: int = 0
    client: int = 0
    answers: tuple[int, int] = (0, 0)
    client_p50: int = 0
    first_waits: tuple[int, int] = (0, 0)
    is_timed: bool = True
    lost_share: float = 0.0
    clock_back: int = 0
    stall: int = 0
    is_mutual: bool = False
    is_alike: bool = False
    message: int = 1460
    message_time: int = 0
    idle: int = 0
    data_time: int = 0
    delayed: tuple[int, int] = (0, 0)
    delayed_own: int = 0
    limited_network: int = 0
    waits: int = 0
    ack_waits: int = 0
    windowed: int = 0
    closed: int = 0
    window: int = 0
    window_least: int = 0
    window_mean: int = 0
    flight: int = 0
    loss_events: int = 0
    loss_delay: int | None = None
    retransmissions: int = 0
    repairs: int = 0
    repaired: int = 0
    needless: int = 0
    reordered: int = 0
    marked: int = 0
    queue_p50: int = 0
    queue_p95: int = 0
    syns: int = 2
    is_unanswered: bool = False
    is_refused: bool = False
    connect_time: int = 0
    most_repeats: int = 0
    timer_repeats: int = 0
    full_segment: int = 1460
    reports_gaps: bool = False
    smaller_arrived: bool = False
    reported_mtu: int = 0
    silences: tuple[tuple[int, int], ...] = ()
    policing: Callable[[], float | None] = lambda: None

    @property
    def is_far(self) -> bool:
        """True if the way to the sender is a large part of the round trip."""
        return self.place in ("receiver", "middle")

    @property
    def lost(self) -> int:
        """Segments that were repaired, as far as the capture shows."""
        return self.repairs + self.repaired

    @property
    def unproved(self) -> int:
        """Pauses behind a full segment, far from the sender: without a loss its program paused."""
        is_lossless = self.is_far and not self.loss_events
        return max(self.waits - self.ack_waits, 0) if is_lossless else 0

    @property
    def pauses(self) -> int:
        """Idle time of the sender within its data, but for the turns and their round trips."""
        idle = min(self.idle + self.unproved, self.data_time)
        return max(idle - self.server - self.client - self.trip * max(self.answers), 0)

    @cached_property
    def time(self) -> int:
        """Busy time, and time in which an end had to answer or the sender paused.

        These overlap where both ends send; together they take no longer than the data.
        """
        parts = self.busy_time - self.unproved + self.server + self.client + self.pauses
        return max(min(parts, self.duration - self.silence), 1)

    @property
    def is_sparse(self) -> bool:
        """True for small messages with long times between them, as keep-alives of programs."""
        return self.message < SMALL and self.message_time >= SPARSE

    @property
    def unasked(self) -> int:
        """Time in which no answer was due: before requests, and between unasked messages."""
        mutual = self.server if self.is_mutual and self.is_sparse else 0
        return self.client + mutual + (self.pauses if self.is_sparse else 0)

    @property
    def is_steady(self) -> bool:
        """True if the client takes about as long for each of several turns."""
        turns = self.answers[1]
        return turns >= STEADY_TURNS and 2 * self.client_p50 * turns >= self.client

    @property
    def path(self) -> int:
        """Time of the round trips that the handshake and each answer took at least.

        0 if they do not fit into the connection: then some were shorter than any that is known.
        """
        time = self.trip * (1 + self.answers[0])
        return time if time <= self.duration else 0

    @property
    def timeouts(self) -> int:
        """Time of waits for the retransmission timer; without losses there are none."""
        # Without SACK a repair each round trip looks like waits in the middle.
        is_blind = self.place == "middle" and not self.has_sack
        are_acks = self.waits <= self.ack_waits or is_blind
        is_other = not self.loss_events or (self.loss_events >= FREQUENT and are_acks)
        return 0 if self.is_far and is_other else self.waits

    @property
    def open_windowed(self) -> int:
        return self.windowed - self.closed

    @property
    def congested(self) -> int:
        return max(self.limited_network - self.timeouts - self.unproved, 0)

    @property
    def lacking(self) -> float:
        return max(self.acknowledged - self.carried, 0) / max(self.acknowledged, 1)

    @property
    def is_small(self) -> bool:
        return self.carried <= FIRST_WINDOW * self.segment

    @property
    def reads_slowly(self) -> bool:
        """True if a window limits the sender to far less than its largest size would."""
        is_full = self.closed or self.window_least < FREE * self.segment
        reached = self.carried / max(self.windowed + self.congested + self.timeouts, 1)
        return bool(is_full and self.trip and reached < SLOW * self.window / self.trip)

    @property
    def loses_often(self) -> bool:
        return OFTEN * self.loss_events >= self.segments

    @property
    def has_queue(self) -> bool:
        """True if packets wait in a queue, if only before a loss."""
        # In the middle a repair that is under way makes this delay too long, but not before a
        # burst. A queue that loses often is in many round trips.
        is_known = self.place != "middle" or self.lost > BURST * self.loss_events
        before = (self.loss_delay or 0) if is_known and not self.loses_often else 0
        return max(self.queue_p95, before) >= self._least_queue

    @property
    def _least_queue(self) -> int:
        return max(QUEUE, self.trip // 8)

    @property
    def fills_link(self) -> bool:
        stands = self.queue_p50 >= max(STANDING, self.trip // JITTER)
        return self.has_queue and bool(self.loss_events or stands)

    @property
    def is_queued(self) -> bool:
        return (self.loss_delay or 0) >= QUEUE or self.queue_p50 >= self._least_queue

    @property
    def is_direct(self) -> bool:
        return self.queue_p95 < QUEUE

    @property
    def hides_queue(self) -> bool:
        """True if the delay before losses is unknown for want of SACK, and may be a queue's."""
        if self.has_sack or self.loses_often:
            return False
        in_bursts = self.is_direct and self.lost > 2 * self.loss_events
        waited = in_bursts and 2 * (self.loss_delay or 0) >= QUEUE
        return waited or (self.has_queue and self.queue_p50 >= STANDING)

    @property
    def loses_at_random(self) -> bool:
        """True if the delay before losses is not that of a full queue."""
        most = DISTURBING * self.queue_p95
        if self.loses_often and self.queue_p50 < QUEUE:
            return True  # a queue that is full so often is never empty
        # Without SACK the delay is measured late.
        late = QUEUE if self.queue_p50 >= STANDING else 2 * QUEUE
        if not self.has_sack and self.has_queue and (self.loss_delay or 0) >= late:
            return False
        if self.has_queue and self.loss_events < 2 and self.queue_p50 > most:
            return False  # one loss in a queue that stands all the time proves little
        return not self.has_queue or (self.loss_delay is not None and self.loss_delay < most)


def features(facts: ConnectionFacts) -> Features:
    row, ways, file = facts.row, facts.directions, facts.file
    main, other = ways
    sizes = {way[f"{end}_segm_size"] for way in ways for end in ("min", "max")}
    means = [int(way["avg_segm_size"]) for way in ways]
    busy, limited = int(main["busy"]), int(main["limited_network"])
    windowed, waits = int(main["limited_receiver"]), min(int(main["timeout_time"]), limited)
    needless = ("retransmissions_spurious", "retransmissions_fastopen", "repairs_held")
    delayed = max(ways, key=lambda way: int(way["delayed_ack_time"]))
    reported = max(int(main.back("ece_packets")), int(main.back("marks_reported")))
    sent_windows = int(main.back("max_win_adv")) * int(main.back("total_packets"))
    server, client = facts.server, facts.client
    turns = tuple(int(way["answers"]) - int(way["keepalives"]) for way in (server, client))
    packets = int(main["actual_data_pkts"]) + int(other["actual_data_pkts"])
    quiet = min((int(way["silence_after_data"]) for way in facts.shown), default=0)
    is_opened = row["syns_a2b"] and not row["actual_data_pkts_a2b"]
    return Features(
        place=main.place,
        duration=facts.duration,
        silence=quiet,
        trip=_trip(facts),
        carried=main.carried,
        segments=int(main["actual_data_pkts"]),
        segment=min(int(main["mss"]), 1460),  # network cards join segments
        acknowledged=int(main["bytes_acknowledged"]),
        answered=main.answered,
        lacks_acks=main.place != "unknown" and main.carried > sent_windows,
        has_sack=all(way["req_sack"] == "Y" or not way["options_known"] for way in ways),
        is_unscaled=all(way["options_known"] for way in ways)
        and not all(way["req_1323_ws/ts"].startswith("Y") for way in ways),
        is_reset=row["complete"] == "reset"
        and len(resetting(facts)) == 1
        and any(way["total_packets"] > way["resets_sent"] for way in ways),
        busy_time=busy,
        server=int(server["answer_time"]),
        client=int(client["answer_time"]),
        answers=(turns[0], turns[1]),
        client_p50=int(client["answer_p50"] or 0),
        first_waits=(int(server["first_data_wait"] or 0), int(client["first_data_wait"] or 0)),
        is_timed=not file or 2 * file.timeless < file.packets,
        lost_share=file.lost / (file.packets + file.lost) if file else 0.0,
        clock_back=file.clock_back if file else 0,
        stall=round(1e6 * min(float(way["idletime_max"] or 0) for way in ways)),
        is_mutual=len(sizes) == 1 or bool(UNASKED & {row["port_a"], row["port_b"]}),
        is_alike=max(means) < 2 * min(means),
        message=facts.carried // max(packets, 1),
        message_time=(facts.duration - quiet) // max(packets, 1),
        idle=int(main["limited_application"]) - int(main["delayed_ack_time"]),
        data_time=round(1e9 * float(main["data_xmit_time"])),
        delayed=(int(delayed["delayed_ack_time"]), int(delayed["delayed_ack_waits"])),
        delayed_own=int(main["delayed_ack_time"]),
        limited_network=limited,
        waits=waits,
        ack_waits=_ack_waits(facts, busy - waits),
        windowed=windowed,
        closed=min(int(main.back("zero_window_time")), windowed),
        window=int(main.back("max_win_adv")),
        window_least=int(main.back("min_win_adv")),
        window_mean=int(main.back("avg_win_adv")),
        flight=int(main["max_owin"] or 0),
        loss_events=int(main["loss_events"]),
        loss_delay=main["loss_delay"],
        retransmissions=int(main["retransmissions"]),
        repairs=int(main["retransmissions"]) - sum(int(main[name]) for name in needless),
        repaired=int(main["losses_repaired"]),
        needless=max(int(main["retransmissions_spurious"]), int(main.back("dsacks"))),
        reordered=int(main["reordered"]),
        marked=int(main["ce_packets"]) or reported,
        queue_p50=_queueing(main, 50),
        queue_p95=_queueing(main, 95),
        syns=int(row["syns_a2b"] + row["syns_b2a"]),
        is_unanswered=bool(is_opened and not row["total_packets_b2a"]),
        is_refused=bool(is_opened and row["resets_sent_b2a"] and not row["syns_b2a"]),
        connect_time=int(row["connect_time"] or 0),
        most_repeats=int(main["max_#_retrans"]),
        timer_repeats=int(main["retransmissions_rto"]),
        full_segment=int(main["mss"]),
        reports_gaps=main.back("sacks_sent") > main.back("dsacks"),
        smaller_arrived=bool(main["bytes_acknowledged"] or main.back("sacks_sent")),
        reported_mtu=next((error["mtu"] for error in facts.errors if error["mtu"]), 0),
        silences=tuple((repeats(way), silence(facts, way)) for way in ways),
        policing=lambda: facts.policing,
    )


def _trip(facts: ConnectionFacts) -> int:
    """Return the shortest known round trip: of the handshake, or of data and its ACK.

    Whose SYN-ACK is answered is unknown if it was repeated (Karn's algorithm, RFC 6298).
    """
    main, other = facts.directions
    parts = [int(facts.row[f"handshake_{part}"] or 0) for part in ("outer", "inner")]
    trips = [0 if facts.row["syns_b2a"] > 1 else sum(parts)]
    if main.place == "middle" and main["rtt_min"] and other["rtt_min"]:
        trips.append(int(main["rtt_min"]) + int(other["rtt_min"]))
    elif main.place != "middle":
        trips.append(int((other if main.place == "receiver" else main)["rtt_min"] or 0))
    return min(filter(None, trips), default=0)


def silence(facts: ConnectionFacts, way: DirectionFacts) -> int:
    heard = way.back("silence")
    return facts.duration if heard is None else int(heard)


def _ack_waits(facts: ConnectionFacts, rest: int) -> int:
    """Time that ACKs from behind the middle take at most, which the middle sees as waits."""
    main = facts.directions[0]
    if main.place != "middle":
        return 0
    ends = (int(facts.row[f"handshake_{part}"] or 0) for part in _TRIPS[main.ending])
    to_receiver, to_sender = ends
    return rest * to_receiver // max(to_sender, 1)


def _queueing(main: DirectionFacts, percent: int) -> int:
    """Return a percentile of round trips less the shortest, before or behind the capture."""
    is_far = main.place in ("receiver", "middle")
    before = int((main[f"queueing_p{percent}"] or 0) if is_far else 0)
    measures = not is_far or main.place == "middle" or not before
    if not measures or main["rtt_min"] is None:
        return before
    return max(int(main[f"rtt_p{percent}"]) - int(main["rtt_min"]), before)


def resetting(facts: ConnectionFacts) -> list[DirectionFacts]:
    return [way for way in facts.directions if way["resets_sent"] and not way["fins"]]


def repeats(way: DirectionFacts) -> int:
    """Return the repeats of the last data, or keep-alives, that were not answered."""
    if way["bytes_acknowledged"] < way.carried:
        return int(way["unanswered_repeats"])
    return int(way["keepalives"]) if way["resets_sent"] else 0  # its system gave up
