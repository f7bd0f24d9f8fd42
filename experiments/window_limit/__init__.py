"""A window of W bytes carries W bytes in a round trip, until the link is full."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.spec import Condition, Proof, ExperimentSpec, Flow, LinkParameters, claim_of, congestion_control, parameter
from topologies.two_hosts import two_hosts
from topologies.units import Duration, Packets, Rate, Share, Size

WINDOWS = ("16KiB", "32KiB","64KiB","128KiB","256KiB","384KiB","512KiB","768KiB")

@dataclass(frozen=True)
class WindowLimitParameters(LinkParameters):
    bw: Rate = parameter("20mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("1000", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("10s", Duration, "How long the sender sends.")


def experiment(parameters: WindowLimitParameters) -> ExperimentSpec:
    """One flow with Reno, which leaves slow start at a loss only; buffers do not limit it."""
    return ExperimentSpec(
        name="window_limit",
        claim=claim_of(__doc__),
        topology=two_hosts(parameters.channel()),
        flows=(Flow("flow1","h1","h2", parameters.duration),),
        conditions=tuple(Condition(w,f"{w} buffer",(("net.ipv4.tcp_congestion_control","reno"),("net.ipv4.tcp_rmem",f"4096 {Size.parse(w).base} {Size.parse(w).base}")),(Proof("congestion_control","reno"),)) for w in WINDOWS),
    )
