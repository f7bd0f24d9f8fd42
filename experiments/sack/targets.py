"""The SACK table: what iperf and tcptrace printed of the transfers without and with SACK.

The capture that was published for SACK on has no SACK in it, so its numbers are compared with runs
without SACK."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.measures.metrics import metric
from analysis.reporting.quantities import TRANSFER
from experiments.harness.published.target import (
    PublishedKernel,
    PublishedStudy,
    Target,
    as_number,
    published,
)

_REASONS = (
    (
        "min segm size",
        "The shortest segment is the header that iperf sends first: 24 bytes then, 60 now.",
    ),
    (
        "initial window",
        "The published first window is 8 and 9 segments of 1448 bytes and iperf's header of 24. The"
        " header of our iperf mostly leaves alone, so tcptrace at the receiver takes it for the"
        " whole first window; the sender's capture has the rest right behind it.",
    ),
    (
        "(max|avg) win adv",
        "The buffer asked for is the same, 128 KiB; today's Linux offers a larger part of it:"
        " 164 to 165 KB in each of 30 runs.",
    ),
    (
        "min win adv",
        "The published receiver offered ten segments at first, 14480 bytes; today's Linux offers 64"
        " KB or more (tcp_init_buffer_space and tcp_select_initial_window).",
    ),
    # iperf of the time marked 27 and 36 segments as the end of what it wrote, ours more.
    ("pushed data pkts", ""),
    (
        r"tcptrace (total packets|packets|unique bytes|actual data|outoforder)",
        "These rows are one fact: how much a transfer carried, little in the first capture, much in"
        " the second. That both are so far from our median is not explained.",
    ),
)


STUDY = PublishedStudy(
    "Explanation of a Mininet script for selective acknowledgement, with its results (2014)",
    order=1,
    kernel=PublishedKernel(
        "3.5 to 3.13",
        "Deduced: the text shows the prompt of Mininet's virtual machine (mininet@mininet-vm), and"
        " the machines of 2013 and 2014 were Ubuntu 12.10 to 14.04, which have these.",
        ("3.13",),
    ),
    seeds=(30, 100),  # a seed costs two seconds
    notes=(
        "Both published captures are of transfers without SACK. tcptrace printed 'sack pkts sent 0'"
        " for both directions of both, and of neither the line 'req sack', which it prints if a SYN"
        " offers SACK. The second was published for SACK on: its rows keep that name and are"
        " compared with our runs without SACK.",
        "Lines of iperf and captures are of different calls of the script: iperf's connections came"
        " from the ports 41225 (SACK off) and 41226 (on), the captured ones from 41230, at 10:42,"
        " and 41234, at 11:11. So only the three lines of iperf, seven numbers, can tell anything"
        " of SACK.",
        "No rows are the lines of tcptrace that follow from others (packets with ACK, without data)"
        " or are zero or the same in every transfer, such as urgent data and the requested MSS.",
    ),
    processor_seconds=(0.9, 0.9),
    reasons=_REASONS,
)
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
