"""Sweeps from Python.

The table of a sweep is a Polars frame, for who has it installed:

    import polars
    import tcplab

    grid = {"delay": ["10ms", "50ms"], "cc": ["cubic", "bbr"]}
    result = tcplab.sweep("cubic_vs_reno", grid, seeds=30)
    result.table.group_by("delay", "cc").agg(polars.col("goodput_kbit_s").median())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.measures.sweep_folder import read_rows, read_sweep
from analysis.records.json_reader import Problems
from analysis.tabular.table import ColumnTable
from experiments.harness.sweep.definition import from_mapping
from experiments.harness.sweep.plan import plan
from experiments.harness.sweep.run import carry_out
from experiments.harness.sweep.workers import Watch, way_to_workers
from testbed.lab.ready import lab_for

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep: its folder, and the tidy table of docs/guides/sweeps.md."""

    folder: Path

    @cached_property
    def columns(self) -> ColumnTable:
        """The table as NumPy's arrays."""
        return read_rows(read_sweep(self.folder, Problems()))

    @cached_property
    def table(self) -> polars.DataFrame:
        """The table as a data frame of Polars. Raises UsageError if Polars is not installed."""
        return self.columns.to_polars()


def sweep(
    experiment: str,
    settings: Mapping[str, str | Sequence[str]] | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    out: Path | str = "runs",
    workers: int | None = None,
    scheduler: str | None = None,
    force: bool = False,
    watch: Watch | None = None,
    **more: Any,
) -> SweepResult:
    """Run a sweep; `until`, `metric` and `compare` are further arguments, as in a TOML file.

    Raises UsageError before the first run if a name or a combination is impossible.
    """
    content = {"experiment": experiment, "set": dict(settings or {}), "seeds": seeds, **more}
    planned, out = plan(from_mapping(content, "The sweep")), Path(out)
    ready = lab_for(spec.kernel for spec in planned.specs)
    way = replace(way_to_workers(ready, planned.specs, workers, scheduler), force=force)
    folder = carry_out(planned, out, way, watch or Watch())
    return SweepResult(folder)
