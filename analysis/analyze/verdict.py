"""Reason why a connection is slow, from its row of the connections' table.

causes.csv has a row for each rule. The rules of `OPENING` look at connections that never got going
or died, and the first that fits decides. Of `RULES`, that with the greatest share of the time
decides. All work at any place of the capture: the engine moves what it sees to the sender by the
round trip of the handshake (core/src/sender_view.rs).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import log

from analysis import fmt
from analysis.analyze.causes import (
    FIRST_WINDOW,
    LONG_TRIP,
    TABLE,
    Cause,
    Features,
    SlownessVerdict,
    features,
    repeats,
    resetting,
    silence,
)
from analysis.analyze.facts import ConnectionFacts, DirectionFacts, lost_packets

MOST = 0.35  # A cause of less than this share of the time is not what makes a connection slow
SHORT = 0.25  # the share that is enough for slow start, whose gaps between rounds are no limit's
BLOATED = 100 * 10**6
"""ns that a queue adds half of the time, from which on it is too long: CoDel's interval, within
which a queue that is to absorb bursts empties (RFC 8289, section 4.3)."""
POLICED = 1.75
"""Lost packets for each event: random losses come alone.

At a loss rate p an event of a window of n segments has n p / (1 - (1 - p)^n) losses: 1.7 for 30
segments and 4 %."""
TIMER = 200 * 10**6  # ns; senders take no shorter retransmission timer (TCP_RTO_MIN of Linux)
OUTAGES = 3  # loss events, below which a short outage explains them too
FEWEST_MARKS = 3
LACKING = 0.05
"""Share of acknowledged bytes that a capture may lack; what it lost looks like idle time."""
SILENCE = 3 * 10**9  # ns; a hole that is not filled for so long stays open
LONGEST_TIMER = 120 * 10**9  # ns; no retransmission timer is longer (TCP_RTO_MAX of Linux)
GROWTH = 1.5
"""Factor by which slow start grows in a round trip at least, with delayed ACKs (RFC 5681, 3.1)."""
UNANSWERED = 3  # repeats without an answer, below which a capture may have ended too early
STEADY = 0.8  # A window whose mean is below this share of its largest size changes
BRIEF = 10 * 10**6  # ns; a connection that is over sooner is not slow
LEAST_SEGMENT = 536  # payload that every path carries (RFC 9293, section 3.7.1)


@dataclass(frozen=True)
class CauseRule:
    """A row of causes.csv with its condition, and the share of the time that its cause took.

    Its sentence has names of WORDS in braces, its packets are those of a limit or of other
    evidence (_packets). A rule that works `anywhere` needs no handshake: of those about limits,
    rounds, round trips and windows do.
    """

    cause: Cause
    when: Callable[[Features], bool]
    part: Callable[[Features], float] | None
    anywhere: bool
    row: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.row["rule"]

    def fits(self, f: Features) -> bool:
        return (self.anywhere or f.place != "unknown") and self.when(f)

    def share(self, f: Features) -> float | None:
        return min(self.part(f), 1.0) if self.part else None

    def verdict(self, f: Features, facts: ConnectionFacts) -> SlownessVerdict:
        sentence, place = self.row["sentence"], self.row["packets"]
        names = re.findall(r"{(\w+)}", sentence)
        why = sentence.format(**{name: WORDS[name](f, facts) for name in names})
        packets = _packets(place, f, facts) if place else (0, 0)
        texts = (self.row[name] for name in ("share_of", "confidence", "beginning", "remedy"))
        return SlownessVerdict(self.cause, why, self.share(f), packets, *texts)


def verdict(facts: ConnectionFacts) -> SlownessVerdict:
    """Return why a connection is slow, or why that cannot be told."""
    f = features(facts)
    found = decide(f).verdict(f, facts)
    if found.cause in _CERTAIN:
        return found
    if facts.file and facts.file.lost:
        low = "low" if f.lost_share > LACKING else found.confidence
        doubt = f"the capture lost {lost_packets(facts.file)}"
        return replace(found, doubt=doubt, confidence=low)
    if f.clock_back and found.cause != Cause.UNKNOWN:
        doubt = f"time goes backwards in the file, by up to {fmt.seconds(f.clock_back)}"
        return replace(found, doubt=doubt, confidence="low")
    return found


def decide(f: Features) -> CauseRule:
    if not f.is_timed:
        return _UNKNOWN
    if opening := next((rule for rule in OPENING if rule.when(f)), None):
        return opening
    is_lacking = not f.answered or f.lacking > LACKING or f.lacks_acks
    if is_lacking or _is_stepped(f) or _is_stalled(f):
        return _UNKNOWN
    fitting = [rule for rule in RULES if rule.fits(f)]
    best = max(fitting, key=lambda rule: rule.share(f) or 0.0, default=_UNKNOWN)
    is_whole = best.cause != Cause.UNKNOWN or (f.segments and f.place != "unknown")
    if is_whole and f.duration - f.silence < BRIEF:
        best = _BRIEF
    is_first = best.cause in _OF_PROGRAMS and max(f.first_waits) > f.time
    if not f.is_reset and (is_first or best.cause == Cause.UNKNOWN):
        best = next((rule for rule in _FIRST if rule.when(f)), best)
    return _RESET if f.is_reset and best.cause in _FAULTLESS else best


def why(facts: ConnectionFacts) -> Iterator[str]:
    """Yield the features of a connection, then each rule with its share and whether it fits."""
    f = features(facts)
    chosen = decide(f)
    for each in fields(f):
        value = getattr(f, each.name)
        yield f"{each.name} = {value() if callable(value) else value}"
    for rule in (*OPENING, *RULES, *_FIRST, _RESET, _BRIEF, _UNKNOWN):
        fits = rule.fits(f)
        share = rule.share(f) if fits else None
        mark = "decides" if rule is chosen else "fits" if fits else "does not fit"
        yield f"{rule.name} ({rule.cause}): {mark}" + (f", {share:.0%}" if share else "")


def _packets(name: str, f: Features, facts: ConnectionFacts) -> tuple[int, int]:
    """Return the first and last packet of a limit or of other evidence."""
    main = facts.directions[0]
    if name in ("server", "client"):
        way = facts.server if name == "server" else facts.client
        return (int(way["answer_slowest"]),) * 2
    if name == "silent":
        return (int(facts.directions[_silent_way(f) or 0]["loss_last"]),) * 2
    if name == "timeouts":
        name = "loss" if main["loss_first"] else "limited_network"
    way = main
    if name == "delayed_ack":
        way = max(facts.directions, key=lambda way: int(way["delayed_ack_time"]))
    return int(way[f"{name}_first"]), int(way[f"{name}_last"])


def _is_stepped(f: Features) -> bool:
    return bool(f.clock_back) and f.segments > 1 and f.duration <= 0


def _is_stalled(f: Features) -> bool:
    return f.stall > LONGEST_TIMER and f.congested >= f.stall


def _losing(f: Features) -> bool:
    """Return whether losses, and no full queue, outage or reordering, slow the sender down."""
    is_seen = f.place != "unknown" or f.repairs > f.repaired
    is_lossy = f.lost and is_seen and f.loses_at_random and not _reorders(f)
    is_fit = f.congested >= MOST * f.time and f.loss_events and is_lossy
    return bool(is_fit and not _is_outage(f) and not _fills_short_queue(f))


def _explains(f: Features) -> bool:
    return (f.policing() or 0.0) >= 1


def _hides_queue(f: Features) -> bool:
    return _losing(f) and f.hides_queue and not _explains(f)


def _is_outage(f: Features) -> bool:
    return f.loss_events < OUTAGES and f.timeouts >= MOST * f.time


def _is_policed(f: Features) -> bool:
    """Return whether a bucket explains the losses; without packets or SACK, whether bursts do."""
    if f.loss_events < OUTAGES or (f.is_queued and not f.has_sack):
        return False
    in_bursts = f.is_direct and f.lost > POLICED * f.loss_events
    return _explains(f) or (in_bursts and (f.policing() is None or not f.has_sack))


def _loses_singly(f: Features) -> bool:
    return _losing(f) and not _hides_queue(f) and not _is_policed(f)


def _is_dropped_late(f: Features) -> bool:
    return f.place == "receiver" and f.repairs > f.repaired


def _fills_short_queue(f: Features) -> bool:
    return f.is_queued and not f.has_sack and _explains(f)


def _reorders(f: Features) -> bool:
    """Return whether overtaken packets explain what looks like losses.

    Where data arrives, originals that overtook each other prove it. A sender shows it by episodes
    in which every retransmission was needless. After a time-out one repair is needed and those
    behind it are not (go-back-N), so they prove little.
    """
    if f.reordered > f.retransmissions + f.repaired:
        return True
    if f.place == "receiver" and not f.reordered:
        return False  # needless copies come from time-outs or lost ACKs
    by_timer = f.timeouts > max(f.congested // 10, TIMER)
    is_needless = f.needless >= 3 or (f.needless and not f.lost)
    return bool(is_needless and 2 * f.lost < f.loss_events and not by_timer)


def _is_bloated(f: Features) -> bool:
    return f.queue_p50 >= max(BLOATED, f.trip)


def _queues(f: Features) -> bool:
    is_other = _losing(f) or _reorders(f) or _is_outage(f)
    fills = f.fills_link or _fills_short_queue(f)
    return f.congested >= MOST * f.time and not is_other and fills


def _starts(f: Features) -> bool:
    is_other = f.loss_events or f.fills_link or f.is_small
    return f.congested >= SHORT * f.time and not is_other


def _holds(f: Features) -> bool:
    """Return whether data took more round trips than slow start, and two more, needs for it."""
    rounds = log(max(f.carried / (FIRST_WINDOW * f.segment), 1), GROWTH) + 2
    return bool(f.trip) and f.congested > rounds * f.trip


def _open_window(f: Features) -> int:
    """Return the window that counts: it grows, or only a SYN offers more."""
    return f.window_mean if f.window_mean < STEADY * f.window else f.window


def _is_windowed(f: Features) -> bool:
    is_most = f.open_windowed >= MOST * f.time
    is_seen = f.place != "unknown" or f.trip > 0  # a round trip shows that ACKs come from afar
    return is_most and is_seen and not f.reads_slowly and f.carried > _open_window(f)


def _read_time(f: Features) -> int:
    return f.windowed if f.reads_slowly else f.closed


def _is_black_hole(f: Features) -> bool:
    most = (2 if f.reported_mtu else 1) * f.full_segment
    is_late = f.is_far and f.reports_gaps and f.duration > SILENCE
    has_proof = f.smaller_arrived or f.reported_mtu
    is_stuck = f.acknowledged < min(f.carried, most) and has_proof
    return bool(is_stuck and (_repeats_full(f) or is_late))


def _repeats_full(f: Features) -> bool:
    return f.most_repeats >= 3 and f.timer_repeats >= 3 and f.full_segment >= LEAST_SEGMENT


def _silent_way(f: Features) -> int | None:
    """Return the place of the way whose other end fell silent; None for none."""
    fits = (number >= UNANSWERED and silence > SILENCE for number, silence in f.silences)
    return next((at for at, is_silent in enumerate(fits) if is_silent), None)


def _answers(f: Features, time: int, turns: int) -> bool:
    """Return whether an end took long; a keep-alive's byte answers no data."""
    return time >= max(MOST * f.time, f.trip) and turns > 0


