"""Table of the delays of packets by port and flow, and of the time that flows took."""

from collections.abc import Iterator, Sequence

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
_OF_PORT = ("p50", "p95", "p99")
_MOST = 30
"""Rows; a run of hundreds of flows has more in its sweep's rows.csv."""
_NOTES = (
    "Each packet's queueing delay is its one-way delay less that of a lone packet; a delay that"
    " varies adds to it. A row of a port has the packets of all flows that cross it.",
    "A flow is complete from its first SYN to the last ACK, both in the sender's capture.",
)


def waiting(results: RunResults) -> tuple[Listing, ...]:
    """Return the table; none for a run without captures at both ends."""
    several = len(results.run.conditions) > 1
    rows = [row for condition in _conditions(results) for row in _rows(condition, several)]
    known = [row for row in rows if set(row[1:]) != {NOTHING}]
    if not known:
        return ()
    more = (f"{len(known) - _MOST} more rows are left out.",) if len(known) > _MOST else ()
    head = ("Port or flow", *_OF_FLOW)
    return (Listing("How long packets waited", head, tuple(known[:_MOST]), (*_NOTES, *more)),)


def _conditions(results: RunResults) -> list[list[Measured]]:
    """Return the trials of each condition."""
    return [
        [trial for trial in results.measured if trial.trial.condition == condition]
        for condition in results.run.conditions
    ]


def _rows(trials: Sequence[Measured], labelled: bool) -> Iterator[tuple[str, ...]]:
    if not trials:
        return
    label = f"{trials[0].trial.condition.label}, " if labelled else ""
    for port in trials[0].queues:
        found = [trial.queues[port] for trial in trials if port in trial.queues]
        cells = (spread([values[name] for values in found]) for name in _OF_PORT)
        yield (f"{label}{port}", *cells, *[NOTHING] * (len(_OF_FLOW) - len(_OF_PORT)))
    for number, flow in enumerate(trials[0].flows):
        values = (
            [trial.flows[number].number(name) for trial in trials] for name in _OF_FLOW.values()
        )
        cells = (spread([value for value in each if value is not None]) for each in values)
        yield (f"{label}{flow.flow.name}", *cells)
