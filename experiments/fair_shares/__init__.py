"""Reno flows with the same round trip share a link evenly.

Several pairs of hosts around one bottleneck with a FIFO queue. README.md has the law, its source,
and what was found.
"""

from dataclasses import dataclass

from experiments.spec import (
    ExperimentSpec,
    Flow,
    LinkParameters,
    claim_of,
    congestion_control,
    parameter,
)
from experiments.study.parameters import DrawnPhases
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
    """Send for the same time. The servers count the bytes.

    The starts are drawn within a second, 25 round trips: no flow is first in every seed.
    """
    numbers = range(1, parameters.streams.base + 1)
    spec = ExperimentSpec(
        name="fair_shares",
        claim=claim_of(__doc__),
        topology=dumbbell(parameters.streams.base, parameters.channel()),
        flows=tuple(
            Flow(f"flow{number}", f"h{number}", f"r{number}", parameters.duration)
            for number in numbers
        ),
        conditions=(congestion_control("reno"),),
    )
    return parameters.with_phases(spec)
