"""The window of a lone Reno flow falls to half and climbs again with a period that the path
sets.
"""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, LinkParameters, congestion_control, parameter
from experiments.study.parameters import lone_flow
from topologies.units import Duration, Packets, Rate, Share


@dataclass(frozen=True)
class RenoSawtoothParameters(LinkParameters):
    bw: Rate = parameter("10mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("40ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter(
        "67", Packets, "Packets that can wait for the link; 67 are one bandwidth-delay product."
    )
    duration: Duration = parameter("80s", Duration, "How long the sender sends.")


def experiment(parameters: RenoSawtoothParameters) -> ExperimentSpec:
    """Send one flow with Reno. The window comes from the samples of the socket."""
    conditions = (congestion_control("reno"),)
    return lone_flow(__name__, parameters, conditions)
