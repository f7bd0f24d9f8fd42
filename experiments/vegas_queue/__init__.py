"""A Vegas flow keeps two to four packets in the queue of its bottleneck."""

from dataclasses import dataclass

from experiments.spec import FULL_FRAME, ExperimentSpec, congestion_control, parameter
from experiments.study import parameters as shared
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

METRIC = "median queueing@10s.."
LEAST, MOST, _MEAN = 2.0, 4.0, 3.0  # packets of a flow: alpha and beta of net/ipv4/tcp_vegas.c
TARGETS = ({"where": "one flow"}, {"where": "four flows", "settings": {"flows": "4"}})


@dataclass(frozen=True)
class VegasQueueParameters(shared.DrawnPhases):
    bw: Rate = parameter("20mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    queue: Packets = parameter("300", Packets, "Packets that can wait for the bottleneck.")
    flows: Count = parameter("1", Count, "Flows.")
    duration: Duration = parameter("20s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        shared.require_count(self.flows, 50, f"{self.flows} flows")


def experiment(parameters: VegasQueueParameters) -> ExperimentSpec:
    """Send with Vegas, each flow between hosts of its own; packets wait in one queue."""
    number = parameters.flows.base
    channel = Channel(parameters.bw, parameters.delay, queue=parameters.queue)
    waiting = _MEAN * 8e3 * FULL_FRAME * number / parameters.bw.base
    ends = {"low": LEAST / _MEAN, "high": MOST / _MEAN}
    return shared.spec_of(
        __name__,
        dumbbell(number, channel),
        shared.pair_flows(number, parameters.duration),
        (congestion_control("vegas"),),
        shared.law_claim(__file__, METRIC, "vegas", waiting, **ends),
        captures=shared.pair_captures(number),
        phases=parameters,
    )
