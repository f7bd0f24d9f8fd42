"""Reason why a connection is slow, from its row of the connections' table.

Each rule is a function of `Signs` that returns a `SlownessVerdict` or None. The rules of `OPENING`
look at connections that never got going or died, and the first that fits decides. Of the others,
that with the greatest share of the time decides. All work at any place of the capture: the engine
moves what it sees to the sender by the round trip of the handshake (core/src/sender_view.rs).
"""

from __future__ import annotations

from analysis import fmt
from analysis.analyze.causes import MOST, Cause, Signs, SlownessVerdict
from analysis.analyze.facts import ConnectionFacts, DirectionFacts

_SHORT = 0.25
"""The share that is enough for slow start, whose gaps between rounds are no limit's."""
_BLOATED = 100 * 10**6
_POLICED = 1.75
"""Lost packets for each event: random losses come alone."""
_TIMER = 200 * 10**6
"""Senders take no shorter retransmission timer (TCP_RTO_MIN of Linux)."""
_OUTAGES = 3
"""Loss events, below which a short outage explains them too."""
_FEWEST_MARKS = 3


def timeouts(signs: Signs) -> SlownessVerdict | None:
    time = signs.timeouts
    if time < MOST * signs.time:
        return None
    why = f"the sender waited {fmt.seconds(time)} for its retransmission timer"
    packets = signs.packets("loss" if signs.main["loss_first"] else "limited_network")
    return SlownessVerdict(Cause.TIMEOUT, why, time / signs.time, packets=packets)


def losses(signs: Signs) -> SlownessVerdict | None:
    share = signs.congested / signs.time
    is_seen = signs.main.place != "unknown" or signs.repairs > signs.main["losses_repaired"]
    is_fit = signs.lost and is_seen and signs.loses_at_random and not _is_reordering(signs)
    if share < MOST or not signs.main["loss_events"] or not is_fit:
        return None
    if _is_outage(signs) or _fills_queue(signs):
        return None
    return _lossy(signs, share)


def _lossy(signs: Signs, share: float) -> SlownessVerdict:
    """Name the losses a policer's, or random."""
    lost = fmt.counted(signs.lost, "segment")
    part = fmt.share(signs.lost, int(signs.main["actual_data_pkts"]))
    packets = signs.packets("loss")
    if signs.hides_queue and (signs.facts.policing or 0.0) < 1:
        why = f"without SACK the {lost} lost ({part}) do not show whether a queue was full"
        return SlownessVerdict(Cause.UNKNOWN, why, share, packets=packets)
    if not _is_policed(signs):
        why = f"the network lost {lost} ({part}) without a queue before, and the sender slows down"
        return SlownessVerdict(Cause.LOSS, why, share, packets=packets)
    bursts = fmt.counted(int(signs.main["loss_events"]), "burst")
    why = f"a policer drops without a queue: {lost} ({part}) in {bursts}"
    return SlownessVerdict(Cause.POLICER, why, share, packets=packets, confidence="medium")


def _is_outage(signs: Signs) -> bool:
    """Return whether the sender is slow because of few time-outs, and after them."""
    few = int(signs.main["loss_events"]) < _OUTAGES
    return few and signs.timeouts >= MOST * signs.time


def _is_policed(signs: Signs) -> bool:
    """Return whether a token bucket explains the losses; without packets, whether bursts do.

    Without SACK the sender repeats what arrived too, and bursts say more.
    """
    events, evidence = int(signs.main["loss_events"]), signs.facts.policing
    if events < _OUTAGES or (signs.is_queued and not signs.has_sack):
        return False
    in_bursts = signs.is_direct and signs.lost > _POLICED * events
    if evidence is None:
        return in_bursts
    return evidence >= 1 or (in_bursts and not signs.has_sack)


def _fills_queue(signs: Signs) -> bool:
    """Return whether a bucket explains losses behind a delay: it is a short queue."""
    return signs.is_queued and not signs.has_sack and (signs.facts.policing or 0.0) >= 1


