"""Section 3.2 of the TCP assignment: UDP and the sum of ten TCP flows, with FIFO and with sfq."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.study.assignment import assigned, assignment, with_flows
from experiments.study.published import Row, Target, as_number, published

STUDY = assignment(__file__)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield each rate, the losses and jitter of UDP, and the extreme flows of TCP."""
    flows = published(__file__, "_flows")
    datagrams = published(__file__, "_datagrams")
    for row in published(__file__):
        queueing = "sfq" if "sfq" in row["condition"] else "fifo"
        flow = "udp" if row["flow"] == "udp" else "tcp*"
        rate = assigned(row, "udp_fairness", {"queueing": queueing}, "together", flow)
        if flow == "udp":
            (line,) = (line for line in datagrams if line["condition"] == row["condition"])
            yield from _of_datagrams(rate, line)
        else:
            yield from with_flows(rate, row, flows)


def _of_datagrams(rate: Target, line: Row) -> Iterator[Target]:
    yield rate
    columns = (
        ("datagrams lost", "%", "udp_lost_percent", "lost_percent"),
        ("jitter of datagrams", "ms", "udp_jitter_ms", "jitter_ms"),
    )
    plain = replace(rate, scale=1.0, note="", group="datagrams")
    for quantity, unit, metric, column in columns:
        value = as_number(line[column])
        yield replace(plain, quantity=quantity, unit=unit, published=value, metric=metric)
