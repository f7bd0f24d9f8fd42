"""SACK off against SACK on, next to the figures published in 2014."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from analysis.measures.metrics import PAUSE, Metric, metric
from analysis.measures.results import NOTHING, RunResults, spread, written
from analysis.reporting import plain, quantities
from analysis.reporting import quantities as q
from analysis.reporting.answers import Answer, each, facts, more_repetitions, ratios
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import ReportQuantity, ReportTable, build_row, read_published
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Duration, Quantity, Rate, Share, Size

Pair = tuple[float, float]


def all_answers(results: RunResults) -> tuple[Answer, ...]:
    """The four questions."""
    return (_throughput(results), _retransmissions(results), _timeouts(results), _reason(results))


def _throughput(results: RunResults) -> Answer:
    question = "What did SACK change in the throughput, and by how much?"
    rates = each(results, q.THROUGHPUT)
    if not rates:
        return Answer(question, ("No repetition has a throughput, so this cannot be answered.",))
    return Answer(
        question,
        (
            f"The throughput is {rates}.",
            *ratios(results, q.THROUGHPUT, "throughput"),
            *more_repetitions(results),
        ),
        facts(results, q.THROUGHPUT, q.LOSS_SHARE),
    )


def _retransmissions(results: RunResults) -> Answer:
    paragraphs = []
    pairs, needless = _pairs(results, q.RETRANSMISSIONS), _pairs(results, q.NEEDLESS)
    if pairs:
        paragraphs.append(
            f"By the kernel's count the sender sent {_from_to(pairs)} segments again."
        )
    paragraphs += _repeated(results)
    if needless:
        paragraphs.append(
            f"Of what arrived, {_from_to(needless)} segments were needless copies: their data was"
            " there already. (tcptrace calls them 'rexmt' in the receiver's capture; they are not"
            " the retransmissions.)"
        )
    used = (q.RETRANSMISSIONS, q.SENT_AGAIN, q.ALL_BYTES, q.UNIQUE, q.NEEDLESS, q.LOST)
    return _answer(results, "What did SACK change in the retransmissions?", paragraphs, used)


def _repeated(results: RunResults) -> list[str]:
    sent, unique = _pairs(results, q.ALL_BYTES), _pairs(results, q.UNIQUE)
    if not sent or len(sent) != len(unique):
        return []
    shares = [_shares(every, once) for every, once in zip(sent, unique, strict=True)]
    return [
        f"Of the bytes that it sent, {_from_to(shares, ' %')} were repeats: the share compares,"
        " because the two conditions carry different amounts."
    ]


def _shares(every: Pair, once: Pair) -> Pair:
    """The share of repeats in percent, off and on."""
    return _share(every[0] - once[0], once[0]), _share(every[1] - once[1], once[1])


def _timeouts(results: RunResults) -> Answer:
    paragraphs = []
    pairs = _pairs(results, q.TIMEOUTS)
    if pairs:
        paragraphs.append(
            f"The sender waited for a retransmission time-out {_from_to(pairs)} times."
        )
    counts, paused, longest = (
        _pairs(results, quantity) for quantity in (q.PAUSES, q.PAUSED, q.LONGEST)
    )
    if counts and paused and longest:
        paragraphs.append(
            f"Counting only pauses of at least {PAUSE:g} s, it was silent for"
            f" {_from_to(paused, ' s')} in all, in {_from_to(counts)} pauses; the longest took"
            f" {_from_to(longest, ' s')}."
        )
    used = (q.TIMEOUTS, q.SPURIOUS, q.PAUSES, q.PAUSED, q.LONGEST, q.IDLE)
    return _answer(
        results, "What did SACK change in the time-outs and idle times?", paragraphs, used
    )


def _reason(results: RunResults) -> Answer:
    paragraphs = [
        (
            "What the standards say: without SACK an ACK tells only where the first gap begins, so"
            " fast recovery repairs one gap per round trip (RFC 6582). With SACK each ACK lists"
            " what lies above the gaps (RFC 2018), and the sender repairs several gaps in one round"
            " trip (RFC 6675). What was measured:"
        ),
        *_repairs(results),
        *_link(results),
    ]
    used = (
        q.TIMEOUTS,
        q.RENO,
        q.RENO_FAILED,
        q.SACK,
        q.SACK_FAILED,
        q.FAST,
        q.SLOW,
        q.LOST_AGAIN,
        q.PROBES,
    )
    return _answer(results, "Why?", paragraphs, used)


def _repairs(results: RunResults) -> list[str]:
    """How losses were found, from the kernel's counters."""
    timeouts, reno, sack = (_pairs(results, quantity) for quantity in (q.TIMEOUTS, q.RENO, q.SACK))
    if not timeouts or not len(timeouts) == len(reno) == len(sack):
        return []
    fast = [
        (before[0] + after[0], before[1] + after[1])
        for before, after in zip(reno, sack, strict=True)
    ]
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
    """Whether the time-outs go with the throughput, in either direction.

    Nothing is said unless both were measured.
    """
    timeouts, rates = _pairs(results, q.TIMEOUTS), _pairs(results, q.THROUGHPUT)
    if not timeouts or not rates:
        return []
    if not _rises(rates):
        return ["The median throughput did not rise, so there is no gain to explain here."]
    if _falls(timeouts):
        return [
            "Each time-out costs a pause and brings the congestion window back to one segment."
            " Fewer time-outs and the higher throughput go together here."
        ]
    return [
        "The median throughput rose although the time-outs did not become fewer: they do not"
        " explain the gain."
    ]


def _falls(pairs: list[Pair]) -> bool:
    off, on = _medians(pairs)
    return on < off


