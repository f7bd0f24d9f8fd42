"""The rules of a verdict, each on both sides of its thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.analyze.causes import Cause, Features
from analysis.analyze.verdict import OPENING, RULES, decide

MS, S = 10**6, 10**9
SOUND = Features(
    duration=10 * S,
    trip=100 * MS,
    carried=10**7,
    segments=7000,
    acknowledged=10**7,
    busy_time=10 * S,
    data_time=10 * S,
    window=10**6,
    window_least=10**6,
    window_mean=10**6,
)
"""Ten seconds of data without a limit."""
LOSSY = replace(
    SOUND, limited_network=8 * S, loss_events=10, loss_delay=0, repairs=10, retransmissions=10
)
"""Losses one by one, without a queue before them."""
QUEUED = replace(LOSSY, queue_p50=50 * MS, queue_p95=80 * MS, loss_delay=80 * MS)
"""Losses of a full queue."""
BLIND = replace(QUEUED, has_sack=False, queue_p50=0, queue_p95=0)
MARKED = replace(SOUND, limited_network=8 * S, marked=3)
MIDDLE = replace(SOUND, place="middle", limited_network=8 * S, waits=8 * S, ack_waits=8 * S)
HELD = replace(
    SOUND, trip=S, busy_time=6 * S, limited_network=6 * S, carried=73912, acknowledged=73912
)
"""Six round trips for what slow start sends in four, and two more."""
HOLE = replace(SOUND, acknowledged=0, most_repeats=3, timer_repeats=3, smaller_arrived=True)
TURNS = replace(SOUND, busy_time=0, answers=(3, 3), client=9 * S, client_p50=3 * S)
"""A client that takes as long for each turn."""
FAR = replace(SOUND, trip=200 * MS, duration=1142 * MS, answers=(1, 1))
ROWS: tuple[tuple[Cause, Features, dict[str, tuple[Any, Any]]], ...] = (
    (Cause.UNANSWERED, SOUND, {"is_unanswered": (True, False)}),
    (Cause.REFUSED, SOUND, {"is_refused": (True, False)}),
    (Cause.LOST_SYN, SOUND, {"syns": (3, 2), "connect_time": (3600 * MS, 3600 * MS)}),
    (Cause.LOST_SYN, replace(SOUND, syns=3), {"connect_time": (3600 * MS, 3599 * MS)}),
    (Cause.BLACK_HOLE, HOLE, {"most_repeats": (3, 2)}),
    (Cause.BLACK_HOLE, HOLE, {"timer_repeats": (3, 2)}),
    (Cause.BLACK_HOLE, HOLE, {"full_segment": (536, 535)}),
    (Cause.BLACK_HOLE, HOLE, {"smaller_arrived": (True, False)}),
    (Cause.BLACK_HOLE, HOLE, {"acknowledged": (1459, 1460)}),
    (Cause.BLACK_HOLE, replace(HOLE, reported_mtu=1400), {"acknowledged": (2919, 2920)}),
    (
        Cause.BLACK_HOLE,
        replace(HOLE, place="receiver", most_repeats=0, reports_gaps=True),
        {"duration": (3 * S + 1, 3 * S)},
    ),
    (Cause.SILENT, SOUND, {"silences": (((3, 4 * S),), ((2, 4 * S),))}),
    (Cause.SILENT, SOUND, {"silences": (((3, 3 * S + 1),), ((3, 3 * S),))}),
    (
        Cause.TIMEOUT,
        LOSSY,
        {"waits": (3500 * MS, 3499 * MS), "limited_network": (3500 * MS, 3499 * MS)},
    ),
    (Cause.LOSS, LOSSY, {"limited_network": (3500 * MS, 3499 * MS)}),
    (Cause.LOSS, replace(QUEUED, queue_p50=0), {"loss_delay": (48 * MS - 1, 48 * MS)}),
    (Cause.LOSS, replace(QUEUED, queue_p50=0), {"segments": (500, 501)}),
    (Cause.LOSS, replace(QUEUED, segments=500), {"queue_p50": (5 * MS - 1, 5 * MS)}),
    (Cause.LOSS, replace(QUEUED, queue_p50=49 * MS, loss_delay=10 * MS), {"loss_events": (2, 1)}),
    (
        Cause.LOSS,
        replace(QUEUED, queue_p50=60 * MS, queue_p95=100 * MS, loss_delay=10 * MS),
        {"queue_p95": (100 * MS, 99 * MS), "loss_events": (1, 1)},
    ),
    (Cause.LINK, QUEUED, {"queue_p95": (12500000, 12499999), "loss_delay": (12500000, 12499999)}),
    (Cause.LOSS, replace(LOSSY, waits=3500 * MS, repairs=3), {"loss_events": (3, 2)}),
    (Cause.HOST, replace(LOSSY, place="receiver", loss_events=20), {"repaired": (9, 10)}),
    (Cause.HOST, LOSSY, {"place": ("receiver", "sender")}),
    (Cause.POLICER, LOSSY, {"repairs": (18, 17)}),
    (Cause.POLICER, replace(LOSSY, repairs=30), {"loss_events": (3, 2)}),
    (Cause.POLICER, replace(LOSSY, repairs=30), {"queue_p95": (5 * MS - 1, 5 * MS)}),
    (Cause.POLICER, LOSSY, {"policing": (lambda: 1.0, lambda: 0.99)}),
    (Cause.UNKNOWN, replace(BLIND, repairs=21), {"loss_delay": (2500000, 2499999)}),
    (Cause.UNKNOWN, replace(BLIND, loss_delay=3 * MS), {"repairs": (21, 20)}),
    (
        Cause.LINK,
        replace(BLIND, trip=0, queue_p50=0, queue_p95=20 * MS),
        {"loss_delay": (10 * MS, 10 * MS - 1)},
    ),
    (
        Cause.LINK,
        replace(BLIND, trip=0, queue_p50=MS, queue_p95=20 * MS),
        {"loss_delay": (5 * MS, 5 * MS - 1)},
    ),
    (
        Cause.LINK,
        replace(BLIND, queue_p50=0, queue_p95=20 * MS, loss_delay=15 * MS),
        {"loss_events": (1, 0)},
    ),
    (Cause.REORDERING, replace(LOSSY, repairs=0), {"needless": (3, 0)}),
    (Cause.REORDERING, LOSSY, {"reordered": (11, 10)}),
    (Cause.REORDERING, replace(LOSSY, needless=3), {"repairs": (4, 5)}),
    (
        Cause.REORDERING,
        replace(LOSSY, repairs=0, needless=3, busy_time=S, limited_network=S),
        {"waits": (200 * MS, 200 * MS + 1)},
    ),
    (Cause.REORDERING, replace(LOSSY, retransmissions=1, repairs=1), {"reordered": (3, 1)}),
    (Cause.MARKS, MARKED, {"marked": (3, 2)}),
    (Cause.MARKS, MARKED, {"limited_network": (3500 * MS, 3499 * MS)}),
    (Cause.MARKS, replace(MARKED, queue_p95=S), {"queue_p50": (100 * MS - 1, 100 * MS)}),
    (
        Cause.BLOAT,
        replace(QUEUED, trip=50 * MS, queue_p95=S, loss_delay=S),
        {"queue_p50": (100 * MS, 100 * MS - 1)},
    ),
    (
        Cause.BLOAT,
        replace(QUEUED, trip=200 * MS, queue_p95=S, loss_delay=S),
        {"queue_p50": (200 * MS, 200 * MS - 1)},
    ),
    (Cause.LINK, replace(QUEUED, loss_events=0), {"queue_p50": (2 * MS, 2 * MS - 1)}),
    (Cause.LINK, replace(QUEUED, loss_events=0, trip=40 * MS), {"queue_p50": (MS, MS - 1)}),
    (Cause.LINK, replace(QUEUED, acknowledged=0), {"carried": (14601, 14600)}),
    (Cause.LINK, QUEUED, {"limited_network": (3500 * MS, 3499 * MS)}),
    (
        Cause.LINK,
        replace(QUEUED, place="middle", queue_p50=0, queue_p95=0, loss_delay=80 * MS),
        {"repairs": (51, 50)},
    ),
    (Cause.START, replace(SOUND, trip=200 * MS), {"limited_network": (2500 * MS, 2499 * MS)}),
    (Cause.CLOSED, replace(SOUND, windowed=4 * S, trip=0), {"closed": (3500 * MS, 3499 * MS)}),
    (
        Cause.CLOSED,
        replace(SOUND, windowed=10 * S, window=2500001 * 10, window_mean=10**6),
        {"window_least": (5839, 5840), "trip": (S, S)},
    ),
    (
        Cause.CLOSED,
        replace(SOUND, windowed=10 * S, trip=S, window_least=0, carried=10**7),
        {"window": (2500001, 2500000)},
    ),
    (Cause.WINDOW, SOUND, {"windowed": (3500 * MS, 3499 * MS)}),
    (
        Cause.WINDOW,
        replace(SOUND, windowed=9 * S, window=2 * 10**7),
        {"window_mean": (9 * 10**6, 10**7)},
    ),
    (
        Cause.WINDOW,
        replace(SOUND, windowed=9 * S, window=12500000, carried=10**7 + 1),
        {"window_mean": (9999999, 10000000)},
    ),
    (Cause.FLIGHT, HELD, {"carried": (73912, 73913)}),
    (Cause.FLIGHT, HELD, {"limited_network": (6 * S, 5999 * MS)}),
    (Cause.FLIGHT, replace(HELD, place="receiver"), {"limited_network": (6 * S, 5999 * MS)}),
    (Cause.START, HELD, {"trip": (0, S)}),
    (Cause.UNSCALED, replace(SOUND, windowed=9 * S), {"is_unscaled": (True, False)}),
    (Cause.TIMEOUT, replace(MIDDLE, ack_waits=0), {"loss_events": (1, 0)}),
    (Cause.TIMEOUT, MIDDLE, {"loss_events": (4, 5)}),
    (Cause.TIMEOUT, replace(MIDDLE, loss_events=5), {"ack_waits": (8 * S - 1, 8 * S)}),
    (Cause.DELAYED_ACK, SOUND, {"delayed": ((3500 * MS, 2), (3499 * MS, 2))}),
    (Cause.DELAYED_ACK, SOUND, {"delayed": ((9 * S, 2), (9 * S, 1))}),
    (
        Cause.SERVER,
        replace(SOUND, busy_time=0, answers=(5, 5)),
        {"server": (100 * MS, 100 * MS - 1)},
    ),
    (Cause.SERVER, SOUND, {"server": (9 * S, 9 * S), "answers": ((1, 0), (0, 0))}),
    (Cause.CLIENT, replace(TURNS, server=9 * S), {"client": (9 * S + 1, 9 * S)}),
    (Cause.CLIENT, TURNS, {"answers": ((3, 3), (3, 2))}),
    (Cause.CLIENT, TURNS, {"client_p50": (1500 * MS, 1499 * MS)}),
    (Cause.IDLE, replace(TURNS, client_p50=0), {"client": (100 * MS, 100 * MS - 1)}),
    (Cause.IDLE, replace(TURNS, client_p50=0), {"server": (9 * S - 1, 9 * S)}),
    (
        Cause.IDLE,
        replace(TURNS, server=9 * S, is_mutual=True, message=535, message_time=S),
        {"message": (535, 536)},
    ),
    (
        Cause.IDLE,
        replace(TURNS, server=9 * S, is_mutual=True, message=535, message_time=S),
        {"message_time": (S, S - 1)},
    ),
    (
        Cause.UNKNOWN,
        replace(TURNS, server=9 * S, is_alike=True, message=535, message_time=S),
        {"is_mutual": (False, True)},
    ),
    (
        Cause.UNKNOWN,
        replace(TURNS, server=9 * S, client=0, message=535, message_time=S),
        {"is_alike": (True, False)},
    ),
    (
        Cause.UNKNOWN,
        LOSSY,
        {"stall": (120 * S + 1, 120 * S), "limited_network": (121 * S, 121 * S)},
    ),
    (Cause.UNKNOWN, replace(LOSSY, stall=121 * S), {"limited_network": (121 * S, 121 * S - 1)}),
    (Cause.UNKNOWN, replace(LOSSY, duration=0), {"clock_back": (1, 0)}),
    (Cause.CLIENT, SOUND, {"first_waits": ((0, 3500 * MS), (0, 3499 * MS))}),
    (Cause.SERVER, SOUND, {"first_waits": ((3500 * MS, 0), (3499 * MS, 0))}),
    (Cause.PATH, FAR, {"trip": (200 * MS, 200 * MS - 1)}),
    (Cause.PATH, FAR, {"duration": (1142 * MS, 1143 * MS)}),
    (Cause.PAUSES, replace(SOUND, busy_time=6500 * MS), {"idle": (3500 * MS, 3499 * MS)}),
    (Cause.PAUSES, replace(SOUND, busy_time=0), {"idle": (200 * MS, 200 * MS - 1)}),
    (Cause.PAUSES, replace(SOUND, idle=9 * S), {"delayed_own": (9 * S, 9 * S + 1)}),
    (Cause.LOSS, LOSSY, {"duration": (10 * MS, 10 * MS - 1)}),
    (Cause.LOSS, replace(LOSSY, carried=9500), {"acknowledged": (10000, 10001)}),
    (Cause.LOSS, LOSSY, {"lacks_acks": (False, True)}),
    (Cause.LOSS, LOSSY, {"answered": (True, False)}),
    (
        Cause.LOSS,
        replace(LOSSY, place="unknown", loss_events=40, repaired=10),
        {"repairs": (11, 10)},
    ),
    (Cause.RESET, SOUND, {"is_reset": (True, False)}),
)
"""A cause, a connection, and values of its features with which that is the cause, and is not."""


@pytest.mark.parametrize(("cause", "base", "values"), ROWS)
def test_a_cause_begins_at_its_threshold(
    cause: Cause, base: Features, values: dict[str, tuple[Any, Any]]
) -> None:
    inside, outside = ({name: pair[side] for name, pair in values.items()} for side in (0, 1))
    assert decide(replace(base, **inside)).cause == cause
    assert decide(replace(base, **outside)).cause != cause


def test_each_rule_has_a_row() -> None:
    assert {rule.cause for rule in (*OPENING, *RULES)} <= {row[0] for row in ROWS}


def test_what_ends_at_once_has_no_cause_but_the_end() -> None:
    brief = replace(LOSSY, duration=10 * MS - 1)
    assert decide(brief).cause == Cause.BRIEF
    assert decide(replace(brief, is_reset=True)).cause == Cause.RESET
    assert decide(replace(LOSSY, is_reset=True)).cause == Cause.LOSS
    assert decide(replace(QUEUED, place="unknown")).cause == Cause.UNKNOWN
    windowed = replace(SOUND, windowed=9 * S, place="unknown")
    assert decide(windowed).cause == Cause.WINDOW
    assert decide(replace(windowed, trip=0)).cause == Cause.UNKNOWN
