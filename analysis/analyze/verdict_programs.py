"""Rules for programs: delayed ACKs, answers, and pauses."""

from __future__ import annotations

from analysis.analyze import short_numbers
from analysis.analyze.verdict_signs import MOST, Cause, Signs, SlownessVerdict


def delayed(signs: Signs) -> SlownessVerdict | None:
    waits = max((signs.main, signs.facts.directions[1]), key=lambda way: way["delayed_ack_time"])
    time, number = int(waits["delayed_ack_time"]), int(waits["delayed_ack_waits"])
    if number < 2 or time < MOST * signs.time:
        return None
    each = short_numbers.milliseconds(time // number)
    why = f"small writes wait for delayed ACKs: {number:,} times, {each} each (Nagle's algorithm)"
    packets = int(waits["delayed_ack_first"]), int(waits["delayed_ack_last"])
    return SlownessVerdict(
        Cause.DELAYED_ACK, why, "TCP_NODELAY, or one write for each message",
        min(time / signs.time, 1.0), "all time", packets,
    )  # fmt: skip


def answering(signs: Signs) -> SlownessVerdict | None:
    way, other = signs.main, signs.facts.directions[1]
    found = [(signs.server, Cause.SERVER, way), (signs.client, Cause.CLIENT, other)]
    time, cause, who = max(found, key=lambda each: each[0])
    if time < MOST * signs.time:
        return None
    number = int(who["answers"])
    times = [short_numbers.milliseconds(who[f"answer_p{percent}"]) for percent in (50, 95)]
    name = {Cause.SERVER: "the sender of the data", Cause.CLIENT: "the other end"}[cause]
    why = f"{name} ({who.source}) took {times[0]} (95 %: {times[1]}) for each of {number:,} turns"
    slowest = int(who["answer_slowest"])
    return SlownessVerdict(
        cause, why, "the program there", time / signs.time, "all time", (slowest, slowest)
    )


def pauses(signs: Signs) -> SlownessVerdict | None:
    if (
        signs.pauses < max(MOST * signs.time, 2 * signs.trip)
        or signs.main["delayed_ack_time"] > signs.pauses
    ):
        return None
    why = f"the sending program ({signs.main.source}) paused between its writes"
    packets = signs.packets("limited_idle")
    share = signs.pauses / signs.time
    return SlownessVerdict(Cause.PAUSES, why, "the program there", share, "all time", packets)
