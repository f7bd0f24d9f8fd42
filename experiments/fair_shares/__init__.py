"""Reno flows with the same round trip share a link evenly."""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, LinkParameters, congestion_control, parameter
from experiments.study.parameters import DrawnPhases, pair_flows, spec_of
from topologies.shapes import dumbbell
from topologies.units import Count, Duration, Packets, Rate, Share


@dataclass(frozen=True)
class FairSharesParameters(DrawnPhases, LinkParameters):
    bw: Rate = parameter("20mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("67", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("120s", Duration, "How long the senders send.")
    streams: Count = parameter("6", Count, "Flows, each between hosts of its own.")


def experiment(parameters: FairSharesParameters) -> ExperimentSpec:
    """Send for the same time; starts are drawn within a second, so that no flow is always first."""
    number = parameters.streams.base
    topology = dumbbell(number, parameters.channel())  # which refuses too many
    flows = pair_flows(number, parameters.duration)
    spec = spec_of(__name__, topology, flows, (congestion_control("reno"),))
    return parameters.with_phases(spec)
