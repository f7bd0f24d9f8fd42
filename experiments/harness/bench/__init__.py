"""What runs cost on this machine: given workloads (workloads), and growth with size (scale)."""

from experiments.harness.bench.workloads import measure, table

__all__ = ["measure", "table"]
