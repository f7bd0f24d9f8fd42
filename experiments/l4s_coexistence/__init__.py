"""DualPI2 lets a scalable flow and a classic one share a link, and packets of the scalable one wait
less than a millisecond.
"""

from dataclasses import dataclass, replace

from experiments.spec import Condition, ExperimentSpec, LinkParameters, parameter
from experiments.study.parameters import DrawnPhases, law_claim, pair_flows, require_count, spec_of
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Rate, Share

CLASSIC, SCALABLE = "cubic", "dctcp"
_SETTLED = Duration.parse("3s")  # time of the slow starts, which is left out
TARGETS = ({"where": "default"},)  # the wait with one flow of each kind


@dataclass(frozen=True)
class L4sCoexistenceParameters(DrawnPhases, LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("5ms", Duration, "Delay of the bottleneck, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    duration: Duration = parameter("12s", Duration, "How long the senders send.")
    flows: Count = parameter("1", Count, "Flows of each kind.")
    step: Duration = parameter("800us", Duration, "Wait from which scalable packets are marked.")

    def __post_init__(self) -> None:
        require_count(self.flows, 50, f"{self.flows} flows of each kind")

    def channel(self) -> Channel:
        """One direction. DCTCP sends with ECT(0), so both ECT codes go to the scalable queue."""
        settings = (("ecn", "any_ect"), ("step_thresh", str(self.step)))
        return replace(super().channel(), discipline="dualpi2", settings=settings)


def experiment(parameters: L4sCoexistenceParameters) -> ExperimentSpec:
    number, length = parameters.flows.base, parameters.duration
    flows = (
        *pair_flows(number, length, CLASSIC, congestion_control=CLASSIC, ecn="off"),
        *pair_flows(
            number, length, SCALABLE, number + 1, congestion_control=SCALABLE, ecn="accurate"
        ),
    )
    return spec_of(
        __name__,
        dumbbell(2 * number, parameters.channel()),
        flows,
        (Condition("coupled", "DualPI2"),),
        law_claim(__file__, f"p99 queueing[{SCALABLE}*]@{_SETTLED}..", "coupled"),
        captures=tuple(f"{end}-eth0" for flow in flows for end in (flow.sender, flow.receiver)),
        phases=parameters,
    )
