"""Reason why a connection is slow, from its row of the connections' table.

Each rule is a function of `Signs` that returns a `SlownessVerdict` or None. The rules of `OPENING`
look at connections that never got going, and the first that fits decides. Of the others, that with
the greatest share of the time decides. All work at any place of the capture: the engine moves what
it sees to the sender by the round trip of the handshake (core/src/sender_view.rs).
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.analyze import (
    verdict_network,
    verdict_opening,
    verdict_programs,
    verdict_receiver,
)
from analysis.analyze.facts import ConnectionFacts
from analysis.analyze.verdict_signs import Cause, Signs, SlownessVerdict

Rule = Callable[[Signs], SlownessVerdict | None]


def verdict(facts: ConnectionFacts) -> SlownessVerdict:
    """Return why a connection is slow, or why that cannot be told."""
    signs = Signs(facts, facts.directions[0])
    for rule in OPENING:
        if found := rule(signs):
            return found
    found_of = [found for rule in RULES if (found := rule(signs))]
    best = max(found_of, key=_weight, default=_unknown(signs))
    return (verdict_opening.reset(signs) if best.cause in _FAULTLESS else None) or best


def _weight(found: SlownessVerdict) -> float:
    return found.share or 0.0


def _unknown(signs: Signs) -> SlownessVerdict:
    main = signs.main
    if not signs.main["actual_data_pkts"]:
        why = "no data was captured"
    elif not main.answered:
        why = "only one direction was captured"
    elif signs.facts.row["vantage"] == "unknown" and not main["rtt_samples"]:
        why = "without the handshake the place of the capture is not known"
    elif main["actual_data_pkts"] < 10 and signs.facts.duration < 10 * signs.trip:
        why = "the connection is too short to have a limit"
    else:
        why = "no cause has a third of the time"
    return SlownessVerdict(Cause.UNKNOWN, why)


OPENING: tuple[Rule, ...] = (
    verdict_opening.unanswered,
    verdict_opening.refused,
    verdict_opening.lost_syn,
    verdict_opening.black_hole,
)
_FAULTLESS = (Cause.LINK, Cause.START, Cause.UNKNOWN)
"""Causes that leave the end of the connection as the first thing to say."""
RULES: tuple[Rule, ...] = (
    verdict_receiver.closed,
    verdict_receiver.window,
    verdict_network.timeouts,
    verdict_network.losses,
    verdict_network.reordering,
    verdict_network.queue,
    verdict_network.start,
    verdict_programs.delayed,
    verdict_programs.answering,
    verdict_programs.pauses,
)
