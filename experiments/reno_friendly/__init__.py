"""On short paths and small windows CUBIC has at least the throughput of Reno.

README.md has the law of RFC 9438, and where Linux does not hold it.
"""

from dataclasses import dataclass

from experiments.spec import (
    ExperimentSpec,
    Flow,
    Headline,
    LinkParameters,
    Subject,
    claim_of,
    congestion_control,
    parameter,
)
from topologies.shapes import two_hosts
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
    return ExperimentSpec(
        name="reno_friendly",
        claim=claim_of(__doc__),
        topology=two_hosts(parameters.channel()),
        flows=(Flow("flow1", "h1", "h2", parameters.duration),),
        conditions=(congestion_control("cubic"), congestion_control("reno")),
        headline=Headline(
            question="Has CUBIC at least the throughput of Reno?",
            metric=METRIC,
            what="the goodput of CUBIC by that of Reno",
            subject=Subject("cubic"),
            direction="within",
            low=LEAST,
            repetitions=6,
        ),
    )
