"""What a spec needs of the kernel that it names, and whether that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.spec import Condition, ExperimentSpec, Proof
from testbed.guest.namespaces import CONGESTION_CONTROL
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.kernel.kernel_version import KernelVersion, kernel_version
from topologies.foundation.errors import UsageError

MODULES, REAL_TIME = "modules", "real time"
"""What a spec with congestion controls of its own needs, and what a shell needs."""


def refuse_what_is_lacking(spec: ExperimentSpec) -> None:
    """Raises UsageError, with the reason, if the spec's kernel lacks what the spec needs."""
    for need in _needs(spec):
        _require(need, spec.kernel, spec.name)


def refuse_virtual_time_only(kernel: str) -> None:
    """Raises UsageError if the kernel, as a spec names it, knows no real time."""
    _require(REAL_TIME, kernel, "A shell")


def without_what_always_holds(spec: ExperimentSpec) -> ExperimentSpec:
    """The spec as its kernel can be told it.

    What a condition sets to what a kernel without that setting always does is a proof instead.
    """
    kernel = _kernel_of(spec)
    conditions = tuple(_told(condition, kernel) for condition in spec.conditions)
    return replace(spec, conditions=conditions)


def _told(condition: Condition, kernel: KernelVersion) -> Condition:
    held = [pair for pair in condition.sysctls if pair in kernel.always.items()]
    proofs = (
        Proof("absent_setting", f"{name}={value}: {kernel.lacks[name]}") for name, value in held
    )
    settable = tuple(pair for pair in condition.sysctls if pair not in held)
    return replace(condition, sysctls=settable, proofs=(*condition.proofs, *proofs))


def _kernel_of(spec: ExperimentSpec) -> KernelVersion:
    return kernel_version(chosen(spec.kernel).series)


def _require(need: str, kernel: str, who: str) -> None:
    choice = chosen(kernel)
    lacks = kernel_version(choice.series).lacks
    if need in lacks:
        raise UsageError(
            f"{who} needs {need}, which Linux {choice.name} lacks: {lacks[need]}",
            "Choose another kernel, or do without.",
        )


def _needs(spec: ExperimentSpec) -> Iterator[str]:
    """Congestion controls and sysctls that conditions set, queueing disciplines, modules.

    Not what holds anyway, because the kernel lacks the choice.
    """
    always = _kernel_of(spec).always
    for condition in spec.conditions:
        for name, value in condition.sysctls:
            if always.get(name) != value:
                yield value if name == CONGESTION_CONTROL else name
    yield from (flow.congestion_control for flow in spec.flows if flow.congestion_control)
    for port in spec.topology.ports:
        if port.channel:
            yield port.channel.discipline
    if spec.modules:
        yield MODULES
