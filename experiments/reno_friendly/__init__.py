"""On short paths and small windows CUBIC has at least the throughput of Reno."""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, LinkParameters, congestion_control, parameter
from experiments.study.parameters import law_claim, lone_flow
from topologies.units import Duration, Rate, Share

METRIC = "goodput[flow1:cubic] / goodput[flow1:reno]"
LEAST = 0.95
TARGETS = tuple(
    {"settings": {"delay": delay}, "where": f"{delay} each way", "condition": "cubic"}
    for delay in ("1ms", "10ms", "40ms")
)


@dataclass(frozen=True)
class RenoFriendlyParameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of the link, each way; no flow fills it.")
    delay: Duration = parameter("10ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("1%", Share, "Packets that the link loses at random, each way.")
    duration: Duration = parameter("30s", Duration, "How long the sender sends.")


def experiment(parameters: RenoFriendlyParameters) -> ExperimentSpec:
    """Send with CUBIC, then with Reno: the nth packet is lost with both or with none."""
    conditions = (congestion_control("cubic"), congestion_control("reno"))
    headline = law_claim(__file__, METRIC, "cubic")
    return lone_flow(__name__, parameters, conditions, headline=headline)