def _is_unclear(f: Features) -> bool:
    return f.is_alike and f.is_sparse and not f.is_mutual and f.server >= MOST * f.time


def _is_idle(f: Features) -> bool:
    """Return whether no answer was due for most of the time, but for a client's steady turns."""
    is_mutual = f.is_mutual and f.is_sparse
    is_most = f.unasked >= max(MOST * f.time, f.trip, 1)
    return is_most and (is_mutual or (f.unasked > f.server and not f.is_steady))


def _marks(f: Features) -> bool:
    is_most = f.congested >= MOST * f.time and f.marked >= FEWEST_MARKS
    return is_most and not f.loss_events and not _is_bloated(f)


def _hole(f: Features, facts: ConnectionFacts) -> str:
    proof = "a hole before these stays open"
    if _repeats_full(f):
        proof = f"one of {fmt.size(f.full_segment)} was sent {f.most_repeats} times more"
    told = next((error for error in facts.errors if error["mtu"]), None)
    return f"{proof}; {told['reporter']} reports an MTU of {told['mtu']:,}" if told else proof


def _silence(f: Features, facts: ConnectionFacts) -> str:
    way = facts.directions[_silent_way(f) or 0]
    times = fmt.counted(repeats(way), "repeat")
    return f"{way.target} answered none of {times} in {fmt.seconds(silence(facts, way))}"


