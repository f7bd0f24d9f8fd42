"""The table of all kernels, from records whose figures are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.harness.kernels.cases import KernelCase, chosen_cases
from experiments.harness.kernels.table import CASES, KernelTable
from testbed.lab.kernel.built import BuiltKernel

SEEDS = range(1, 7)


def built(name: str, cost: float = 0.0) -> BuiltKernel:
    return BuiltKernel(Path(), name, f"{name}.1", "", "gcc", cost)


def record(case: KernelCase, value: float, cpu: float) -> dict[str, Any]:
    """A run in which every measure of the case is `value`."""
    rows = [
        {"condition": measure.condition, "flow": measure.flow, measure.metric.name: value}
        for measure in case.measures
    ]
    filled = [{measure.metric.name: None for measure in case.measures} | row for row in rows]
    return {"status": "complete", "problem": "", "rows": filled, "usage": {"cpu_seconds": cpu}}


def table() -> KernelTable:
    kernels = (built("7.2", 365.4), built("2.6.32"))
    made = KernelTable(kernels, chosen_cases(CASES), SEEDS)
    for case in made.cases:
        for seed in SEEDS:
            made.records["7.2", case.name, seed] = record(case, 1000.0 + seed, 2.0)
            made.records["2.6.32", case.name, seed] = record(case, 500.0, 3.0)
    return made


def rows_of(text: str) -> dict[str, list[str]]:
    """The cells of each row by its first."""
    lines = [line.split("|")[1:-1] for line in text.splitlines() if line]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_a_row_says_what_a_kernel_is_and_costs() -> None:
    rows = rows_of(table().markdown())
    assert rows["`7.2`"] == [
        "7.2.1",
        "Debian (trixie-backports)",
        "Open vSwitch",
        "365",
        "1.0",
        "-",
    ]
    old = rows["`2.6.32`"]
    assert old[:5] == ["2.6.32.1", "kernel.org", "bridges", "-", "1.5"]
    assert "fq_codel" in old[5] and "Open vSwitch" not in old[5]


def test_a_measure_has_its_median_and_interval_on_each_kernel() -> None:
    rows = rows_of(table().markdown())
    assert rows["SACK on, loss 5%: goodput at the receiver (kbit/s)"] == [
        "1,004 (1,001 to 1,006)",
        "500 (500 to 500)",
    ]


def test_what_is_missing_or_failed_is_no_figure() -> None:
    made = table()
    broken = {"status": "failed", "problem": "The guest died.\nLong ago.", "rows": []}
    made.records["7.2", "losses", 1] = broken
    assert made.failures() == ["losses on 7.2, seed 1: The guest died."]
    rows = rows_of(made.markdown())
    assert rows["SACK on, loss 5%: goodput at the receiver (kbit/s)"][0] == "-"