def _is_reordering(signs: Signs) -> bool:
    """Return whether overtaken packets explain what looks like losses.

    Where data arrives, originals that overtook each other prove it. A sender shows it by episodes
    in which every retransmission was needless. After a time-out one repair is needed and those
    behind it are not (go-back-N), so they prove little.
    """
    overtaken, events = int(signs.main["reordered"]), int(signs.main["loss_events"])
    if overtaken > int(signs.main["retransmissions"]) + int(signs.main["losses_repaired"]):
        return True
    by_timer = signs.timeouts > max(signs.congested // 10, _TIMER)
    is_needless = signs.needless >= 3 or (signs.needless and not signs.lost)
    return bool(is_needless and 2 * signs.lost < events and not by_timer)


def reordering(signs: Signs) -> SlownessVerdict | None:
    share = signs.congested / signs.time
    overtaken, needless = int(signs.main["reordered"]), signs.needless
    if share < MOST or not _is_reordering(signs) or max(overtaken, needless) < _OUTAGES:
        return None
    proof = f"{fmt.counted(overtaken, 'packet')} came late, overtaken by others"
    if not overtaken:
        proof = f"{fmt.counted(needless, 'retransmission')} repaired no loss"
    why = f"the path reorders packets, which the sender takes for losses: {proof}"
    return SlownessVerdict(Cause.REORDERING, why, share, packets=signs.packets("loss"))


def marks(signs: Signs) -> SlownessVerdict | None:
    share, marked = signs.congested / signs.time, signs.marked
    if share < MOST or marked < _FEWEST_MARKS or signs.main["loss_events"] or _is_bloated(signs):
        return None
    number = fmt.counted(marked, "mark")
    why = f"a queue marks packets (ECN) before it is full, and the sender slows down: {number}"
    return SlownessVerdict(Cause.MARKS, why, share, packets=signs.packets("limited_network"))


def queue(signs: Signs) -> SlownessVerdict | None:
    share, delay = signs.congested / signs.time, fmt.milliseconds(signs.queueing(50))
    is_other = losses(signs) or _is_reordering(signs) or _is_outage(signs)
    if share < MOST or is_other or not (signs.fills_link or _fills_queue(signs)):
        return None
    packets = signs.packets("limited_network")
    if _is_bloated(signs):
        trip = fmt.milliseconds(signs.trip)
        why = f"a queue adds {delay} to the round trip of {trip}"
        return SlownessVerdict(Cause.BLOAT, why, share, packets=packets)
    if signs.is_small:
        return None
    reached = fmt.rate(signs.main["rate"])
    why = f"the link's rate is reached, {reached} on average, with a queue of {delay}"
    return SlownessVerdict(Cause.LINK, why, share, packets=packets)


def _is_bloated(signs: Signs) -> bool:
    return signs.queueing(50) >= max(_BLOATED, signs.trip)


def start(signs: Signs) -> SlownessVerdict | None:
    share = signs.congested / signs.time
    if share < _SHORT or signs.main["loss_events"] or signs.fills_link or signs.is_small:
        return None
    size = fmt.size(signs.main.carried)
    why = f"{size} end while the congestion window still grows, or the sender paces itself"
    packets = signs.packets("limited_network")
    return SlownessVerdict(Cause.START, why, share, packets=packets, confidence="low")


_LACKING = 0.05
"""Share of acknowledged bytes that a capture may lack; what it lost looks like idle time."""
_SILENCE = 3 * 10**9
"""A hole that is not filled for so long stays open."""
_UNANSWERED = 3
"""Repeats without an answer, below which a capture may have ended too early."""
_SCALING = "req_1323_ws/ts"
_STEADY = 0.8
"""A window whose mean is below this share of its largest size changes."""
_BRIEF = 10 * 10**6
"""A connection that is over sooner is not slow."""
_LEAST_SEGMENT = 536
"""Payload that every path carries (RFC 9293, section 3.7.1)."""


def verdict(facts: ConnectionFacts) -> SlownessVerdict:
    """Return why a connection is slow, or why that cannot be told."""
    signs = Signs(facts, facts.directions[0])
    for rule in OPENING:
        if found := rule(signs):
            return found
    if not signs.main.answered or signs.lacking > _LACKING or signs.lacks_acks:
        return _unknown(signs)
    rules = _ANYWHERE if signs.main.place == "unknown" else RULES
    found_of = [found for rule in rules if (found := rule(signs))]
    best = max(found_of, key=lambda found: found.share or 0.0, default=_unknown(signs))
    if best.cause != Cause.UNKNOWN and facts.duration < _BRIEF:
        why = f"the connection took {fmt.seconds(facts.duration)} in all"
        best = SlownessVerdict(Cause.BRIEF, why)
    return (reset(signs) if best.cause in _FAULTLESS else None) or best


def _unknown(signs: Signs) -> SlownessVerdict:
    main = signs.main
    if not signs.main["actual_data_pkts"]:
        why = "no data was captured"
    elif not main.answered:
        why = "only one direction was captured"
    elif signs.lacking > _LACKING:
        why = f"the capture lacks {fmt.share(signs.lacking, 1)} of the acknowledged bytes"
    elif signs.lacks_acks:
        why = "the capture lacks ACKs: more was sent than those it has can allow"
    elif main.place == "unknown":
        why = "without the handshake the place of the capture is not known"
    elif main["actual_data_pkts"] < 10 and signs.facts.duration < 10 * signs.trip:
        why = "the connection is too short to have a limit"
    elif signs.is_small:
        why = f"{fmt.size(main.carried)} fit the first congestion window"
    else:
        why = "no cause has a third of the time"
    return SlownessVerdict(Cause.UNKNOWN, why)


def unanswered(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    if row["total_packets_b2a"] or not row["syns_a2b"] or row["actual_data_pkts_a2b"]:
        return None
    times = int(row["syns_a2b"])
    why = f"no answer came to {times} SYNs in {fmt.seconds(signs.facts.duration)}"
    return SlownessVerdict(Cause.UNANSWERED, why if times > 1 else "no answer came to its only SYN")


def refused(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    is_reset = row["syns_a2b"] and row["resets_sent_b2a"] and not row["syns_b2a"]
    if not is_reset or row["actual_data_pkts_a2b"]:
        return None
    why = f"the server refused the connection by a reset from port {row['port_b']}"
    return SlownessVerdict(Cause.REFUSED, why)


def lost_syn(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    waited = (row["connect_time"] or 0) - signs.trip
    share = waited / max(signs.facts.duration, 1)
    if row["syns_a2b"] + row["syns_b2a"] < 3 or share < MOST:
        return None
    late = fmt.seconds(waited)
    why = f"a SYN or its answer was lost: the connection opened {late} late"
    return SlownessVerdict(Cause.LOST_SYN, why, share, "all time")


def black_hole(signs: Signs) -> SlownessVerdict | None:
    main = signs.main
    again, arrived, size = (int(main[n]) for n in ("max_#_retrans", "bytes_acknowledged", "mss"))
    told = next((error for error in signs.facts.errors if error["mtu"]), None)
    if arrived >= main.carried or arrived >= (2 * size if told else size):
        return None
    is_seen = again >= 3 and main["retransmissions_rto"] >= 3 and size >= _LEAST_SEGMENT
    is_hole = signs.is_far and main.back("sacks_sent") and signs.facts.duration > _SILENCE
    if not is_seen and not is_hole:
        return None
    proof = "a hole before these stays open"
    if is_seen:
        proof = f"one of {fmt.size(size)} was sent {again} times more"
    why = f"full segments never arrive, smaller ones do: {proof}"
    if told:
        why += f"; {told['reporter']} reports an MTU of {told['mtu']:,}"
    packets, confidence = signs.packets("loss"), "high" if told else "medium"
    return SlownessVerdict(Cause.BLACK_HOLE, why, packets=packets, confidence=confidence)


def silent(signs: Signs) -> SlownessVerdict | None:
    """Judge an end that answered no repeats of the last data, or of keep-alives."""
    for way in signs.facts.directions:
        repeats, silence = _unanswered_repeats(way), int(way.back("silence") or 0)
        if repeats >= _UNANSWERED and silence > _SILENCE:
            times = fmt.counted(repeats, "repeat")
            why = f"{way.target} answered none of {times} in {fmt.seconds(silence)}"
            return SlownessVerdict(Cause.SILENT, why, packets=(int(way["loss_last"]),) * 2)
    return None


def _unanswered_repeats(way: DirectionFacts) -> int:
    if way["bytes_acknowledged"] < way.carried:
        return int(way["unanswered_repeats"])
    return int(way["keepalives"]) if way["resets_sent"] else 0  # its system gave up


def reset(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    resetting = [way for way in signs.facts.directions if way["resets_sent"] and not way["fins"]]
    has_more = any(way["total_packets"] > way["resets_sent"] for way in signs.facts.directions)
    if row["complete"] != "reset" or len(resetting) != 1 or not has_more:
        return None
    resets, carried = resetting[0], signs.main.carried
    after = f"after {fmt.size(carried)}" if carried else "before any data"
    end = f" and the close by {resets.target}" if resets.back("fins") else ", without a close"
    lasted = fmt.seconds(signs.facts.duration)
    why = f"{resets.source} reset the connection of {lasted} {after}{end}"
    return SlownessVerdict(Cause.RESET, why)


def window(signs: Signs) -> SlownessVerdict | None:
    time, main = signs.windowed - signs.closed, signs.main
    if time < MOST * signs.time or signs.reads_slowly:
        return None
    largest, mean = int(main.back("max_win_adv")), int(main.back("avg_win_adv"))
    window = mean if mean < _STEADY * largest else largest  # it grows, or only a SYN offers more
    if main.carried <= window:
        return None
    trip = fmt.milliseconds(signs.trip)
    allowed = fmt.rate(8e9 * window / signs.trip) if signs.trip else "no more"
    why = f"the receiver's {window / 1024:.3g} KiB window at {trip} allows {allowed}"
    cause = Cause.WINDOW
    if _is_unscaled(signs):
        cause, why = Cause.UNSCALED, f"{why}, for windows are not scaled"
    packets = signs.packets("limited_receiver")
    return SlownessVerdict(cause, why, time / signs.time, packets=packets)


def _is_unscaled(signs: Signs) -> bool:
    main = signs.main
    is_known = main["options_known"] and main.back("options_known")
    is_scaled = all(ask.startswith("Y") for ask in (main[_SCALING], main.back(_SCALING)))
    return bool(is_known and not is_scaled)


def closed(signs: Signs) -> SlownessVerdict | None:
    time = signs.windowed if signs.reads_slowly else signs.closed
    if time < MOST * signs.time:
        return None
    largest, mean = (int(signs.main.back(f"{name}_win_adv")) / 1024 for name in ("max", "avg"))
    how = f"of {largest:.3g} KiB of window {mean:.3g} are free on average"
    if signs.closed:
        how = f"its window was closed for {fmt.seconds(signs.closed)}"
    why = f"the program at {signs.main.target} reads too slowly: {how}"
    packets = signs.packets("limited_receiver")
    return SlownessVerdict(Cause.CLOSED, why, time / signs.time, packets=packets)


def delayed(signs: Signs) -> SlownessVerdict | None:
    waits = max((signs.main, signs.facts.directions[1]), key=lambda way: way["delayed_ack_time"])
    time, number = int(waits["delayed_ack_time"]), int(waits["delayed_ack_waits"])
    if number < 2 or time < MOST * signs.time:
        return None
    each = fmt.milliseconds(time // number)
    why = f"small writes wait for delayed ACKs: {number:,} times, {each} each (Nagle's algorithm)"
    packets = int(waits["delayed_ack_first"]), int(waits["delayed_ack_last"])
    share = min(time / signs.time, 1.0)
    return SlownessVerdict(Cause.DELAYED_ACK, why, share, "all time", packets)


def answering(signs: Signs) -> SlownessVerdict | None:
    way, other = signs.main, signs.facts.directions[1]
    found = [(signs.server, Cause.SERVER, way), (signs.client, Cause.CLIENT, other)]
    time, cause, who = max(found, key=lambda each: each[0])
    if time < max(MOST * signs.time, signs.trip):
        return None
    number = int(who["answers"])
    if number <= who["keepalives"]:  # their byte answers no data
        return None
    median, slow = (who[f"answer_p{percent}"] for percent in (50, 95))
    name = {Cause.SERVER: "the sender of the data", Cause.CLIENT: "the other end"}[cause]
    each, slow = fmt.seconds(median), fmt.seconds(slow)
    took = f"{each} (95 %: {slow}) for each of {number:,} turns"
    if number == 1:
        took = f"{each} for its only turn"
    elif 2 * median * number < time:
        took = f"{fmt.seconds(time)} for {number:,} turns, most for a few (95 %: {slow})"
    why = f"{name} ({who.source}) took {took}"
    slowest = int(who["answer_slowest"])
    return SlownessVerdict(cause, why, time / signs.time, "all time", (slowest, slowest))


def pauses(signs: Signs) -> SlownessVerdict | None:
    least = max(MOST * signs.time, 2 * signs.trip)
    if signs.pauses < least or signs.main["delayed_ack_time"] > signs.pauses:
        return None
    why = f"the sending program ({signs.main.source}) paused between its writes"
    packets, share = signs.packets("limited_idle"), signs.pauses / signs.time
    return SlownessVerdict(Cause.PAUSES, why, share, "all time", packets)


OPENING = (unanswered, refused, lost_syn, black_hole, silent)
_FAULTLESS = (Cause.BRIEF, Cause.LINK, Cause.START, Cause.UNKNOWN)
"""Causes that leave the end of the connection as the first thing to say."""
RULES = (
    closed, window, timeouts, losses, reordering, marks, queue, start, delayed, answering, pauses,
)  # fmt: skip
_ANYWHERE = (closed, timeouts, losses, reordering, marks, delayed)
"""Rules that need no handshake: rounds, round trips and windows do."""
