"""The table of a sweep over queues: what the UDP flow got, and how the TCP flows share the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.measures.flow_rows import jain
from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.swept_runs import Row, SweptCell, flow_value, over_runs, varied
from analysis.reporting.tables import Listing

_NOTE = (
    "Medians over the seeds, with the range. UDP's figures are those of iperf's server; its jitter"
    " is RFC 1889's."
)


def by_queue(sweep: SweepRecord, cells: Sequence[SweptCell]) -> tuple[Listing, ...]:
    """What the UDP flow sent, lost and got, and how the TCP flows share the rest."""
    rows = tuple(
        (cell.name, *(over_runs(measure, cell.runs) for measure in _COLUMNS.values()))
        for cell in cells
    )
    return (Listing("UDP and TCP in each queue", (varied(sweep), *_COLUMNS), rows, (_NOTE,)),)


def _tcp(
    choose: Callable[[list[float]], float], scale: float
) -> Callable[[list[Row]], float | None]:
    """Something about the goodputs of a run's TCP flows."""

    def measure(rows: list[Row]) -> float | None:
        rates = [row["goodput_kbit_s"] for row in rows if row["flow"].startswith("tcp")]
        return None if not rates or None in rates else scale * choose(rates)

    return measure


_COLUMNS: dict[str, Callable[[list[Row]], float | None]] = {
    "UDP, sent (Mbit/s)": flow_value("client_kbit_s", "udp", 1e-3),
    "UDP, received (Mbit/s)": flow_value("goodput_kbit_s", "udp", 1e-3),
    "UDP datagrams lost (%)": flow_value("udp_lost_percent", "udp"),
    "UDP jitter (ms)": flow_value("udp_jitter_ms", "udp"),
    "TCP, sum (Mbit/s)": _tcp(sum, 1e-3),
    "Jain's index of the TCP flows": _tcp(jain, 1.0),
    "Slowest TCP (Mbit/s)": _tcp(min, 1e-3),
    "Fastest TCP (Mbit/s)": _tcp(max, 1e-3),
}
