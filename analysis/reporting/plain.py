"""Table and answers of an experiment without a report of its kind."""

from collections.abc import Iterator
from dataclasses import replace

from analysis.measures.metrics import metric
from analysis.measures.results import NOTHING, RunResults
from analysis.records.spec_file import RunFlow
from analysis.reporting import quantities as q
from analysis.reporting.answers import Answer, causes, each, facts, more_repetitions, ratios
from analysis.reporting.quantities import (
    CAUSES,
    DATAGRAMS_LOST,
    FLOWS,
    JITTER,
    KERNEL,
    ROUND_TRIPS,
    TRANSFER,
)
from analysis.reporting.tables import ReportQuantity, ReportTable, build_row


def plain_table(results: RunResults) -> ReportTable:
    """Return all quantities that were measured, without published values.

    Without a capture those that come from one are left out.
    """
    labels = tuple(condition.label for condition in results.run.conditions)
    flow, several = results.run.flow, FLOWS if len(results.run.flows) > 1 else ()
    quantities = (*several, *_of(flow), *ROUND_TRIPS, *CAUSES)
    rows = (build_row(results, quantity, None) for quantity in quantities)
    measured = tuple(row for row in rows if set(row.ours) != {NOTHING})
    title = f"What was measured: all flows, then {flow.name}" if several else "What was measured"
    return ReportTable(title, labels, measured, ())


def _of(flow: RunFlow) -> Iterator[ReportQuantity]:
    """Yield the quantities of this flow; a UDP sender has no counters of TCP."""
    counted = (DATAGRAMS_LOST, JITTER) if flow.protocol == "udp" else KERNEL
    for quantity in (*TRANSFER, *counted):
        yield replace(quantity, source=quantity.source.replace("flow1", flow.name))


GOODPUT = ReportQuantity(
    "Goodput of all flows", "kbit/s", metric("flows.total"), "last lines of all .server.txt"
)


_UNCOUNTED = (
    "Losses have no count by cause here: the hosts leave segmentation on, so tc counts packets of"
    " up to 64 KB."
)


def plain_answers(results: RunResults) -> tuple[Answer, ...]:
    """Return the answers to the three questions, as far as the run has measurements."""
    asked = (_arrived(results), _missing(results), _waited(results))
    return tuple(answer for answer in asked if answer.paragraphs)


def _arrived(results: RunResults) -> Answer:
    rates, several = each(results, GOODPUT), len(results.run.flows) > 1
    sentences = [f"{'All flows together get' if several else 'The goodput is'} {rates}."]
    fairness = each(results, q.FLOWS[-1])
    if fairness and several:
        sentences.append(
            f"Jain's fairness index, which is 1 if all flows have the same, is {fairness}."
        )
    sentences += [*ratios(results, GOODPUT, "goodput"), *more_repetitions(results)]
    used = (GOODPUT, *(q.FLOWS[1:] if several else (q.DATAGRAMS_LOST, q.JITTER)))
    return Answer("How much arrived?", tuple(sentences) if rates else (), facts(results, *used))


def _missing(results: RunResults) -> Answer:
    again, timeouts = each(results, q.RESENT), each(results, q.ALL_TIMEOUTS)
    sentences = causes(results) if results.run.counts_segments else [_UNCOUNTED]
    if again and timeouts and _has_tcp(results):
        sentences.append(
            f"TCP retransmitted {again} of its segments and had {timeouts} retransmission"
            " time-outs."
        )
    tcp = (q.RESENT, q.ALL_TIMEOUTS) if _has_tcp(results) else ()
    return Answer(
        "What did not arrive, and what became of it?",
        tuple(sentences),
        facts(results, *q.CAUSES, *tcp),
    )


def _has_tcp(results: RunResults) -> bool:
    return any(flow.protocol == "tcp" for flow in results.run.flows)


def _waited(results: RunResults) -> Answer:
    trips, least, above = (each(results, quantity) for quantity in q.ROUND_TRIPS)
    sentences = (
        [
            f"A round trip takes {trips} in the median, and at least {least}. What is above the"
            f" least, {above}, is waiting in queues, the time that full packets take on the link,"
            " or a delay that varies."
        ]
        if trips
        else []
    )
    return Answer("How long did packets wait?", tuple(sentences), facts(results, q.TRIP, q.WAITING))
