"""Rules for connections that do not get going or break off."""

from __future__ import annotations

from analysis.analyze import short_numbers
from analysis.analyze.verdict_signs import MOST, Cause, Signs, SlownessVerdict

_SILENCE = 3 * 10**9
"""A hole that is not filled for so long stays open."""


def unanswered(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    if row["total_packets_b2a"] or not row["syns_a2b"] or row["actual_data_pkts_a2b"]:
        return None
    times = short_numbers.counted(int(row["syns_a2b"]), "SYN")
    why = f"no answer came to {times} in {short_numbers.seconds(signs.facts.duration)}"
    return SlownessVerdict(Cause.UNANSWERED, why, "a firewall's rules, and the server's address")


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
    if row["syns_a2b"] + row["syns_b2a"] < 3 or share < MOST:
        return None
    why = (
        f"a SYN or its answer was lost: the connection opened {short_numbers.seconds(waited)} late"
    )
    return SlownessVerdict(
        Cause.LOST_SYN, why, "the path's losses, or the server's backlog", share, "all time"
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
    remedy = "a smaller MTU, MSS clamping, or net.ipv4.tcp_mtu_probing=1"
    return SlownessVerdict(
        Cause.BLACK_HOLE, why, remedy, packets=signs.packets("loss"), confidence="medium"
    )


def reset(signs: Signs) -> SlownessVerdict | None:
    row = signs.facts.row
    resetting = [way for way in signs.facts.directions if way["resets_sent"] and not way["fins"]]
    if row["complete"] != "reset" or len(resetting) != 1:
        return None
    carried = short_numbers.size(signs.main.carried)
    why = f"{resetting[0].source} reset the connection after {carried}, without a close"
    return SlownessVerdict(Cause.RESET, why, "the program there, or a firewall between")
