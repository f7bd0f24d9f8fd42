"""Tables of the delays of packets, of the time that flows took, and of response times."""

from collections.abc import Iterator, Mapping, Sequence

from analysis.measures.results import NOTHING, Measured, RunResults, spread
from analysis.reporting.tables import Listing

_OF_FLOW = {
    "Queueing, median (ms)": "queueing_p50_ms",
    "95 %": "queueing_p95_ms",
    "99 %": "queueing_p99_ms",
    "One-way delay, median (ms)": "delay_p50_ms",
    "95 % ": "delay_p95_ms",
    "99 % ": "delay_p99_ms",
    "While all send, 95 % (ms)": "delay_under_load_p95_ms",
    "Complete after (s)": "completion_s",
}
_OF_EXCHANGES = {
    "Exchanges": "exchanges",
    "Did not end": "exchanges_missing",
    "Time, median (ms)": "exchange_p50_ms",
    "95 %": "exchange_p95_ms",
    "99 %": "exchange_p99_ms",
    "Late (%)": "late_percent",
}
_OF_PORT = ("p50", "p95", "p99")
_MOST = 30
"""Rows; a run of hundreds of flows has more in its sweep's rows.csv."""
_NOTES = (
    "Each packet's queueing delay is its one-way delay less that of a lone packet; a delay that"
    " varies adds to it. A row of a port has the packets of all flows that cross it.",
    "A flow is complete from its first SYN to the last ACK, both in the sender's capture.",
)
_EXCHANGE = (
    "An exchange is a request and its answer, an object of a page, a probe, or a call's datagram.",
)


def waiting(results: RunResults) -> tuple[Listing, ...]:
    """Return the table of delays; none for a run without captures at both ends."""
    rows = [
        row
        for label, trials in _conditions(results)
        for row in (*_of_ports(label, trials), *_of_flows(label, trials, _OF_FLOW))
    ]
    return _listing("How long packets waited", ("Port or flow", *_OF_FLOW), rows, _NOTES)


def responding(results: RunResults) -> tuple[Listing, ...]:
    """Return the table of response times; none for a run without applications."""
    rows = [
        row
        for label, trials in _conditions(results)
        for row in _of_flows(label, trials, _OF_EXCHANGES)
    ]
    return _listing("How long exchanges took", ("Flow", *_OF_EXCHANGES), rows, _EXCHANGE)


def _conditions(results: RunResults) -> Iterator[tuple[str, list[Measured]]]:
    """Yield the trials of each condition, and how their rows begin."""
    several = len(results.run.conditions) > 1
    for condition in results.run.conditions:
        trials = [trial for trial in results.measured if trial.trial.condition == condition]
        if trials:
            yield (f"{condition.label}, " if several else ""), trials


def _listing(
    title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], notes: tuple[str, ...]
) -> tuple[Listing, ...]:
    known = [row for row in rows if set(row[1:]) != {NOTHING}]
    if not known:
        return ()
    more = (f"{len(known) - _MOST} more rows are left out.",) if len(known) > _MOST else ()
    return (Listing(title, head, tuple(known[:_MOST]), (*notes, *more)),)


def _of_ports(label: str, trials: Sequence[Measured]) -> Iterator[tuple[str, ...]]:
    for port in trials[0].queues:
        found = [trial.queues[port] for trial in trials if port in trial.queues]
        cells = (spread([values[name] for values in found]) for name in _OF_PORT)
        yield (f"{label}{port}", *cells, *[NOTHING] * (len(_OF_FLOW) - len(_OF_PORT)))


def _of_flows(
    label: str, trials: Sequence[Measured], columns: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    for number, flow in enumerate(trials[0].flows):
        values = (
            [trial.flows[number].number(name) for trial in trials] for name in columns.values()
        )
        cells = (spread([value for value in each if value is not None]) for each in values)
        yield (f"{label}{flow.flow.name}", *cells)
