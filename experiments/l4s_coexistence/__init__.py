"""DualPI2 lets a scalable flow and a classic one share a link, and packets of the scalable one wait
less than a millisecond.

DCTCP with accurate ECN and CUBIC without ECN meet at a bottleneck of two coupled queues (RFC 9332).
README.md has the law, its source, and what was found.
"""

from dataclasses import dataclass, replace

from experiments.spec import (
    Condition,
    Ecn,
    ExperimentSpec,
    Flow,
    Headline,
    LinkParameters,
    Subject,
    claim_of,
    parameter,
)
from experiments.study.parameters import DrawnPhases, require_count
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate, Share

CLASSIC, SCALABLE = "cubic", "dctcp"
_SETTLED = Duration.parse("3s")
"""Time of the slow starts, which is left out."""
TARGETS = ({"where": "default"},)
"""The wait with one flow of each kind."""


@dataclass(frozen=True)
class L4sCoexistenceParameters(DrawnPhases, LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("5ms", Duration, "Delay of the bottleneck, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("1000", Packets, "Packets that can wait for the link, each way.")
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
    """Send all flows together, each between hosts of its own."""
    number = parameters.flows.base
    pairs = range(1, 2 * number + 1)
    flows = [
        *(_flow(parameters, pair, CLASSIC, "off") for pair in pairs[:number]),
        *(_flow(parameters, pair, SCALABLE, "accurate") for pair in pairs[number:]),
    ]
    spec = ExperimentSpec(
        name="l4s_coexistence",
        claim=claim_of(__doc__),
        topology=dumbbell(2 * number, parameters.channel()),
        flows=tuple(flows),
        conditions=(Condition("coupled", "DualPI2"),),
        captures=tuple(f"{side}{pair}-eth0" for pair in pairs for side in "hr"),
        headline=_headline(),
    )
    return parameters.with_phases(spec)


def _flow(parameters: L4sCoexistenceParameters, pair: int, algorithm: str, ecn: Ecn) -> Flow:
    return Flow(
        f"{algorithm}{pair}",
        f"h{pair}",
        f"r{pair}",
        parameters.duration,
        congestion_control=algorithm,
        ecn=ecn,
    )


def _headline() -> Headline:
    return Headline(
        question="Do packets of the scalable flow wait less than a millisecond?",
        metric=f"p99 queueing[{SCALABLE}*]@{_SETTLED}..",
        what="the 99th percentile of their queueing delay",
        subject=Subject("coupled"),
        direction="within",
        high=1.0,
        expected=1.0,
        expectation="a millisecond",
        repetitions=6,
    )