def _rises(pairs: list[Pair]) -> bool:
    off, on = _medians(pairs)
    return on > off


def _answer(
    results: RunResults, question: str, paragraphs: list[str], used: tuple[ReportQuantity, ...]
) -> Answer:
    return Answer(
        question,
        tuple(paragraphs) or ("The files that tell this could not be read.",),
        facts(results, *used),
    )


def _pairs(results: RunResults, quantity: ReportQuantity) -> list[Pair]:
    return [
        (row[0], row[1])
        for row in results.pairs(quantity.key, results.run.conditions[:2])
        if len(row) == 2
    ]


def _medians(pairs: list[Pair]) -> Pair:
    return median(off for off, _ in pairs), median(on for _, on in pairs)


def _from_to(pairs: list[Pair], unit: str = "") -> str:
    off, on = _medians(pairs)
    return f"{written(off)}{unit} (SACK off) and {written(on)}{unit} (SACK on)"


CONDITIONS = ("sack_off", "sack_on")
PUBLISHED_PATH: dict[str, Quantity] = {
    "bw": Rate.parse("1mbit"),
    "delay": Duration.parse("40ms"),
    "loss": Share.parse("10%"),
    "window": Size.parse("128KiB"),
    "jitter": Duration.parse("0s"),
}
"""The parameters of the published experiment."""
_PUBLISHED = Path(__file__).with_name("published.csv")
PUBLISHED_SECONDS = 10
"""The published experiment ran iperf for its default time."""


def is_sack(results: RunResults) -> bool:
    """Whether the run has the two conditions that this study compares."""
    return tuple(condition.name for condition in results.run.conditions) == CONDITIONS


def differing(parameters: dict[str, str]) -> list[str]:
    """The parameters that are not the published ones, as `name value`.

    An absent or unreadable one differs.
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
    """The published quantities: published, ours, difference.

    Without the published ones if the path differs; the plain table under other conditions.
    """
    if not is_sack(results):
        return plain.plain_table(results)
    labels = tuple(condition.label for condition in results.run.conditions)
    unlike = differing(results.run.parameters)
    published = {} if unlike else read_published(_PUBLISHED)
    rows = tuple(
        build_row(results, quantity, published.get(quantity.name))
        for quantity in quantities.TRANSFER
    )
    if unlike:
        note = (
            "The published figures are for another path and are left out. Different here:"
            f" {', '.join(unlike)}."
        )
        return ReportTable("What was measured", labels, rows, (note,))
    return ReportTable("Published in 2014, and measured here", labels, rows, tuple(_notes(results)))


def _notes(results: RunResults) -> list[str]:
    """Why figures differ, as far as something that was measured tells."""
    duration = results.run.parameters.get("duration", "unknown")
    notes = [
        (
            f"Here iperf sent for {duration}, in the original for {PUBLISHED_SECONDS} s: compare"
            " the rates. † marks totals, which grow with that time."
        ),
        "A difference is our median against the published figure, which is a single run.",
        "'rexmt data' at the receiver is what arrived there twice, not what the sender sent again.",
    ]
    return [
        *notes,
        (
            "The capture that was published for SACK on has no SACK in it: its figures are left out"
            " here. ./tcplab reproduce --only sack has them, beside ours without SACK."
        ),
        *_factor_note(results),
        *_window_note(results),
        *_first_segment_note(results),
        *_loss_note(results),
    ]


def _factor_note(results: RunResults) -> list[str]:
    rates = read_published(_PUBLISHED)["iperf client"].values
    ours = [
        off_on[1] / off_on[0]
        for off_on in results.pairs(metric("client.rate"), results.run.conditions)
        if off_on[0] > 0
    ]
    if not ours:
        return []
    return [
        f"By iperf's client line SACK on had {rates['sack_on'] / rates['sack_off']:.2f} times the"
        f" throughput of SACK off in the original; here {spread(ours)} times."
    ]


def _window_note(results: RunResults) -> list[str]:
    window = _median(results, metric("receiver.back.max_win_adv"))
    return (
        [f"The largest window that our receiver advertised is {written(window)} bytes."]
        if window
        else []
    )


def _first_segment_note(results: RunResults) -> list[str]:
    smallest, initial = (
        _median(results, metric("receiver.min_segm_size")),
        _median(results, metric("receiver.initial_window_bytes")),
    )
    if smallest is None or initial is None or initial > 10 * smallest:
        return []
    sent = _median(results, metric("sender.initial_window_bytes"))
    sender = f"; in the sender's capture it is {written(sent)} bytes" if sent else ""
    return [
        f"Our iperf first sends a segment of {written(smallest)} bytes, which tcptrace at the"
        f" receiver takes for the whole initial window{sender}."
    ]


def _loss_note(results: RunResults) -> list[str]:
    shares = [
        spread(results.values(metric("path.share"), condition))
        for condition in results.run.conditions
    ]
    if NOTHING in shares:
        return []
    listed = ", ".join(
        f"{share} % ({case.label})"
        for share, case in zip(shares, results.run.conditions, strict=True)
    )
    return [
        f"The loss that was drawn towards the receiver: {listed}. The original's is not published."
    ]


def _median(results: RunResults, key: Metric) -> float | None:
    values = [
        value for condition in results.run.conditions for value in results.values(key, condition)
    ]
    return median(values) if values else None


def answers(results: RunResults) -> tuple[Answer, ...]:
    """The assignment's questions; those of any experiment under other conditions."""
    return all_answers(results) if is_sack(results) else plain.plain_answers(results)


REPORT = StudyReport(table=table, answers=answers)
