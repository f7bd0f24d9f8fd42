"""PIE brings the wait in a queue back to its target after the link's rate falls to a fifth."""

from dataclasses import dataclass, replace

from experiments.spec import ExperimentSpec, LinkChange, congestion_control, parameter, word
from experiments.study import parameters as shared
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

_TARGETS = {"pie": 15.0, "codel": 5.0}
"""Milliseconds that the queue tends to: RFC 8033, section 4.1, and RFC 8289, section 4.4."""
METRIC = "median queueing@20s..30s"
TARGETS = tuple({"settings": {"queueing": name}} for name in _TARGETS)
_FALL = Duration.parse("10s")


@dataclass(frozen=True)
class RateStepParameters(shared.DrawnPhases):
    bw: Rate = parameter("50mbit", Rate, "Rate of the link at first.")
    low: Rate = parameter("10mbit", Rate, "Rate of the link from 10 s on.")
    delay: Duration = parameter("25ms", Duration, "Delay of the link, each way.")
    queue: Packets = parameter("1000", Packets, "Packets that can wait for the link.")
    queueing: str = word("pie", "Discipline of the queue.", tuple(_TARGETS))
    flows: Count = parameter("5", Count, "Flows.")
    duration: Duration = parameter("30s", Duration, "How long all of them send.")

    def __post_init__(self) -> None:
        shared.require_choice("queueing", self.queueing, _TARGETS)
        shared.require_count(self.flows, 50, f"{self.flows} flows")


def experiment(parameters: RateStepParameters) -> ExperimentSpec:
    """Send with Reno; the median wait counts from ten seconds after the fall."""
    fast = Channel(
        parameters.bw, parameters.delay, queue=parameters.queue, discipline=parameters.queueing
    )
    number = parameters.flows.base
    spec = shared.spec_of(
        __name__,
        dumbbell(number, fast),
        shared.pair_flows(number, parameters.duration),
        (congestion_control("reno"),),
        shared.law_claim(
            __file__,
            METRIC,
            "reno",
            _TARGETS[parameters.queueing],
            question=f"Is {parameters.queueing} back at its target?",
        ),
        captures=shared.pair_captures(number),
    )
    phased = parameters.with_phases(spec)
    port = next(port for port in phased.topology.path("h1", "r1") if port.channel)
    slow = replace(phased.topology.bottleneck("h1", "r1"), bandwidth=parameters.low)
    return replace(phased, changes=(LinkChange(_FALL, port.name, slow),))
