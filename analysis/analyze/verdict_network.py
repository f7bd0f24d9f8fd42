"""Rules of a verdict about the network: losses, reordering, marks, queues and slow start."""

from __future__ import annotations

from analysis.analyze import short_numbers
from analysis.analyze.causes import MOST, Cause, SlownessVerdict
from analysis.analyze.verdict_signs import Signs

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
    why = f"the sender waited {short_numbers.seconds(time)} for its retransmission timer"
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
    lost = short_numbers.counted(signs.lost, "segment")
    part = short_numbers.share(signs.lost, int(signs.main["actual_data_pkts"]))
    packets = signs.packets("loss")
    if signs.hides_queue and (signs.facts.policing or 0.0) < 1:
        why = f"without SACK the {lost} lost ({part}) do not show whether a queue was full"
        return SlownessVerdict(Cause.UNKNOWN, why, share, packets=packets)
    if not _is_policed(signs):
        why = f"the network lost {lost} ({part}) without a queue before, and the sender slows down"
        return SlownessVerdict(Cause.LOSS, why, share, packets=packets)
    bursts = short_numbers.counted(int(signs.main["loss_events"]), "burst")
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
    proof = f"{short_numbers.counted(overtaken, 'packet')} came late, overtaken by others"
    if not overtaken:
        proof = f"{short_numbers.counted(needless, 'retransmission')} repaired no loss"
    why = f"the path reorders packets, which the sender takes for losses: {proof}"
    return SlownessVerdict(Cause.REORDERING, why, share, packets=signs.packets("loss"))


def marks(signs: Signs) -> SlownessVerdict | None:
    share, marked = signs.congested / signs.time, signs.marked
    if share < MOST or marked < _FEWEST_MARKS or signs.main["loss_events"] or _is_bloated(signs):
        return None
    number = short_numbers.counted(marked, "mark")
    why = f"a queue marks packets (ECN) before it is full, and the sender slows down: {number}"
    return SlownessVerdict(Cause.MARKS, why, share, packets=signs.packets("limited_network"))


def queue(signs: Signs) -> SlownessVerdict | None:
    share, delay = signs.congested / signs.time, short_numbers.milliseconds(signs.queueing(50))
    is_other = losses(signs) or _is_reordering(signs) or _is_outage(signs)
    if share < MOST or is_other or not (signs.fills_link or _fills_queue(signs)):
        return None
    packets = signs.packets("limited_network")
    if _is_bloated(signs):
        trip = short_numbers.milliseconds(signs.trip)
        why = f"a queue adds {delay} to the round trip of {trip}"
        return SlownessVerdict(Cause.BLOAT, why, share, packets=packets)
    if signs.is_small:
        return None
    reached = short_numbers.rate(signs.main["rate"])
    why = f"the link's rate is reached, {reached} on average, with a queue of {delay}"
    return SlownessVerdict(Cause.LINK, why, share, packets=packets)


def _is_bloated(signs: Signs) -> bool:
    return signs.queueing(50) >= max(_BLOATED, signs.trip)


def start(signs: Signs) -> SlownessVerdict | None:
    share = signs.congested / signs.time
    if share < _SHORT or signs.main["loss_events"] or signs.fills_link or signs.is_small:
        return None
    size = short_numbers.size(signs.main.carried)
    why = f"{size} end while the congestion window still grows, or the sender paces itself"
    packets = signs.packets("limited_network")
    return SlownessVerdict(Cause.START, why, share, packets=packets, confidence="low")
