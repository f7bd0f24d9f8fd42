"""What a spec needs of the kernel that it names, and whether that has it."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.spec import ExperimentSpec
from testbed.guest import algorithms
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.kernel.kernel_version import kernel_version
from topologies.errors import UsageError

MODULES = "modules"
"""What a spec with congestion controls of its own needs."""


def refuse_what_is_lacking(spec: ExperimentSpec) -> None:
    """Raises UsageError, with the reason, if the spec's kernel lacks what the spec needs."""
    kernel = chosen(spec.kernel)
    lacks = kernel_version(kernel.series).lacks
    for need in _needs(spec):
        if need in lacks:
            raise UsageError(
                f"{spec.name} needs {need}, which Linux {kernel.name} lacks: {lacks[need]}",
                "Choose another kernel, or do without.",
            )


def _needs(spec: ExperimentSpec) -> Iterator[str]:
    """Congestion controls and sysctls that conditions set, queueing disciplines, modules."""
    for condition in spec.conditions:
        for name, value in condition.sysctls:
            yield value if name == algorithms.SYSCTL else name
    for port in spec.topology.ports:
        if port.channel:
            yield port.channel.discipline
    if spec.modules:
        yield MODULES
