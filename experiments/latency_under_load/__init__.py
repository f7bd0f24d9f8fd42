"""A discipline that controls its queue keeps the round trip short on a link that is busy both
ways.
"""

from dataclasses import dataclass, replace

from experiments.spec import FULL_FRAME, Condition, ExperimentSpec, Flow, parameter, word
from experiments.study.parameters import DrawnPhases, law_claim, pair_flows, require_count, spec_of
from topologies.disciplines import discipline, disciplines
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

METRIC = "exchange_p50_ms[ping]"
_TARGETS = {"codel": 5.0, "pie": 15.0}
"""Milliseconds that the queue tends to: RFC 8289, section 4.4, and RFC 8033, section 4.1."""
TARGETS = tuple(
    {"settings": {"queueing": name}} for name in ("fifo", "red", "pie", "codel", "fq_codel", "cake")
)


@dataclass(frozen=True)
class LatencyUnderLoadParameters(DrawnPhases):
    bw: Rate = parameter("20mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of the link, each way.")
    queue: Packets = parameter("1000", Packets, "Packets that can wait for the link, each way.")
    queueing: str = word("fq_codel", "Discipline of both queues.", tuple(disciplines()))
    flows: Count = parameter("4", Count, "Flows of each direction.")
    duration: Duration = parameter("20s", Duration, "How long all of them send.")

    def __post_init__(self) -> None:
        discipline(self.queueing)
        require_count(self.flows, 50, f"{self.flows} flows of each direction")

    @property
    def frame(self) -> float:
        """Milliseconds of a full frame on the link."""
        return 8e3 * FULL_FRAME / self.bw.base

    @property
    def wait(self) -> float:
        """Milliseconds that a probe waits in each queue, by the law of its discipline."""
        if discipline(self.queueing).is_fair:
            return self.frame * (self.flows.base + 1)
        full = self.frame * self.queue.base
        return _TARGETS.get(self.queueing, full / 2 if self.queueing == "red" else full)


def experiment(parameters: LatencyUnderLoadParameters) -> ExperimentSpec:
    """Send both ways, and a probe each 50 ms between hosts of its own."""
    channel = Channel(
        parameters.bw, parameters.delay, queue=parameters.queue, discipline=parameters.queueing
    )
    number, length = parameters.flows.base, parameters.duration
    down, up = (pair_flows(number, length, first=first) for first in (2, number + 2))
    flows = (
        Flow("ping", "h1", "r1", length, traffic="ping interval=50ms"),
        *(replace(flow, name=f"down{at}") for at, flow in enumerate(down, 1)),
        *(
            replace(flow, name=f"up{at}", sender=flow.receiver, receiver=flow.sender)
            for at, flow in enumerate(up, 1)
        ),
    )
    return spec_of(
        __name__,
        dumbbell(2 * number + 1, channel),
        flows,
        (Condition("loaded", parameters.queueing),),
        law_claim(
            __file__,
            METRIC,
            "loaded",
            2e3 * parameters.delay.seconds + 2 * parameters.wait,
            question=f"Does {parameters.queueing} keep the round trip as short as it promises?",
        ),
        phases=parameters,
    )
