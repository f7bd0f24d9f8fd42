"""Reason why a connection is slow, from its row of the connections' table.

Each rule is a function of `Signs` that returns a `SlownessVerdict` or None. The rules of `OPENING`
look at connections that never got going, and the first that fits decides. Of the others, that with
the greatest share of the time decides. All work at any place of the capture: the engine moves what
it sees to the sender by the round trip of the handshake (core/src/sender_view.rs).
"""

from __future__ import annotations

from analysis.analyze import short_numbers
from analysis.analyze.facts import ConnectionFacts
from analysis.analyze.verdict_signs import Cause, Signs, SlownessVerdict

_LACKING = 0.05
"""Share of acknowledged bytes that a capture may lack; what it lost looks like idle time."""
_MOST = 0.35
"""A cause of less than this share of the time is not what makes a connection slow."""
_SHORT = 0.25
"""The share that is enough for slow start, whose gaps between rounds are no limit's."""
_SILENCE = 3 * 10**9
"""A hole that is not filled for so long stays open."""
_SCALING = "req_1323_ws/ts"
_BLOATED = 100 * 10**6
_POLICED = 1.75
"""Lost packets for each event: random losses come alone."""
_TIMER = 200 * 10**6
"""Senders take no shorter retransmission timer (TCP_RTO_MIN of Linux)."""
_OUTAGES = 3
"""Loss events, below which a short outage explains them too."""
_FEWEST_MARKS = 3
_BUCKET = 0.3
"""Agreement with a token bucket: that of random losses is below 0.26, of most policers above."""


def verdict(facts: ConnectionFacts) -> SlownessVerdict:
    """Return why a connection is slow, or why that cannot be told."""
    signs = Signs(facts, facts.directions[0])
    for rule in OPENING:
        if found := rule(signs):
            return found
    if not signs.main.answered or signs.lacking > _LACKING:
        return _unknown(signs)
    rules = _ANYWHERE if signs.main.place == "unknown" else RULES
    found_of = [found for rule in rules if (found := rule(signs))]
    best = max(found_of, key=lambda found: found.share or 0.0, default=_unknown(signs))
    return (reset(signs) if best.cause in _FAULTLESS else None) or best


def _unknown(signs: Signs) -> SlownessVerdict:
    main = signs.main
    if not signs.main["actual_data_pkts"]:
        why = "no data was captured"
    elif not main.answered:
        why = "only one direction was captured"
    elif signs.lacking > _LACKING:
        why = f"the capture lacks {short_numbers.share(signs.lacking, 1)} of the acknowledged bytes"
    elif main.place == "unknown":
        why = "without the handshake the place of the capture is not known"
    elif main["actual_data_pkts"] < 10 and signs.facts.duration < 10 * signs.trip:
        why = "the connection is too short to have a limit"
    else:
        why = "no cause has a third of the time"
    return SlownessVerdict(Cause.UNKNOWN, why)


