"""In slow start a sender sends twice as many segments in each round trip as in the one before."""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, LinkParameters, congestion_control, parameter
from experiments.study.parameters import lone_flow
from topologies.units import Duration, Packets, Rate, Share


@dataclass(frozen=True)
class SlowStartParameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("100ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("10000", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("2s", Duration, "How long the sender sends.")


def experiment(parameters: SlowStartParameters) -> ExperimentSpec:
    """Send one flow with Reno, which leaves slow start at a loss only."""
    conditions = (congestion_control("reno"),)
    return lone_flow(__name__, parameters, conditions, captures=("h1-eth0", "h2-eth0"))
