"""Rules for the network: losses, reordering, queues, and slow start."""

from __future__ import annotations

from analysis.analyze import short_numbers
from analysis.analyze.verdict_signs import MOST, Cause, Signs, SlownessVerdict

_BLOATED = 100 * 10**6
_POLICED = 1.75
"""Lost packets for each event: random losses come alone."""
_SHORT = 0.25
"""The share that is enough for slow start, whose gaps between rounds are no limit's."""


def timeouts(signs: Signs) -> SlownessVerdict | None:
    time = signs.timeouts
    if time < MOST * signs.time:
        return None
    why = f"the sender waited {short_numbers.seconds(time)} for its retransmission timer"
    remedy = "the path's losses; SACK, RACK-TLP"
    packets = signs.packets("loss" if signs.main["loss_first"] else "limited_network")
    return SlownessVerdict(Cause.TIMEOUT, why, remedy, time / signs.time, packets=packets)


def losses(signs: Signs) -> SlownessVerdict | None:
    share, events = signs.congested / signs.time, int(signs.main["loss_events"])
    if share < MOST or not events or not signs.loses_at_random or _is_reordering(signs):
        return None
    if events == 1 and signs.timeouts >= MOST * signs.time:
        return None  # the sender slows down after the time-out
    lost = short_numbers.counted(signs.lost, "segment")
    part = short_numbers.share(signs.lost, int(signs.main["actual_data_pkts"]))
    packets = signs.packets("loss")
    if signs.is_direct and signs.lost > _POLICED * events:
        bursts = short_numbers.counted(events, "burst")
        why = f"a policer drops without a queue: {lost} ({part}) in {bursts}"
        remedy = "a lower sending rate (pacing), or the policer's burst size"
        return SlownessVerdict(
            Cause.POLICER, why, remedy, share, packets=packets, confidence="medium"
        )
    why = f"the network lost {lost} ({part}) without a queue before, and the sender slows down"
    return SlownessVerdict(Cause.LOSS, why, "the path's errors; BBR", share, packets=packets)


def _is_reordering(signs: Signs) -> bool:
    """Return whether overtaken packets explain what looks like losses.

    Where data arrives, originals that overtook each other prove it. A sender shows it by episodes
    in which every retransmission was needless. After a time-out one repair is needed and those
    behind it are not (go-back-N), so they prove little.
    """
    overtaken, events = int(signs.main["reordered"]), int(signs.main["loss_events"])
    if overtaken > int(signs.main["retransmissions"]) + int(signs.main["losses_repaired"]):
        return True
    by_timer = signs.timeouts * 10 > signs.congested
    is_needless = signs.needless >= 3 or (signs.needless and not signs.lost)
    return bool(is_needless and 2 * signs.lost < events and not by_timer)


def reordering(signs: Signs) -> SlownessVerdict | None:
    share = signs.congested / signs.time
    overtaken, needless = int(signs.main["reordered"]), signs.needless
    if share < MOST or not _is_reordering(signs):
        return None
    proof = f"{short_numbers.counted(overtaken, 'packet')} came late, overtaken by others"
    if not overtaken:
        proof = f"{short_numbers.counted(needless, 'retransmission')} repaired no loss"
    why = f"the path reorders packets, which the sender takes for losses: {proof}"
    return SlownessVerdict(
        Cause.REORDERING, why, "one path for each flow", share, packets=signs.packets("loss")
    )


def queue(signs: Signs) -> SlownessVerdict | None:
    share, queued = signs.congested / signs.time, signs.queueing(50)
    if share < MOST or not signs.has_queue or losses(signs) or _is_reordering(signs):
        return None
    packets, delay = signs.packets("limited_network"), short_numbers.milliseconds(queued)
    if queued >= max(_BLOATED, signs.trip):
        trip = short_numbers.milliseconds(signs.trip)
        why = f"a queue adds {delay} to the round trip of {trip}"
        return SlownessVerdict(
            Cause.BLOAT, why, "fq_codel or cake at the slowest link", share, packets=packets
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
        Cause.START, why, "longer connections", share, packets=packets, confidence="low"
    )