def _broken_off(f: Features, facts: ConnectionFacts) -> str:
    (way,) = resetting(facts)
    after = f"after {fmt.size(f.carried)}" if f.carried else "before any data"
    end = f" and the close by {way.target}" if way.back("fins") else ", without a close"
    return f"{way.source} reset the connection of {fmt.seconds(f.duration)} {after}{end}"


def _allowed(f: Features, facts: ConnectionFacts) -> str:
    window, trip = _open_window(f), fmt.milliseconds(f.trip)
    allowed = fmt.rate(8e9 * window / f.trip) if f.trip else "no more"
    return f"{window / 1024:.3g} KiB window at {trip} allows {allowed}"


def _room(f: Features, facts: ConnectionFacts) -> str:
    if f.closed:
        return f"its window was closed for {fmt.seconds(f.closed)}"
    return f"of {f.window / 1024:.3g} KiB of window {f.window_mean / 1024:.3g} are free on average"


def _reordered(f: Features, facts: ConnectionFacts) -> str:
    if f.reordered:
        return f"{fmt.counted(f.reordered, 'packet')} came late, overtaken by others"
    return f"{fmt.counted(f.needless, 'retransmission')} repaired no loss"


def _turns(facts: ConnectionFacts, way: DirectionFacts, time: int) -> str:
    number, median, slow = (int(way[name]) for name in ("answers", "answer_p50", "answer_p95"))
    each, slowest = fmt.seconds(median), fmt.seconds(slow)
    took = f"{each} (95 %: {slowest}) for each of {number:,} turns"
    if number == 1:
        took = f"{each} for its only turn"
    elif 2 * median * number < time:
        took = f"{fmt.seconds(time)} for {number:,} turns, most for a few (95 %: {slowest})"
    return f"the {facts.role(way)} ({way.source}) took {took}"


