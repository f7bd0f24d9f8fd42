"""What a spec needs of the kernel that it names, and whether that has it."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.spec import ExperimentSpec
from testbed.guest import algorithms
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.kernel.kernel_version import kernel_version
from topologies.errors import UsageError

MODULES, REAL_TIME = "modules", "real time"
"""What a spec with congestion controls of its own needs, and what a shell needs."""


def refuse_what_is_lacking(spec: ExperimentSpec) -> None:
    """Raises UsageError, with the reason, if the spec's kernel lacks what the spec needs."""
    for need in _needs(spec):
        _require(need, spec.kernel, spec.name)


def refuse_virtual_time_only(kernel: str) -> None:
    """Raises UsageError if the kernel, as a spec names it, knows no real time."""
    _require(REAL_TIME, kernel, "A shell")


def _require(need: str, kernel: str, who: str) -> None:
    choice = chosen(kernel)
    lacks = kernel_version(choice.series).lacks
    if need in lacks:
        raise UsageError(
            f"{who} needs {need}, which Linux {choice.name} lacks: {lacks[need]}",
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
