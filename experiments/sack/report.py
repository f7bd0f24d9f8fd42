"""SACK off against SACK on, beside the figures that were published in 2014."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from analysis.measures import metric_keys
from analysis.measures.metric_keys import MetricKey
from analysis.measures.run_results import NOTHING, RunResults, spread, written
from analysis.reporting import plain_answers, plain_table, quantities
from analysis.reporting.answers import Answer
from analysis.reporting.study_reports import StudyReport
from analysis.reporting.tables import ReportTable, build_row, read_published
from experiments.sack.sack_answers import all_answers
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Duration, Quantity, Rate, Share, Size

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
        return plain_table.table(results)
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
        for off_on in results.pairs(metric_keys.CLIENT_RATE, results.run.conditions)
        if off_on[0] > 0
    ]
    if not ours:
        return []
    return [
        f"By iperf's client line SACK on had {rates['sack_on'] / rates['sack_off']:.2f} times the"
        f" throughput of SACK off in the original; here {spread(ours)} times."
    ]


def _window_note(results: RunResults) -> list[str]:
    window = _median(results, metric_keys.RECEIVER.back_max_win_adv)
    return (
        [f"The largest window that our receiver advertised is {written(window)} bytes."]
        if window
        else []
    )


def _first_segment_note(results: RunResults) -> list[str]:
    smallest, initial = (
        _median(results, metric_keys.RECEIVER.min_segm_size),
        _median(results, metric_keys.RECEIVER.initial_window_bytes),
    )
    if smallest is None or initial is None or initial > 10 * smallest:
        return []
    sent = _median(results, metric_keys.SENDER.initial_window_bytes)
    sender = f"; in the sender's capture it is {written(sent)} bytes" if sent else ""
    return [
        f"Our iperf first sends a segment of {written(smallest)} bytes, which tcptrace at the"
        f" receiver takes for the whole initial window{sender}."
    ]


def _loss_note(results: RunResults) -> list[str]:
    shares = [
        spread(results.values(metric_keys.PATH_SHARE, condition))
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


def _median(results: RunResults, key: MetricKey) -> float | None:
    values = [
        value for condition in results.run.conditions for value in results.values(key, condition)
    ]
    return median(values) if values else None


def answers(results: RunResults) -> tuple[Answer, ...]:
    """The assignment's questions; those of any experiment under other conditions."""
    return all_answers(results) if is_sack(results) else plain_answers.answers(results)


REPORT = StudyReport(table=table, answers=answers)
