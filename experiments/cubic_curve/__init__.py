"""After a loss CUBIC's window follows a cubic function of time, whatever the round trip is."""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, LinkParameters, congestion_control, parameter
from experiments.study.parameters import lone_flow
from topologies.units import Duration, Packets, Rate, Share


@dataclass(frozen=True)
class CubicCurveParameters(LinkParameters):
    bw: Rate = parameter("20mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("100ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("100", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")


def experiment(parameters: CubicCurveParameters) -> ExperimentSpec:
    """Send one flow with CUBIC. The window comes from the samples of the socket."""
    conditions = (congestion_control("cubic"),)
    return lone_flow(__name__, parameters, conditions)
