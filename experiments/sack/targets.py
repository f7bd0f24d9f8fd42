"""The SACK table: what iperf and tcptrace printed of the transfers without and with SACK.

The capture that was published for SACK on has no SACK in it, so its numbers are compared with runs
without SACK."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.measures.metrics import metric
from analysis.reporting.tables import TRANSFER
from experiments.study.published import Target, as_number, published, study

STUDY = study(__file__)
_CAPTURED = {
    "tcptrace sack pkts sent b->a": metric("receiver.back.sack_pkts_sent"),
    "tcptrace actual data pkts a->b": metric("receiver.actual_data_pkts"),
    "tcptrace pushed data pkts a->b": metric("receiver.pushed_data_pkts"),
    "tcptrace max segm size a->b": metric("receiver.max_segm_size"),
    "tcptrace min segm size a->b": metric("receiver.min_segm_size"),
    "tcptrace avg segm size a->b": metric("receiver.avg_segm_size"),
    "tcptrace min win adv b->a": metric("receiver.back.min_win_adv"),
    "tcptrace avg win adv b->a": metric("receiver.back.avg_win_adv"),
    "tcptrace initial window pkts a->b": metric("receiver.initial_window_pkts"),
    "tcptrace idletime max b->a": metric("receiver.back.idletime_max"),
}
"""Published quantities that the report's table lacks."""
_COLUMNS = {
    "sack_off": ("SACK off", "sack_off"),
    "sack_on": ("SACK on", "sack_on"),
    "second_capture": ("SACK on (the capture has no SACK)", "sack_off"),
}
"""Columns of published.csv: the published label, and the condition that it is compared with."""


def targets(_quick: bool) -> Iterator[Target]:
    """Yield a target for each number. The server's line without SACK is not published."""
    measured = {quantity.name: quantity.key for quantity in TRANSFER} | _CAPTURED
    for row in published(__file__):
        is_iperf = row["quantity"].startswith("iperf")
        for column, (label, condition) in _COLUMNS.items():
            if row[column]:
                yield Target(
                    "sack",
                    label,
                    row["quantity"],
                    row["unit"],
                    as_number(row[column]),
                    (("duration", "10s"),),
                    condition,
                    measured[row["quantity"]].name,
                    captured=True,
                    series=label,
                    group="lines of iperf" if is_iperf else f"tcptrace, {label}",
                )
