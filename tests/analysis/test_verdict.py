"""Verdicts on made captures, whose cause is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.analyze.causes import TABLE, Cause, SlownessVerdict, features
from analysis.analyze.facts import connection
from analysis.analyze.verdict import verdict
from tests.analysis import frames
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.frames import ACK, RST, simple_blocks
from tests.analysis.looking import Look, analyze, only_connection

FULL = 1448
TRIP = 0.08


def judged(look: Look, flow: MadeFlow) -> SlownessVerdict:
    return verdict(connection(only_connection(look(flow))))


def windows(flow: MadeFlow, seen_at_receiver: bool) -> MadeFlow:
    """a fills a window of 20 segments in each round trip; the capture is at a or at b."""
    flow.b.ack(0.5, window=20 * FULL)
    for number in range(1, 40):
        at = 0.5 + number * TRIP
        if seen_at_receiver:
            for place in range(20):
                flow.a.send(at + place * 1e-4, FULL)
                flow.b.ack(at + place * 1e-4 + 1e-5, window=20 * FULL)
        else:
            flow.a.burst(at, 20, gap=1e-4, size=FULL)
            for place in range(20):
                acknowledged = flow.a.next - (19 - place) * FULL
                flow.b.ack(at + place * 1e-4 + TRIP - 0.01, to=acknowledged, window=20 * FULL)
    return flow


@pytest.mark.parametrize("seen_at_receiver", [False, True])
def test_a_window_is_the_limit_wherever_it_is_seen(look: Look, seen_at_receiver: bool) -> None:
    flow = MadeCapture().flow(scales=(None, None)).open(rtt=TRIP, seen_at_b=seen_at_receiver)
    found = judged(look, windows(flow, seen_at_receiver))
    assert found.cause == Cause.UNSCALED
    assert "28.3 KiB window" in found.sentence and "window scaling" in found.remedy
    first, last = found.packets
    assert 0 < first < last


@pytest.mark.parametrize("seen_at_server", [False, True])
def test_a_server_that_thinks_is_named_with_its_times(look: Look, seen_at_server: bool) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=seen_at_server)
    way = 0 if seen_at_server else TRIP
    for turn in range(10):
        flow.a.send(1.0 + turn, 100)
        flow.b.send(1.5 + turn + way, 1000)
        flow.a.ack(1.5 + turn + TRIP)
    found = judged(look, flow)
    assert found.cause in (Cause.SERVER, Cause.CLIENT)
    server = connection(only_connection(look(flow))).directions[0]
    assert server["answers"] == 10
    assert server["answer_p50"] == pytest.approx(0.5e9, rel=0.01)


def test_a_request_in_two_writes_waits_for_a_delayed_ack(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=0.001)
    for turn in range(10):
        at = 1.0 + turn * 0.05
        flow.a.send(at, 50)
        flow.b.ack(at + 0.041)
        flow.a.send(at + 0.0411, 50)
        flow.b.send(at + 0.0421, 10)
    found = judged(look, flow)
    assert found.cause == Cause.DELAYED_ACK and "10 times, 40 ms each" in found.sentence


def test_syns_without_an_answer_and_refused(look: Look) -> None:
    silent = MadeCapture().flow()
    for at in (0.0, 1.0, 3.0):
        silent.a.segment(at, 0, 0, 2)
    assert judged(look, silent).cause == Cause.UNANSWERED
    refused = MadeCapture().flow()
    refused.a.syn(0.0)
    refused.b.segment(0.02, 0, 0, RST | ACK)
    assert judged(look, refused).cause == Cause.REFUSED


def test_the_first_line_and_json_have_the_verdict(tmp_path: Path) -> None:
    flow = windows(MadeCapture().flow(scales=(None, None)).open(rtt=TRIP), False)
    path = flow.capture.write(tmp_path)
    output = analyze(path).output
    data = json.loads(analyze(path, "--json").stdout)
    found = data["captures"][0]["connections"][0]["verdict"]
    assert found["cause"] == "window without scale" and found["share"] > 0.5
    assert " ".join(found["sentence"].split())[:60] in " ".join(output.split())


def test_the_page_has_the_verdict_as_its_headline(tmp_path: Path) -> None:
    flow = windows(MadeCapture().flow(scales=(None, None)).open(rtt=TRIP), False)
    path = flow.capture.write(tmp_path)
    analyze(path, "--out", tmp_path / "out")
    text = (tmp_path / "out" / "graphs.html").read_text(encoding="utf-8")
    headline, advice = text.index('<p class="headline">Slow because'), text.index("<p>Try: ")
    assert text.index("<h1>") < headline < advice < text.index('id="graphs"')
    assert "Connection 1" not in text[headline:advice]


def test_each_fault_has_a_remedy() -> None:
    assert {Cause[row["cause"]] for row in TABLE if not row["remedy"]} == {
        *(Cause.BRIEF, Cause.LINK, Cause.UNKNOWN, Cause.CLIENT, Cause.IDLE)
    }
    faults = ("Slow because", "Broken off")
    assert all(bool(row["remedy"]) == (row["beginning"] in faults) for row in TABLE)


def rounds(flow: MadeFlow, begin: float, number: int = 20) -> float:
    """Let a send bursts whose ACKs come a round trip later; return the end."""
    for at in (begin + index * TRIP for index in range(number)):
        first = flow.a.next
        flow.a.burst(at, 10, size=FULL)
        for place in range(10):
            flow.b.ack(at + TRIP - 0.002 + place * 1e-4, to=first + (place + 1) * FULL)
    return begin + number * TRIP


def test_needless_repairs_behind_a_time_out_are_no_reordering(look: Look) -> None:
    flow, at = MadeCapture().flow(sack=False).open(rtt=TRIP), 1.0
    for _episode in range(6):
        at = rounds(flow, at)
        first, stamps = flow.a.next, []
        for place in range(10):
            flow.a.send(at + place * 0.002, FULL)
            stamps.append(flow.a.stamp)
        flow.a.send(at + 0.3, FULL, seq=first)  # the first was lost, the others wait in a queue
        flow.b.ack(at + 0.38, to=first + FULL)
        for place in range(1, 9):
            flow.a.send(at + 0.381 + place * 1e-4, FULL, seq=first + place * FULL)
        for place in range(1, 10):
            acknowledged = first + (place + 1) * FULL
            flow.b.ack(at + 0.385 + place * 1e-3, to=acknowledged, echo=stamps[place])
        at += 0.4
    row = only_connection(look(flow))
    assert row["retransmissions_spurious_a2b"] > 20
    assert judged(look, flow).cause in (Cause.LOSS, Cause.TIMEOUT)


def test_needless_repairs_by_duplicate_acks_are_reordering(look: Look) -> None:
    flow, at = MadeCapture().flow().open(rtt=TRIP), 1.0
    for _episode in range(6):
        at = rounds(flow, at, 4)
        first = flow.a.next
        flow.a.burst(at, 10, size=FULL)
        for place in range(2, 6):
            blocks = [(first + FULL, first + place * FULL)]
            flow.b.ack(at + TRIP - 0.01 + place * 1e-3, to=first, sacks=blocks)
        flow.a.send(at + TRIP - 0.003, FULL, seq=first)
        flow.b.ack(at + TRIP - 0.002)
        flow.b.ack(at + 2 * TRIP - 0.003, sacks=[(first, first + FULL)])
        at += 2 * TRIP
    found = judged(look, flow)
    assert found.cause == Cause.REORDERING and "6 retransmissions repaired no loss" in found.because


def test_a_reset_without_another_cause_is_said(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP)
    rounds(flow, 1.0, 3)
    flow.b.rst(1.3)
    assert judged(look, flow).sentence.startswith("Broken off: 10.0.0.2:5001 reset")


def dying(flow: MadeFlow, repeats: int) -> MadeFlow:
    """Let b answer no more after 20 rounds; a sends the first open segment again."""
    at = rounds(flow, 1.0)
    first = flow.a.next
    flow.a.burst(at, 10, size=FULL)
    for number in range(repeats):
        flow.a.send(at + 0.3 * (2 ** (number + 1) - 1), FULL, seq=first)
    return flow


def test_an_end_that_answers_no_more_is_named(look: Look) -> None:
    flow = dying(MadeCapture().flow().open(rtt=TRIP), 6)
    found = judged(look, flow)
    assert found.cause == Cause.SILENT
    assert found.sentence.startswith("Broken off: 10.0.0.2:5001 answered none of 6 repeats in 18.")
    assert found.packets[1] == look(flow).file.packets
    assert judged(look, dying(MadeCapture().flow().open(rtt=TRIP), 2)).cause != Cause.SILENT


def test_an_answer_after_many_repeats_is_no_silence(look: Look) -> None:
    flow = dying(MadeCapture().flow().open(rtt=TRIP), 6)
    flow.b.ack(30.0)
    flow.a.send(34.0, FULL)
    row = only_connection(look(flow))
    assert row["max_#_retrans_a2b"] == 6 and row["unanswered_repeats_a2b"] == 0
    assert judged(look, flow).cause == Cause.TIMEOUT


def test_keepalives_without_an_answer_are_a_silence(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP)
    end = rounds(flow, 1.0)
    for number in range(5):
        flow.a.segment(end + 60 + 5 * number, flow.a.next - 1, 0, ACK)
    flow.a.rst(end + 85)
    assert "answered none of 5 repeats in 85" in judged(look, flow).because


def test_a_hole_that_stays_open_is_a_black_hole_at_its_receiver(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    flow.a.send(1.0, 500, seq=1 + 4 * FULL)
    flow.b.ack(1.0, to=1, sacks=[(1 + 4 * FULL, 501 + 4 * FULL)])
    flow.b.fin(11.0, to=1)
    assert judged(look, flow).cause == Cause.BLACK_HOLE


def test_full_segments_before_pauses_are_no_time_outs_without_a_loss(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    for turn in range(10):
        flow.b.send(1.0 + turn, 100)
        for place in range(7):
            flow.a.send(1.0 + turn + TRIP + place * 1e-3, 1460)
            flow.b.ack(1.0 + turn + TRIP + place * 1e-3)
    assert judged(look, flow).cause == Cause.SERVER


def test_a_single_round_trip_is_no_pause(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    flow.a.send(TRIP, 100)
    for place in range(4):
        flow.b.send(TRIP + 0.001 + place * 1e-4, FULL - 200)
        flow.a.ack(2 * TRIP + 0.002 + place * 1e-4)
    assert judged(look, flow).cause != Cause.PAUSES


def test_bursts_of_losses_without_a_queue_are_a_policer(look: Look) -> None:
    flow, at = MadeCapture().flow().open(rtt=TRIP), 1.0
    for _episode in range(5):
        at = rounds(flow, at, 4)
        first = flow.a.next
        flow.a.burst(at, 10, size=FULL)
        flow.b.ack(at + TRIP, to=first + 4 * FULL)
        for place in range(4):
            flow.b.ack(
                at + TRIP + place * 1e-3,
                to=first + 4 * FULL,
                sacks=[(first + 8 * FULL, first + 10 * FULL)],
            )
        for place in range(4, 8):
            flow.a.send(at + TRIP + 0.004, FULL, seq=first + place * FULL)
        flow.b.ack(at + 2 * TRIP + 0.004)
        at += 2 * TRIP + 0.01
    found = judged(look, flow)
    assert found.cause == Cause.POLICER and "20 segments" in found.because


def test_repairs_of_what_the_receiver_held_are_no_losses(look: Look) -> None:
    """Without SACK a time-out repeats all: the first and the sixth segment of ten were lost."""
    flow = MadeCapture().flow(sack=False).open(rtt=TRIP)
    at = rounds(flow, 1.0, 4)
    first = flow.a.next
    flow.a.burst(at, 10, size=FULL)
    flow.a.send(at + 0.3, FULL, seq=first)
    flow.b.ack(at + 0.3 + TRIP, to=first + 5 * FULL)
    for place in (5, 6):
        flow.a.send(at + 0.301 + TRIP, FULL, seq=first + place * FULL)
    flow.b.ack(at + 0.301 + 2 * TRIP, to=first + 10 * FULL)
    row = only_connection(look(flow))
    assert (row["retransmissions_a2b"], row["repairs_held_a2b"]) == (3, 1)
    facts = connection(row)
    assert features(facts).lost == 2


def test_a_wait_for_a_timer_counts_once_in_the_middle(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.b.syn(TRIP / 2)
    flow.a.ack(TRIP)
    at = rounds(flow, 1.0, 4)
    first = flow.a.next
    flow.a.burst(at, 10, size=FULL)
    for wait in (1, 3):  # the timer doubles
        flow.a.send(at + wait, FULL, seq=first)
    flow.b.ack(at + 3 + TRIP / 2)
    row = only_connection(look(flow))
    assert row["vantage"] == "middle" and row["retransmissions_rto_a2b"] == 2
    assert row["timeout_time_a2b"] == pytest.approx(3e9, rel=0.1)


def test_waits_for_acks_in_the_middle_are_no_time_outs(look: Look) -> None:
    """The capture is near the sender: of 80 ms the ACKs need 50 from behind it."""
    flow, at = MadeCapture().flow(), 1.0
    flow.a.syn(0.0)
    flow.b.syn(0.05)
    flow.a.ack(TRIP)
    for _episode in range(8):
        first = 0
        for turn in range(6):
            lost = flow.a.next if turn == 3 else 0  # before the capture
            flow.a.next += FULL if lost else 0
            first = lost or first
            flow.a.burst(at, 4, size=FULL)
            held = [(first + FULL, flow.a.next)] if first else []
            flow.b.ack(at + 0.05, to=first or flow.a.next, sacks=held)
            at += TRIP
            if first and not lost:
                flow.a.send(at - 0.001, FULL, seq=first)
                first = 0
    row = only_connection(look(flow))
    assert row["vantage"] == "middle" and row["losses_repaired_a2b"] == 8
    facts = connection(row)
    signs = features(facts)
    assert row["timeout_time_a2b"] > 0.3 * signs.time
    assert signs.timeouts == 0 and verdict(facts).cause == Cause.LOSS


def test_whole_segments_between_pauses_are_pauses_where_they_arrive(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    for turn in range(12):
        flow.a.burst(1.0 + turn / 2, 5, size=FULL)
        flow.b.ack(1.01 + turn / 2)
    found = judged(look, flow)
    assert found.cause == Cause.PAUSES and found.share is not None and found.share > 0.5


def test_without_a_lost_segment_no_loss_is_the_reason(look: Look) -> None:
    """One needless retransmission: the receiver held the segment."""
    flow = MadeCapture().flow(sack=False).open(rtt=TRIP)
    at = rounds(flow, 1.0, 4)
    first = flow.a.next
    flow.a.burst(at, 10, size=FULL)
    stamp = flow.a.stamp
    flow.a.send(at + 0.17, FULL, seq=first)
    flow.b.ack(at + 0.175, echo=stamp)
    rounds(flow, at + 0.2, 4)
    row = only_connection(look(flow))
    assert row["retransmissions_spurious_a2b"] == row["retransmissions_a2b"] == 1
    assert "lost 0 segments" not in judged(look, flow).sentence


def test_frequent_losses_without_a_standing_queue_are_random(look: Look) -> None:
    """Without SACK, where data arrives: a few packets are late, also before losses."""
    flow = MadeCapture().flow(sack=False).open(rtt=TRIP, seen_at_b=True)
    for turn in range(40):
        at, first = 1.0 + 2 * TRIP * turn, max(flow.a.next, 1)
        for place in range(10):
            if place == 5:  # lost before the capture
                flow.a.next += FULL
                continue
            delay = 0.024 if place == 4 or turn % 5 == 0 else 0.0
            sent = at + place * 0.005
            flow.a.send(sent + delay, FULL, stamp=round(sent * 1000))
            flow.b.ack(sent + delay, to=first + min(place + 1, 5) * FULL)
        flow.a.send(at + TRIP, FULL, seq=first + 5 * FULL)
        flow.b.ack(at + TRIP)
    facts = connection(only_connection(look(flow)))
    signs = features(facts)
    assert signs.has_queue and signs.queue_p50 < 5e6
    assert verdict(facts).cause == Cause.LOSS


@pytest.mark.parametrize(
    ("before", "cause"), [(0.0, Cause.UNKNOWN), (0.03, Cause.LINK)], ids=["none", "queue"]
)
def test_losses_without_sack_tell_of_a_queue_or_say_that_they_cannot(
    look: Look, before: float, cause: Cause
) -> None:
    """Packets often wait for 1 ms, and some for 40; before losses the ACKs come late, or not."""
    flow, at = MadeCapture().flow(sack=False).open(rtt=TRIP), 1.0
    for turn in range(100):
        waits = 0.04 if turn % 10 == 0 else 0.0013
        first = max(flow.a.next, 1)
        flow.a.burst(at, 30, size=FULL)
        for place in range(30):
            flow.b.ack(at + TRIP + waits + place * 1e-4, to=first + (place + 1) * FULL)
        at += TRIP + 0.06
        if turn % 10 != 5:
            continue
        first = flow.a.next
        flow.a.burst(at, 20, size=FULL)
        for place in range(20):
            flow.b.ack(at + TRIP + before + place * 1e-4, to=first + min(place, 10) * FULL)
        flow.a.send(at + TRIP + before + 0.002, FULL, seq=first + 10 * FULL)
        at += 2 * TRIP + 0.1
        flow.b.ack(at)
    found = judged(look, flow)
    assert found.cause == cause
    assert ("without SACK" in found.because) == (cause == Cause.UNKNOWN)


def exchanges(trip: float, wait: float, think: float, turns: int, port: int = 80) -> MadeFlow:
    """Requests of 300 B, each `wait` s after an answer of 1,200 B, which takes `think` s."""
    flow = MadeCapture().flow(ports=(40000, port)).open(rtt=trip)
    at = trip + 0.001
    for turn in range(turns):
        at += wait if turn else 0
        flow.a.send(at, 300)
        at += trip + think
        flow.b.send(at, 1200)
        flow.a.ack(at + 1e-4)
    return flow


@pytest.mark.parametrize(
    ("flow", "cause", "said"),
    [
        (exchanges(0.01, 29.9, 0.005, 2), Cause.IDLE, "the client (10.0.0.1:40000) asked again"),
        (exchanges(0.01, 0.8, 0.005, 12), Cause.CLIENT, "it waits for requests: the client"),
        (exchanges(0.01, 0.0, 0.8, 12), Cause.SERVER, "the server (10.0.0.2:80) took"),
        (exchanges(0.9, 0.0, 0.05, 1), Cause.PATH, "2 round trips of 900 ms"),
    ],
)
def test_idle_time_a_client_a_server_and_a_path_are_told_apart(
    look: Look, flow: MadeFlow, cause: Cause, said: str
) -> None:
    found = judged(look, flow)
    assert found.cause == cause and said in found.sentence
    assert found.sentence.startswith("Slow because") == (cause in (Cause.SERVER, Cause.PATH))


@pytest.mark.parametrize("port", [179, 9999])
def test_keep_alives_of_programs_are_idle(look: Look, port: int) -> None:
    flow = MadeCapture().flow(ports=(40000, port)).open(rtt=0.01)
    for turn in range(6):
        flow.a.send(1 + 30 * turn, 19)
        flow.b.ack(1.2 + 30 * turn)
        flow.b.send(18 + 30 * turn, 19)
        flow.a.ack(18.2 + 30 * turn)
    assert judged(look, flow).cause == Cause.IDLE


def test_late_answers_may_be_unasked(look: Look) -> None:
    flow = MadeCapture().flow(ports=(40000, 5001)).open(rtt=0.02)
    for turn in range(3):
        flow.a.send(1 + 31 * turn, 31)
        flow.b.ack(1.02 + 31 * turn)
        flow.b.send(31 + 31 * turn, 38)
        flow.a.ack(31.001 + 31 * turn)
    found = judged(look, flow)
    assert found.cause == Cause.UNKNOWN and "may be unasked or late answers" in found.sentence


def talk() -> MadeFlow:
    """Ten segments a round trip."""
    flow = MadeCapture().flow().open(rtt=TRIP)
    for number in range(20):
        flow.a.burst(0.5 + number * TRIP, 10, gap=1e-4, size=FULL)
        flow.b.ack(0.49 + (number + 1) * TRIP)
    return flow


def test_a_flight_that_stays_is_no_slow_start(look: Look) -> None:
    found = judged(look, talk())
    assert found.cause == Cause.FLIGHT and "14.1 KiB in flight" in found.sentence


def test_options_that_are_cut_off_are_not_known(look: Look, tmp_path: Path) -> None:
    flow = windows(MadeCapture(snaplen=54).flow(scales=(None, None)).open(rtt=TRIP), False)
    assert judged(look, flow).cause != Cause.UNSCALED
    path = flow.capture.write(tmp_path)
    output = analyze(path).output
    assert "the options of a SYN are cut off" in " ".join(output.split())


def stepped(by: float) -> MadeFlow:
    """A talk whose clock is set after half of its packets."""
    flow = talk()
    half = len(flow.capture.records) // 2
    later = [
        replace(record, time=record.time + round(by * 1e9))
        for record in flow.capture.sorted()[half:]
    ]
    flow.capture.records[:] = [*flow.capture.sorted()[:half], *later]
    return flow


@pytest.mark.parametrize(
    ("by", "said"), [(-3600, "time goes backwards"), (3600, "a clock was set, or a host")]
)
def test_a_clock_that_was_set_shows_no_cause(tmp_path: Path, by: float, said: str) -> None:
    capture = stepped(by).capture
    path = capture.write(tmp_path, frames.pcap(capture.records, link=capture.link))
    output = analyze(path).output
    assert "Cannot tell" in output and said in " ".join(output.split())


def test_interfaces_that_differ_set_no_clock_back(look: Look) -> None:
    file = look(talk()).file
    for back, is_sorted, found in ((10**6, False, 10**6), (10**6 - 1, False, 0), (10**9, True, 0)):
        assert replace(file, longest_back=back, is_sorted=is_sorted).clock_back == found


@pytest.mark.parametrize("size", [620, 1460])
def test_what_is_never_answered_shows_no_mtu(look: Look, size: int) -> None:
    """A black hole swallows large segments only: a smaller one has to have arrived."""
    flow = MadeCapture().flow()
    for at in (0.0, 0.21, 0.83, 2.07, 4.55, 9.5):
        flow.a.send(at, size, seq=1)
    found = judged(look, flow)
    assert found.cause == Cause.SILENT and "none of 5 repeats in 9.5 s" in found.sentence


def test_why_shows_features_and_rules(tmp_path: Path) -> None:
    path = exchanges(0.01, 29.9, 0.005, 2).capture.write(tmp_path)
    output = analyze("--why", path).output
    assert "carried = 2400" in output and "idle (idle): decides, 100%" in output
    assert "server (server): does not fit" in output


def test_the_time_before_the_first_data_has_a_cause(look: Look) -> None:
    for banner, cause in ((False, Cause.CLIENT), (True, Cause.SERVER)):
        flow = MadeCapture().flow().open(rtt=0.02)
        (flow.b if banner else flow.a).send(1.44 if banner else 1.42, 400)
        (flow.a if banner else flow.b).send(1.46, 1300)
        found = judged(look, flow)
        assert found.cause == cause and "first data after 1.4 s" in found.sentence


def test_packets_without_time_show_no_cause(look: Look, tmp_path: Path) -> None:
    flow = windows(MadeCapture().flow(scales=(None, None)).open(rtt=TRIP), False)
    path = tmp_path / "simple.pcapng"
    path.write_bytes(simple_blocks(flow.capture.sorted()))
    output = analyze(path).output
    words = " ".join(output.split())
    assert "Cannot tell: packets without a time show no cause." in words
    assert "have no time (simple packet blocks)" in words and "1970" not in words
