"""A UDP flow keeps its rate next to ten TCP flows in one FIFO queue; a fair queue cuts it down to
their share.
"""

from dataclasses import dataclass
from typing import Any

from experiments.spec import Condition, ExperimentSpec, Flow, Headline, Proof, parameter, word
from experiments.study import parameters as shared
from experiments.study.kernels import LINUX_2_6, under
from topologies.disciplines import discipline, disciplines
from topologies.shapes import star
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

FAIR = tuple(name for name, each in disciplines().items() if each.is_fair)
"""Disciplines that have a queue for each flow and serve the queues in turn."""
GRID = {"queueing": tuple(disciplines())}
METRIC = "goodput[udp] / mean goodput[tcp]"
PROFILE = LINUX_2_6
QUICK, FULL = {"duration": "20s"}, {"duration": "60s"}
_TCP_PORT, _UDP_PORT = 5001, 6001


@dataclass(frozen=True)
class UdpFairnessParameters(shared.DrawnPhases):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter("0ms", Duration, "Delay of what the router sends to each host.")
    queue: Packets = parameter("1000", Packets, "Packets that can wait for each link.")
    queueing: str = word(
        "fifo", "Discipline of the queue towards the receiver.", tuple(disciplines())
    )
    udp: Rate = parameter("20mbit", Rate, "Rate at which the UDP flow sends.")
    streams: Count = parameter("10", Count, "TCP flows.")
    duration: Duration = parameter("60s", Duration, "How long all of them send.")
    late: str = word(shared.NONE, shared.MEANING)
    period: str = word("today", shared.settings_for("for Linux 2.6"))

    def __post_init__(self) -> None:
        discipline(self.queueing)
        shared.require_count(self.streams, 500, f"{self.streams} TCP flows")


def experiment(parameters: UdpFairnessParameters) -> ExperimentSpec:
    """Send towards left. The starts are drawn within a second, so that no flow is always first."""
    towards = Channel(
        parameters.bw, parameters.delay, queue=parameters.queue, discipline=parameters.queueing
    )
    others = Channel(parameters.bw, parameters.delay, queue=parameters.queue)
    udp = Flow("udp", "top", "left", parameters.duration, port=_UDP_PORT, rate=parameters.udp)
    tcp = Flow("tcp", "right", "left", parameters.duration, port=_TCP_PORT)
    condition = Condition(
        "together", "TCP and UDP together", (), (Proof("congestion_control", "cubic"),)
    )
    conditions = under(PROFILE, parameters.period, (condition,))
    return shared.spec_of(
        __name__,
        star(towards, others),
        (udp, *shared.late_flows(tcp, parameters.late, parameters.streams)),
        conditions,
        _headline(parameters, conditions[0].name),
        phases=parameters,
    )


def _headline(parameters: UdpFairnessParameters, condition: str) -> Headline:
    """Claim that a fair queue cuts UDP to an even share, and that any other keeps its rate."""
    even = parameters.bw.base / (parameters.streams.base + 1)
    cut = parameters.queueing in FAIR and parameters.udp.base > even
    flows = f"{parameters.streams} TCP flows"
    queue, udp = parameters.queueing, f"a UDP flow of {parameters.udp}"
    ends: dict[str, Any] = {"low": 0.9, "expected": parameters.udp.base / 1000}
    ends |= {"expectation": "its sending rate"}
    question = f"Does {udp} keep its rate next to {flows} in {queue}?"
    if cut:
        ends = {"high": 1.1, "expected": even / 1000, "expectation": "an even share of the link"}
        question = f"Does {queue} cut {udp} next to {flows} down to an even share?"
    return shared.bounded_claim(question, "udp.rate", "the received rate of UDP", condition, **ends)
