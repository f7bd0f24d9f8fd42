"""The table of all kernels, made: what is not known is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.harness.kernels.kernel_table import CASES, KernelTable
from experiments.harness.kernels.standing_set import chosen_cases
from experiments.harness.sweep.point import origin
from experiments.harness.sweep.point_store import results
from experiments.harness.sweep.running_points import PointRunner, Watch, known_and_run
from testbed.lab.kernel.built_kernels import built_kernels
from testbed.lab.kernel.kernel_version import all_series
from topologies.foundation.errors import UsageError


def kernels_to_show(seeds: Sequence[int]) -> KernelTable:
    """An empty table of the versions of the lab that are built, the newest first.

    Raises UsageError if there is none.
    """
    built = {kernel.name: kernel for kernel in built_kernels() if kernel.is_current}
    kernels = tuple(built[series] for series in all_series() if series in built)
    if not kernels:
        raise UsageError("No kernel is built.", "Run `./tcplab kernel build 7.2`.")
    return KernelTable(kernels, chosen_cases(CASES), seeds)


def carry_out_table(table: KernelTable, out: Path, way: PointRunner, watch: Watch) -> None:
    """Fill the table with what the store in `out` knows and with runs of the rest, kept there."""
    with results(out) as memory:
        wanted = table.points(origin(way.lab))
        points = [point for point, _ in wanted.values()]
        for point, record in known_and_run(points, way, memory, watch):
            table.records[wanted[point.key][1]] = record
