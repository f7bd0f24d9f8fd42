"""What runs cost on this machine: of given workloads (workloads) and against their size (scale)."""

from experiments.bench.workloads import measure, table

__all__ = ["measure", "table"]
