"""Tables that only one experiment's sweep has: UDP beside TCP by queue, and the packet dropper's
own columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from analysis.measures.flow_rows import jain, value_of
from analysis.measures.run_results import spread
from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.tables import Listing
from experiments.packet_dropper import report

Row = dict[str, Any]
Cell = tuple[str, list[list[Row]]]
"""A cell of the grid: its values in words, and the rows of each of its runs, in the order of the
seeds.
"""


def listings(sweep: SweepRecord) -> tuple[Listing, ...]:
    """The experiment's own tables; none where it has none or its rows cannot be read (samples.py
    says so).
    """
    make = _OWN.get(sweep.experiment)
    if make is None:
        return ()
    try:
        return make(sweep, _cells(sweep))
    except (OSError, KeyError, ValueError, TypeError, pl.exceptions.PolarsError):
        return ()


def _cells(sweep: SweepRecord) -> list[Cell]:
    """Every cell that has runs, in the order of the grid."""
    found: dict[tuple[int, ...], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    codes = [dict(factor.codes) for factor in sweep.factors]
    for row in pl.read_parquet(sweep.path / "rows.parquet").to_dicts():
        place = tuple(
            known[row[factor.name]] for factor, known in zip(sweep.factors, codes, strict=True)
        )
        found[place][row["seed"]].append(row)
    return [
        (_called(sweep, place), [rows for _, rows in sorted(found[place].items())])
        for place in sorted(found)
    ]


def _called(sweep: SweepRecord, place: tuple[int, ...]) -> str:
    """The values of the factors that vary; `_varied` names these."""
    values = (
        factor.values[level]
        for factor, level in zip(sweep.factors, place, strict=True)
        if len(factor.values) > 1
    )
    return ", ".join(values) or "all runs"


def _varied(sweep: SweepRecord) -> str:
    return ", ".join(factor.short for factor in sweep.factors if len(factor.values) > 1)


def _fairness(sweep: SweepRecord, cells: Sequence[Cell]) -> tuple[Listing, ...]:
    """What the UDP flow sent, lost and got, and how the TCP flows share the rest."""
    head = (_varied(sweep), *_FAIRNESS)
    rows = tuple(
        (name, *(_over_runs(measure, runs) for measure in _FAIRNESS.values()))
        for name, runs in cells
    )
    note = (
        "Medians over the seeds, with the range. UDP's figures are those of iperf's server; its"
        " jitter is RFC 1889's."
    )
    return (Listing("UDP and TCP in each queue", head, rows, (note,)),)


def _over_runs(measure: Callable[[list[Row]], float | None], runs: Sequence[list[Row]]) -> str:
    return spread([value for run in runs if (value := measure(run)) is not None])


def _value(metric: str, flow: str, scale: float = 1.0) -> Callable[[list[Row]], float | None]:
    """What a run's flows of that name (see value_of) give for a metric."""

    def measure(rows: list[Row]) -> float | None:
        value = value_of(rows, metric, flow)
        return None if value is None else scale * value

    return measure


def _tcp(
    choose: Callable[[list[float]], float], scale: float
) -> Callable[[list[Row]], float | None]:
    """Something about the goodputs of a run's TCP flows."""

    def measure(rows: list[Row]) -> float | None:
        rates = [row["goodput_kbit_s"] for row in rows if row["flow"].startswith("tcp")]
        return None if not rates or None in rates else scale * choose(rates)

    return measure


_FAIRNESS: dict[str, Callable[[list[Row]], float | None]] = {
    "UDP, sent (Mbit/s)": _value("client_kbit_s", "udp", 1e-3),
    "UDP, received (Mbit/s)": _value("goodput_kbit_s", "udp", 1e-3),
    "UDP datagrams lost (%)": _value("udp_lost_percent", "udp"),
    "UDP jitter (ms)": _value("udp_jitter_ms", "udp"),
    "TCP, sum (Mbit/s)": _tcp(sum, 1e-3),
    "Jain's index of the TCP flows": _tcp(jain, 1.0),
    "Slowest TCP (Mbit/s)": _tcp(min, 1e-3),
    "Fastest TCP (Mbit/s)": _tcp(max, 1e-3),
}


def _dropper(sweep: SweepRecord, cells: Sequence[Cell]) -> tuple[Listing, ...]:
    """The original's table, each of its lines above ours where everything else is as published."""
    rows: list[tuple[str, ...]] = []
    shown: set[float] = set()
    for name, runs in cells:
        fixed = sweep.parameters | {
            key: str(value) for key, value in runs[0][0].items() if value is not None
        }
        dropped, requests = (
            report.percent(fixed.get("loss", "")),
            float(fixed.get("requests", 0)),
        )
        if dropped is not None and dropped not in shown and report.as_published(fixed):
            shown.add(dropped)
            times = report.published_times(dropped)
            rows += (
                [(f"published, {fixed['loss']}", *report.cells(times, requests))] if times else []
            )
        found = [row["client_seconds"] for run in runs for row in run]
        rows.append((name, *report.cells([time for time in found if time is not None], requests)))
    return (
        Listing(
            "Elapsed times",
            (_varied(sweep), *report.HEAD),
            tuple(rows),
            report.NOTES,
        ),
    )


_OWN: dict[str, Callable[[SweepRecord, Sequence[Cell]], tuple[Listing, ...]]] = {
    "udp_fairness": _fairness,
    "packet_dropper": _dropper,
}
