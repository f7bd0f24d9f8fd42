"""SACK off against SACK on, next to the figures published in 2014."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from analysis.measures.metrics import PAUSE, metric
from analysis.measures.results import NOTHING, RunResults, spread, written
from analysis.reporting import studies
from analysis.reporting import tables as q
from analysis.reporting.answers import Answer, each, facts, more_repetitions, ratios
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import ReportQuantity, ReportTable, build_row, read_published
from topologies.errors import UsageError
from topologies.units import Duration, Quantity, Rate, Share, Size

Pair = tuple[float, float]
"""A value with SACK off and one with SACK on, under one seed."""
CONDITIONS = ("sack_off", "sack_on")
PUBLISHED_PATH: dict[str, Quantity] = {
    "bw": Rate.parse("1mbit"),
    "delay": Duration.parse("40ms"),
    "loss": Share.parse("10%"),
    "window": Size.parse("128KiB"),
    "jitter": Duration.parse("0s"),
}
"""Parameters of the published experiment."""
_PUBLISHED = Path(__file__).with_name("published.csv")
PUBLISHED_SECONDS = 10
"""Duration of the published experiment, iperf's default."""


def is_sack(results: RunResults) -> bool:
    """True if the run has the two conditions that this study compares."""
    return tuple(condition.name for condition in results.run.conditions) == CONDITIONS


def answers(results: RunResults) -> tuple[Answer, ...]:
    """Answer the assignment's questions; under other conditions those of any experiment."""
    if not is_sack(results):
        return studies.plain_answers(results)
    return (_throughput(results), _retransmissions(results), _timeouts(results), _reason(results))


def _throughput(results: RunResults) -> Answer:
    question = "What did SACK change in the throughput, and by how much?"
    rates = each(results, q.THROUGHPUT)
    if not rates:
        return Answer(question, ("No repetition has a throughput, so this cannot be answered.",))
    compared = ratios(results, q.THROUGHPUT, "throughput")
    sentences = (f"The throughput is {rates}.", *compared, *more_repetitions(results))
    return Answer(question, sentences, facts(results, q.THROUGHPUT, q.LOSS_SHARE))


def _retransmissions(results: RunResults) -> Answer:
    paragraphs = []
    if pairs := _pairs(results, q.RETRANSMISSIONS):
        paragraphs.append(
            f"By the kernel's count the sender sent {_from_to(pairs)} segments again."
        )
    sent, unique = _pairs(results, q.ALL_BYTES), _pairs(results, q.UNIQUE)
    if sent and len(sent) == len(unique):
        repeats = [
            (_share(every[0] - once[0], once[0]), _share(every[1] - once[1], once[1]))
            for every, once in zip(sent, unique, strict=True)
        ]
        paragraphs.append(
            f"Of the bytes that it sent, {_from_to(repeats, ' %')} were repeats: the share"
            " compares, because the two conditions carry different amounts."
        )
    if needless := _pairs(results, q.NEEDLESS):
        paragraphs.append(
            f"Of what arrived, {_from_to(needless)} segments were needless copies: their data was"
            " there already. (tcptrace calls them 'rexmt' in the receiver's capture; they are not"
            " the retransmissions.)"
        )
    used = (q.RETRANSMISSIONS, q.SENT_AGAIN, q.ALL_BYTES, q.UNIQUE, q.NEEDLESS, q.LOST)
    return _answer(results, "What did SACK change in the retransmissions?", paragraphs, used)


def _timeouts(results: RunResults) -> Answer:
    paragraphs = []
    if pairs := _pairs(results, q.TIMEOUTS):
        paragraphs.append(
            f"The sender waited for a retransmission time-out {_from_to(pairs)} times."
        )
    counts, paused, longest = (_pairs(results, each) for each in (q.PAUSES, q.PAUSED, q.LONGEST))
    if counts and paused and longest:
        paragraphs.append(
            f"Counting only pauses of at least {PAUSE:g} s, it was silent for"
            f" {_from_to(paused, ' s')} in all, in {_from_to(counts)} pauses; the longest took"
            f" {_from_to(longest, ' s')}."
        )
    used = (q.TIMEOUTS, q.SPURIOUS, q.PAUSES, q.PAUSED, q.LONGEST, q.IDLE)
    question = "What did SACK change in the time-outs and idle times?"
    return _answer(results, question, paragraphs, used)


def _reason(results: RunResults) -> Answer:
    paragraphs = [
        "What the standards say: without SACK an ACK tells only where the first gap begins, so"
        " fast recovery repairs one gap per round trip (RFC 6582). With SACK each ACK lists"
        " what lies above the gaps (RFC 2018), and the sender repairs several gaps in one round"
        " trip (RFC 6675). What was measured:",
        *_repairs(results),
        *_link(results),
    ]
    recoveries = (q.RENO, q.RENO_FAILED, q.SACK, q.SACK_FAILED)
    used = (q.TIMEOUTS, *recoveries, q.FAST, q.SLOW, q.LOST_AGAIN, q.PROBES)
    return _answer(results, "Why?", paragraphs, used)


def _repairs(results: RunResults) -> list[str]:
    """Return how losses were found, from the kernel's counters."""
    timeouts, reno, sack = (_pairs(results, each) for each in (q.TIMEOUTS, q.RENO, q.SACK))
    if not timeouts or not len(timeouts) == len(reno) == len(sack):
        return []
    fast = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(reno, sack, strict=True)]
    shares = [
        (_share(slow[0], quick[0]), _share(slow[1], quick[1]))
        for slow, quick in zip(timeouts, fast, strict=True)
    ]
    return [
        f"The kernel started {_from_to(fast)} fast recoveries (TcpExtTCPRenoRecovery +"
        f" TcpExtTCPSackRecovery) and had {_from_to(timeouts)} time-outs (TcpExtTCPTimeouts):"
        f" time-outs are {_from_to(shares, ' %')} of the sum."
    ]