def _first(facts: ConnectionFacts, way: DirectionFacts) -> str:
    wait = fmt.seconds(int(way["first_data_wait"]))
    return f"the {facts.role(way)} ({way.source}) sent the first data after {wait}"


def _idle(f: Features, facts: ConnectionFacts) -> str:
    way, each = facts.client, fmt.seconds(f.message_time)
    rest = f"{facts.directions[0].source} wrote {f.message} B each {each}"
    if f.is_mutual and f.is_sparse:
        rest = f"messages of {f.message} B, one in {each}"
    elif f.client:
        longest = fmt.seconds(min(int(way["answer_p99"]), f.client))
        rest = f"the {facts.role(way)} ({way.source}) asked again after {longest}"
    if f.silence > f.unasked:
        rest = f"its last data came {fmt.seconds(f.silence)} before its end"
    idle, whole = fmt.seconds(f.unasked + f.silence), fmt.seconds(f.duration)
    return f"{idle} of {whole} in which no answer was due; {rest}"


def _brief(f: Features, _: ConnectionFacts) -> str:
    took = fmt.seconds(f.duration)
    if f.duration < BRIEF:
        return f"the connection took {took} in all"
    return f"its data took {fmt.seconds(f.duration - f.silence)} of {took}"


def _unknown(f: Features, facts: ConnectionFacts) -> str:
    lacking = fmt.share(f.lacking, 1)
    is_short = f.segments < 10 and f.duration < 10 * f.trip
    reasons = {
        "packets without a time show no cause": not f.is_timed,
        f"time goes backwards in the file, by {fmt.seconds(f.clock_back)}": _is_stepped(f),
        f"data was in flight for {fmt.seconds(f.stall)} without a packet, longer than any timer"
        " of TCP: a clock was set, or a host or the capture slept": _is_stalled(f),
        "no data was captured": not f.segments,
        "only one direction was captured": not f.answered,
        f"the capture lacks {lacking} of the acknowledged bytes": f.lacking > LACKING,
        "the capture lacks ACKs: more was sent than those it has can allow": f.lacks_acks,
        "without the handshake the place of the capture is not known": f.place == "unknown",
        "the connection is too short to have a limit": is_short,
        f"messages of {f.message} B, one in {fmt.seconds(f.message_time)}, may be unasked or late"
        " answers": _is_unclear(f),
        f"{fmt.size(f.carried)} fit the first congestion window": f.is_small,
    }
    usual = "no cause has a third of the time"
    return next((why for why, is_so in reasons.items() if is_so), usual)


