"""A window of W bytes carries W bytes in a round trip, until the link is full.

The receiver's buffer, and with it the window that it advertises, is the limit.
"""

from dataclasses import dataclass, replace

from experiments.spec import (
    Condition,
    ExperimentSpec,
    LinkParameters,
    congestion_control,
    parameter,
)
from experiments.study.parameters import lone_flow
from topologies.units import Duration, Rate, Share, Size

BUFFERS = ("32KiB", "64KiB", "128KiB", "192KiB", "256KiB", "512KiB")
"""Bytes of memory that a receiver may use; it advertises a bit more than half of that."""


@dataclass(frozen=True)
class WindowLimitParameters(LinkParameters):
    bw: Rate = parameter("20mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    duration: Duration = parameter("10s", Duration, "How long the sender sends.")


def experiment(parameters: WindowLimitParameters) -> ExperimentSpec:
    """Send one flow for each size of the receiver's buffer."""
    conditions = tuple(map(_receiving, BUFFERS))
    return lone_flow(__name__, parameters, conditions)


def _receiving(buffer: str) -> Condition:
    """Set `tcp_rmem` without room to grow: minimum, default and maximum are equal."""
    size = Size.parse(buffer).base
    reno = congestion_control("reno")
    sysctls = (*reno.sysctls, ("net.ipv4.tcp_rmem", f"4096 {size} {size}"))
    return replace(reno, name=buffer, label=f"{buffer} of buffer", sysctls=sysctls)