def _share(part: float, rest: float) -> float:
    return 100 * part / (part + rest) if part + rest else 0.0


def _link(results: RunResults) -> list[str]:
    """Return if fewer time-outs go with the throughput; empty unless both were measured."""
    timeouts, rates = _pairs(results, q.TIMEOUTS), _pairs(results, q.THROUGHPUT)
    if not timeouts or not rates:
        return []
    (waits_off, waits_on), (off, on) = _medians(timeouts), _medians(rates)
    if on <= off:
        return ["The median throughput did not rise, so there is no gain to explain here."]
    if waits_on < waits_off:
        return [
            "Each time-out costs a pause and brings the congestion window back to one segment."
            " Fewer time-outs and the higher throughput go together here."
        ]
    return [
        "The median throughput rose although the time-outs did not become fewer: they do not"
        " explain the gain."
    ]


def _answer(
    results: RunResults, question: str, paragraphs: list[str], used: tuple[ReportQuantity, ...]
) -> Answer:
    unread = "The files that show this could not be read."
    return Answer(question, tuple(paragraphs) or (unread,), facts(results, *used))


def _pairs(results: RunResults, quantity: ReportQuantity) -> list[Pair]:
    rows = results.pairs(quantity.key, results.run.conditions[:2])
    return [(row[0], row[1]) for row in rows if len(row) == 2]


def _medians(pairs: list[Pair]) -> Pair:
    return median(off for off, _ in pairs), median(on for _, on in pairs)


def _from_to(pairs: list[Pair], unit: str = "") -> str:
    off, on = _medians(pairs)
    return f"{written(off)}{unit} (SACK off) and {written(on)}{unit} (SACK on)"


def differing(parameters: dict[str, str]) -> list[str]:
    """Return the parameters that are not the published ones, as `name value`.

    A missing or unreadable one differs.
    """
    return [
        f"{name} {parameters.get(name) or 'unknown'}"
        for name in PUBLISHED_PATH
        if not _agrees(parameters, name)
    ]


def _agrees(parameters: dict[str, str], name: str) -> bool:
    asked = PUBLISHED_PATH[name]
    try:
        return type(asked).parse(parameters.get(name, "")) == asked
    except UsageError:
        return False


def table(results: RunResults) -> ReportTable:
    """Return the published quantities: published, measured, difference.

    The published ones are missing if the path differs; other conditions have the plain table.
    """
    if not is_sack(results):
        return studies.plain_table(results)
    labels = tuple(condition.label for condition in results.run.conditions)
    unlike = differing(results.run.parameters)
    published = {} if unlike else read_published(_PUBLISHED)
    rows = tuple(build_row(results, each, published.get(each.name)) for each in q.TRANSFER)
    if unlike:
        note = (
            "The published figures are for another path and are left out. Different here:"
            f" {', '.join(unlike)}."
        )
        return ReportTable("What was measured", labels, rows, (note,))
    return ReportTable("Published in 2014, and measured here", labels, rows, tuple(_notes(results)))


def _notes(results: RunResults) -> Iterator[str]:
    """Yield reasons for differences, as far as measurements show them."""
    duration = results.run.parameters.get("duration", "unknown")
    yield (
        f"Here iperf sent for {duration}, in the original for {PUBLISHED_SECONDS} s: compare"
        " the rates. † marks totals, which grow with that time."
    )
    yield "A difference is our median against the published figure, which is a single run."
    yield (
        "'rexmt data' at the receiver is what arrived there twice, not what the sender sent again."
    )
    yield (
        "The capture that was published for SACK on has no SACK in it: its figures are left out"
        " here. ./tcplab reproduce --only sack has them, next to our runs without SACK."
    )
    rates = read_published(_PUBLISHED)["iperf client"].values
    measured = results.pairs(metric("client.rate"), results.run.conditions)
    if factors := [row[1] / row[0] for row in measured if row[0] > 0]:
        yield (
            f"By iperf's client line SACK on had {rates['sack_on'] / rates['sack_off']:.2f} times"
            f" the throughput of SACK off in the original; here {spread(factors)} times."
        )
    if window := _median(results, "receiver.back.max_win_adv"):
        yield f"The largest window that our receiver advertised is {written(window)} bytes."
    smallest = _median(results, "receiver.min_segm_size")
    initial = _median(results, "receiver.initial_window_bytes")
    if smallest is not None and initial is not None and initial <= 10 * smallest:
        sent = _median(results, "sender.initial_window_bytes")
        sender = f"; in the sender's capture it is {written(sent)} bytes" if sent else ""
        yield (
            f"Our iperf first sends a segment of {written(smallest)} bytes, which tcptrace at the"
            f" receiver takes for the whole initial window{sender}."
        )
    shares = {
        condition.label: spread(results.values(metric("path.share"), condition))
        for condition in results.run.conditions
    }
    if NOTHING not in shares.values():
        listed = ", ".join(f"{share} % ({label})" for label, share in shares.items())
        yield (
            f"The loss that was drawn towards the receiver: {listed}. The original's is not"
            " published."
        )


def _median(results: RunResults, key: str) -> float | None:
    conditions = results.run.conditions
    values = [value for each in conditions for value in results.values(metric(key), each)]
    return median(values) if values else None


REPORT = StudyReport(table=table, answers=answers)