WORDS: Mapping[str, Callable[[Features, ConnectionFacts], str]] = {
    "unknown": _unknown,
    "brief": _brief,
    "tries": lambda f, facts: (
        f"{syns} SYNs in {fmt.seconds(f.duration)}"
        if (syns := int(facts.row["syns_a2b"])) > 1
        else "its only SYN"
    ),
    "port": lambda _, facts: str(facts.row["port_b"]),
    "late": lambda f, _: fmt.seconds(f.connect_time - f.trip),
    "hole": _hole,
    "silence": _silence,
    "broken_off": _broken_off,
    "source": lambda _, facts: facts.directions[0].source,
    "target": lambda _, facts: facts.directions[0].target,
    "allowed": _allowed,
    "room": _room,
    "timeouts": lambda f, _: fmt.seconds(f.timeouts),
    "lost": lambda f, _: fmt.counted(f.lost, "segment"),
    "part": lambda f, _: fmt.share(f.lost, f.segments),
    "bursts": lambda f, _: fmt.counted(f.loss_events, "burst"),
    "reordered": _reordered,
    "marks": lambda f, _: fmt.counted(f.marked, "mark"),
    "queue": lambda f, _: fmt.milliseconds(f.queue_p50),
    "trip": lambda f, _: fmt.milliseconds(f.trip),
    "flight": lambda f, _: f"{f.flight / 1024:.3g} KiB",
    "flight_rate": lambda f, _: fmt.rate(8e9 * f.flight / f.trip),
    "rate": lambda _, facts: fmt.rate(facts.directions[0]["rate"]),
    "size": lambda f, _: fmt.size(f.carried),
    "waits": lambda f, _: f"{f.delayed[1]:,} times",
    "wait": lambda f, _: fmt.milliseconds(f.delayed[0] // f.delayed[1]),
    "server": lambda f, facts: _turns(facts, facts.server, f.server),
    "client": lambda f, facts: _turns(facts, facts.client, f.client),
    "first_server": lambda _, facts: _first(facts, facts.server),
    "first_client": lambda _, facts: _first(facts, facts.client),
    "idle": _idle,
    "trips": lambda f, _: fmt.counted(1 + f.answers[0], "round trip"),
}


def _open_late(f: Features) -> float:
    return (f.connect_time - f.trip) / max(f.duration, 1)


def _congested(f: Features) -> float:
    return f.congested / f.time


def _waited(f: Features, end: int) -> float:
    """Return the part of all time that an end waited before the first data; 0 within a trip."""
    wait = f.first_waits[end]
    return wait / f.duration if wait > f.trip and f.duration else 0.0


_Condition = tuple[Callable[[Features], bool], Callable[[Features], float] | None]
_CONDITIONS: Mapping[str, _Condition] = {
    "unanswered": (lambda f: f.is_unanswered, None),
    "refused": (lambda f: f.is_refused, None),
    "lost_syn": (lambda f: f.syns >= 3 and _open_late(f) >= MOST, _open_late),
    "black_hole": (lambda f: _is_black_hole(f) and not f.reported_mtu, None),
    "reported_hole": (_is_black_hole, None),
    "silent": (lambda f: _silent_way(f) is not None, None),
    "closed": (lambda f: _read_time(f) >= MOST * f.time, lambda f: _read_time(f) / f.time),
    "unscaled": (lambda f: _is_windowed(f) and f.is_unscaled, lambda f: f.open_windowed / f.time),
    "window": (lambda f: _is_windowed(f) and not f.is_unscaled, lambda f: f.open_windowed / f.time),
    "timeouts": (lambda f: f.timeouts >= MOST * f.time, lambda f: f.timeouts / f.time),
    "hidden_queue": (_hides_queue, _congested),
    "policer": (lambda f: _losing(f) and not _hides_queue(f) and _is_policed(f), _congested),
    "dropped": (lambda f: _loses_singly(f) and _is_dropped_late(f), _congested),
    "losses": (lambda f: _loses_singly(f) and not _is_dropped_late(f), _congested),
    "reorders": (
        lambda f: (
            f.congested >= MOST * f.time
            and _reorders(f)
            and max(f.reordered, f.needless) >= OUTAGES
        ),
        _congested,
    ),
    "marks": (_marks, _congested),
    "bloat": (lambda f: _queues(f) and _is_bloated(f), _congested),
    "link": (lambda f: _queues(f) and not _is_bloated(f) and not f.is_small, _congested),
    "flight": (lambda f: _starts(f) and _holds(f) and not f.is_far, _congested),
    "hidden_flight": (lambda f: _starts(f) and _holds(f) and f.is_far, _congested),
    "start": (lambda f: _starts(f) and not _holds(f), _congested),
    "delayed": (
        lambda f: f.delayed[1] >= 2 and f.delayed[0] >= MOST * f.time,
        lambda f: f.delayed[0] / f.time,
    ),
    "server": (
        lambda f: (
            f.server >= f.client
            and _answers(f, f.server, f.answers[0])
            and not (_is_idle(f) or _is_unclear(f))
        ),
        lambda f: f.server / f.time,
    ),
    "client": (
        lambda f: f.client > f.server and _answers(f, f.client, f.answers[1]) and not _is_idle(f),
        lambda f: f.client / f.time,
    ),
    "idle": (_is_idle, lambda f: f.unasked / f.time),
    "path": (
        lambda f: f.trip >= LONG_TRIP and f.path >= MOST * f.duration and f.answers[0] > 0,
        lambda f: f.path / max(f.duration, 1),
    ),
    "pauses": (
        lambda f: (
            f.pauses >= max(MOST * f.time, 2 * f.trip)
            and f.delayed_own <= f.pauses
            and not f.is_sparse
        ),
        lambda f: f.pauses / f.time,
    ),
    "first_server": (lambda f: _waited(f, 0) >= MOST, lambda f: _waited(f, 0)),
    "first_client": (lambda f: _waited(f, 1) >= MOST, lambda f: _waited(f, 1)),
    "reset": (lambda f: f.is_reset, None),
    "brief": (lambda f: f.duration - f.silence < BRIEF, None),
    "unknown": (lambda f: True, None),
}
"""When each rule of causes.csv fits, and the share of the time that its cause took, if any."""


def _rules(stage: str) -> tuple[CauseRule, ...]:
    return tuple(
        CauseRule(
            Cause[row["cause"]],
            *_CONDITIONS[row["rule"]],
            stage != "limit" or bool(row["anywhere"]),
            row,
        )
        for row in TABLE
        if row["stage"] == stage
    )


OPENING, RULES, _FIRST = _rules("opening"), _rules("limit"), _rules("first")
_RESET, _BRIEF, _UNKNOWN = _rules("end")
_OF_PROGRAMS = (Cause.SERVER, Cause.CLIENT, Cause.IDLE, Cause.PAUSES)
"""Causes that a longer time before the first data outweighs."""
_CERTAIN = (Cause.REFUSED, Cause.RESET, Cause.WINDOW, Cause.UNSCALED, Cause.CLOSED, Cause.PATH)
"""Causes that packets prove which were captured."""
_FAULTLESS = (Cause.BRIEF, Cause.LINK, Cause.START, Cause.FLIGHT, Cause.UNKNOWN)
"""Causes that leave the end of the connection as the first thing to say."""