def unanswered(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    if row["total_packets_b2a"] or not row["syns_a2b"] or row["actual_data_pkts_a2b"]:
        return None
    times = short_numbers.counted(int(row["syns_a2b"]), "SYN")
    why = f"no answer came to {times} in {short_numbers.seconds(signs.facts.duration)}"
    return SlownessVerdict(
        Cause.UNANSWERED, why, "check the firewall's rules, and the server's address"
    )


def refused(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    is_reset = row["syns_a2b"] and row["resets_sent_b2a"] and not row["syns_b2a"]
    if not is_reset or row["actual_data_pkts_a2b"]:
        return None
    why = f"the server refused the connection by a reset from port {row['port_b']}"
    return SlownessVerdict(Cause.REFUSED, why, "start the server, or use its port")


def lost_syn(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    waited = (row["connect_time"] or 0) - signs.trip
    share = waited / max(signs.facts.duration, 1)
    if row["syns_a2b"] + row["syns_b2a"] < 3 or share < _MOST:
        return None
    why = (
        f"a SYN or its answer was lost: the connection opened {short_numbers.seconds(waited)} late"
    )
    return SlownessVerdict(
        Cause.LOST_SYN,
        why,
        "look for losses on the path, or raise the server's backlog",
        share,
        "all time",
    )


def black_hole(signs: Signs) -> SlownessVerdict | None:
    main = signs.main
    again, missing = int(main["max_#_retrans"]), main.carried - int(main["bytes_acknowledged"])
    if missing <= 0 or main["bytes_acknowledged"] > 2 * max(main["mss"], 1):
        return None
    is_seen = again >= 3 and main["retransmissions_rto"] >= 3
    is_hole = signs.is_far and main.back("sacks_sent") and signs.facts.duration > _SILENCE
    if not is_seen and not is_hole:
        return None
    proof = f"one was sent {again} times more" if is_seen else "a hole before them stays open"
    why = f"segments of {short_numbers.size(main['mss'])} never arrive, smaller ones do: {proof}"
    remedy, confidence = "lower the MTU, clamp the MSS, or set net.ipv4.tcp_mtu_probing=1", "medium"
    if told := next((error for error in signs.facts.errors if error["mtu"]), None):
        why += f"; {told['reporter']} reports an MTU of {told['mtu']:,}"
        confidence = "high"
    packets = signs.packets("loss")
    return SlownessVerdict(Cause.BLACK_HOLE, why, remedy, packets=packets, confidence=confidence)


def reset(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    resetting = [way for way in signs.facts.directions if way["resets_sent"] and not way["fins"]]
    has_more = any(way["total_packets"] > way["resets_sent"] for way in signs.facts.directions)
    if row["complete"] != "reset" or len(resetting) != 1 or not has_more:
        return None
    carried = short_numbers.size(signs.main.carried)
    why = f"{resetting[0].source} reset the connection after {carried}, without a close"
    return SlownessVerdict(Cause.RESET, why, "look at the program there, or at a firewall between")


def window(signs: Signs) -> SlownessVerdict | None:
    time, main = signs.windowed - signs.closed, signs.main
    if time < _MOST * signs.time or signs.reads_slowly:
        return None
    largest, mean = int(main.back("max_win_adv")), int(main.back("avg_win_adv"))
    window = mean if 2 * mean < largest else largest  # a SYN may offer more than what follows
    trip = short_numbers.milliseconds(signs.trip)
    is_known = main["options_known"] and main.back("options_known")
    is_scaled = all(ask.startswith("Y") for ask in (main[_SCALING], main.back(_SCALING)))
    allowed = short_numbers.rate(8e9 * window / signs.trip) if signs.trip else "no more"
    why = f"the receiver's {window / 1024:.3g} KiB window at {trip} allows {allowed}"
    cause = Cause.WINDOW
    remedy = "enlarge the receive buffer (net.ipv4.tcp_rmem, SO_RCVBUF)"
    if is_known and not is_scaled:
        cause, remedy = Cause.UNSCALED, "enable window scaling at both ends"
        why += ", for windows are not scaled"
    packets = signs.packets("limited_receiver")
    return SlownessVerdict(cause, why, remedy, time / signs.time, packets=packets)


def closed(signs: Signs) -> SlownessVerdict | None:
    time = signs.windowed if signs.reads_slowly else signs.closed
    if time < _MOST * signs.time:
        return None
    closed = short_numbers.seconds(signs.closed)
    why = f"the receiver's program reads too slowly: its window was closed for {closed}"
    if not signs.closed:
        why = "the receiver's program reads too slowly: its window is nearly full"
    packets = signs.packets("limited_receiver")
    return SlownessVerdict(
        Cause.CLOSED, why, "look at the receiving program", time / signs.time, packets=packets
    )


def timeouts(signs: Signs) -> SlownessVerdict | None:
    time = signs.timeouts
    if time < _MOST * signs.time:
        return None
    why = f"the sender waited {short_numbers.seconds(time)} for its retransmission timer"
    remedy = "look for losses on the path; SACK and RACK-TLP avoid time-outs"
    packets = signs.packets("loss" if signs.main["loss_first"] else "limited_network")
    return SlownessVerdict(Cause.TIMEOUT, why, remedy, time / signs.time, packets=packets)


def losses(signs: Signs) -> SlownessVerdict | None:
    share, events = signs.congested / signs.time, int(signs.main["loss_events"])
    is_seen = signs.main.place != "unknown" or signs.repairs > signs.main["losses_repaired"]
    is_fit = signs.lost and is_seen and signs.loses_at_random and not _is_reordering(signs)
    if share < _MOST or not events or not is_fit:
        return None
    if _is_outage(signs) or _fills_queue(signs):
        return None
    lost = short_numbers.counted(signs.lost, "segment")
    part = short_numbers.share(signs.lost, int(signs.main["actual_data_pkts"]))
    packets = signs.packets("loss")
    if _is_policed(signs):
        bursts = short_numbers.counted(events, "burst")
        why = f"a policer drops without a queue: {lost} ({part}) in {bursts}"
        remedy = "pace the sender, or raise the policer's burst size"
        return SlownessVerdict(
            Cause.POLICER, why, remedy, share, packets=packets, confidence="medium"
        )
    why = f"the network lost {lost} ({part}) without a queue before, and the sender slows down"
    remedy = "look for errors on the path, or use BBR, which slows down less"
    return SlownessVerdict(Cause.LOSS, why, remedy, share, packets=packets)


def _is_outage(signs: Signs) -> bool:
    """Return whether the sender is slow because of few time-outs, and after them."""
    few = int(signs.main["loss_events"]) < _OUTAGES
    return few and signs.timeouts >= _MOST * signs.time


def _is_policed(signs: Signs) -> bool:
    """Return whether a token bucket explains the losses; without packets, whether bursts do.

    Without SACK the sender repeats what arrived too, and bursts say more.
    """
    events, agreement = int(signs.main["loss_events"]), signs.facts.policing
    if events < _OUTAGES or (signs.is_late and not signs.has_sack):
        return False
    in_bursts = signs.is_direct and signs.lost > _POLICED * events
    if agreement is None:
        return in_bursts
    return agreement > _BUCKET or (in_bursts and not signs.has_sack)


def _fills_queue(signs: Signs) -> bool:
    """Return whether a bucket explains losses behind a delay: it is a short queue."""
    return signs.is_late and not signs.has_sack and (signs.facts.policing or 0.0) > _BUCKET


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
    if share < _MOST or not _is_reordering(signs):
        return None
    proof = f"{short_numbers.counted(overtaken, 'packet')} came late, overtaken by others"
    if not overtaken:
        proof = f"{short_numbers.counted(needless, 'retransmission')} repaired no loss"
    why = f"the path reorders packets, which the sender takes for losses: {proof}"
    return SlownessVerdict(
        Cause.REORDERING, why, "send each flow along one path", share, packets=signs.packets("loss")
    )


def marks(signs: Signs) -> SlownessVerdict | None:
    share, marked = signs.congested / signs.time, signs.marked
    bloated = signs.queueing(50) >= max(_BLOATED, signs.trip)
    if share < _MOST or marked < _FEWEST_MARKS or signs.main["loss_events"] or bloated:
        return None
    number = short_numbers.counted(marked, "mark")
    why = f"a queue marks packets (ECN) before it is full, and the sender slows down: {number}"
    packets = signs.packets("limited_network")
    return SlownessVerdict(Cause.MARKS, why, "use a faster link", share, packets=packets)


def queue(signs: Signs) -> SlownessVerdict | None:
    share, queued = signs.congested / signs.time, signs.queueing(50)
    is_other = losses(signs) or _is_reordering(signs) or _is_outage(signs)
    if share < _MOST or is_other or not (signs.has_queue or _fills_queue(signs)):
        return None
    packets, delay = signs.packets("limited_network"), short_numbers.milliseconds(queued)
    if queued >= max(_BLOATED, signs.trip):
        trip = short_numbers.milliseconds(signs.trip)
        why = f"a queue adds {delay} to the round trip of {trip}"
        return SlownessVerdict(
            Cause.BLOAT, why, "use fq_codel or cake at the slowest link", share, packets=packets
        )
    reached = short_numbers.rate(signs.main["rate"])
    why = f"the link's rate is reached, {reached} on average, with a queue of {delay}"
    return SlownessVerdict(Cause.LINK, why, "", share, packets=packets)


def start(signs: Signs) -> SlownessVerdict | None:
    share = signs.congested / signs.time
    if share < _SHORT or signs.main["loss_events"] or signs.has_queue:
        return None
    size = short_numbers.size(signs.main.carried)
    why = f"{size} end while the congestion window still grows, or the sender paces itself"
    packets = signs.packets("limited_network")
    return SlownessVerdict(
        Cause.START,
        why,
        "reuse connections for more data",
        share,
        packets=packets,
        confidence="low",
    )


def delayed(signs: Signs) -> SlownessVerdict | None:
    waits = max((signs.main, signs.facts.directions[1]), key=lambda way: way["delayed_ack_time"])
    time, number = int(waits["delayed_ack_time"]), int(waits["delayed_ack_waits"])
    if number < 2 or time < _MOST * signs.time:
        return None
    each = short_numbers.milliseconds(time // number)
    why = f"small writes wait for delayed ACKs: {number:,} times, {each} each (Nagle's algorithm)"
    packets = int(waits["delayed_ack_first"]), int(waits["delayed_ack_last"])
    return SlownessVerdict(
        Cause.DELAYED_ACK, why, "set TCP_NODELAY, or write each message at once",
        min(time / signs.time, 1.0), "all time", packets,
    )  # fmt: skip


def answering(signs: Signs) -> SlownessVerdict | None:
    way, other = signs.main, signs.facts.directions[1]
    found = [(signs.server, Cause.SERVER, way), (signs.client, Cause.CLIENT, other)]
    time, cause, who = max(found, key=lambda each: each[0])
    if time < max(_MOST * signs.time, signs.trip):
        return None
    number = int(who["answers"])
    if number <= who["keepalives"]:  # their byte answers no data
        return None
    times = [short_numbers.milliseconds(who[f"answer_p{percent}"]) for percent in (50, 95)]
    name = {Cause.SERVER: "the sender of the data", Cause.CLIENT: "the other end"}[cause]
    why = f"{name} ({who.source}) took {times[0]} (95 %: {times[1]}) for each of {number:,} turns"
    slowest = int(who["answer_slowest"])
    return SlownessVerdict(
        cause, why, "look at the program there", time / signs.time, "all time", (slowest, slowest)
    )


def pauses(signs: Signs) -> SlownessVerdict | None:
    if (
        signs.pauses < max(_MOST * signs.time, 2 * signs.trip)
        or signs.main["delayed_ack_time"] > signs.pauses
    ):
        return None
    why = f"the sending program ({signs.main.source}) paused between its writes"
    packets = signs.packets("limited_idle")
    share = signs.pauses / signs.time
    return SlownessVerdict(
        Cause.PAUSES, why, "look at the program there", share, "all time", packets
    )


OPENING = (unanswered, refused, lost_syn, black_hole)
_FAULTLESS = (Cause.LINK, Cause.START, Cause.UNKNOWN)
"""Causes that leave the end of the connection as the first thing to say."""
RULES = (
    closed, window, timeouts, losses, reordering, marks, queue, start, delayed, answering, pauses,
)  # fmt: skip
_ANYWHERE = (closed, timeouts, losses, reordering, marks, delayed)
"""Rules that need no handshake: rounds, round trips and windows do."""
