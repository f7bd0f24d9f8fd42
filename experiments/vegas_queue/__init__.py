"""A Vegas flow keeps two to four packets in the queue of its bottleneck.

README.md has the law of the kernel's Vegas, and why several flows keep more.
"""

from dataclasses import dataclass

from experiments.spec import (
    FULL_FRAME,
    ExperimentSpec,
    Flow,
    Headline,
    Subject,
    claim_of,
    congestion_control,
    parameter,
)
from experiments.study.parameters import DrawnPhases, require_count
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

METRIC = "median queueing@10s.."
LEAST, MOST, _MEAN = 2.0, 4.0, 3.0
"""Packets of a flow: alpha and beta of net/ipv4/tcp_vegas.c."""
TARGETS = ({"where": "one flow"}, {"where": "four flows", "settings": {"flows": "4"}})


@dataclass(frozen=True)
class VegasQueueParameters(DrawnPhases):
    bw: Rate = parameter("20mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    queue: Packets = parameter("300", Packets, "Packets that can wait for the bottleneck.")
    flows: Count = parameter("1", Count, "Flows.")
    duration: Duration = parameter("20s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        require_count(self.flows, 50, f"{self.flows} flows")


def experiment(parameters: VegasQueueParameters) -> ExperimentSpec:
    """Send with Vegas, each flow between hosts of its own; packets wait in one queue."""
    number = parameters.flows.base
    channel = Channel(parameters.bw, parameters.delay, queue=parameters.queue)
    spec = ExperimentSpec(
        name="vegas_queue",
        claim=claim_of(__doc__),
        topology=dumbbell(number, channel),
        flows=tuple(
            Flow(f"flow{n}", f"h{n}", f"r{n}", parameters.duration) for n in range(1, number + 1)
        ),
        conditions=(congestion_control("vegas"),),
        captures=tuple(f"{side}{n}-eth0" for side in "hr" for n in range(1, number + 1)),
        headline=Headline(
            question="Do two to four packets of each Vegas flow wait?",
            metric=METRIC,
            what="the median wait",
            subject=Subject("vegas"),
            direction="within",
            low=LEAST / _MEAN,
            high=MOST / _MEAN,
            expected=_MEAN * 8e3 * FULL_FRAME * number / parameters.bw.base,
            expectation="three packets of each flow",
            repetitions=6,
        ),
    )
    return parameters.with_phases(spec)
