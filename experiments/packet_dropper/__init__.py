"""The time for a fixed amount of data grows faster than the share of packets that a router on the
way drops.

After the experiments with a packet-dropping router (published.csv): three nodes in a row at 100
Mbit/s, the middle one drops 0 to 20 % of the data; 100 000 requests of 1448 bytes, ten times each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.definition.profiles import LINUX_2_4, under
from experiments.spec import (
    Condition,
    ExperimentSpec,
    Flow,
    LinkParameters,
    claim_of,
    parameter,
    word,
)
from topologies.chain import chain
from topologies.errors import UsageError
from topologies.units import Count, Duration, Rate, Share, Size

METRIC = "client_seconds"
PROFILE = LINUX_2_4
DROPS = ("0%", "0.1%", "0.5%", "1%", "2%", "5%", "10%", "20%")
"""The published shares."""
GRID = {"loss": DROPS}
QUICK, FULL = {"requests": "10000"}, {"requests": "100000"}
REQUEST = 1448  # bytes: what one Ethernet frame carries of TCP with timestamps


@dataclass(frozen=True)
class PacketDropperParameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter("50us", Duration, "Delay of each link: a laboratory's own cables.")
    loss: Share = parameter(
        "1%", Share, "Packets of data that the router in the middle drops; it drops no ACK."
    )
    requests: Count = parameter("100000", Count, "Requests of 1448 bytes that are sent.")
    duration: Duration = parameter("3h", Duration, "How long this may take.")
    period: str = word(
        "today", "The kernel's settings: today, period (as Linux 2.4), or today+period."
    )

    def __post_init__(self) -> None:
        if not 1 <= self.requests.base <= 10_000_000:
            raise UsageError(
                f"{self.requests} requests are not possible.", "Choose from 1 to 10000000."
            )


def experiment(parameters: PacketDropperParameters) -> ExperimentSpec:
    """One transfer of all requests; its time is the sender's."""
    forward = parameters.channel()
    back = replace(forward, loss=Share(0))
    flow = Flow(
        "flow1", "h1", "h2", parameters.duration, amount=Size(parameters.requests.base * REQUEST)
    )
    return ExperimentSpec(
        name="packet_dropper",
        claim=claim_of(__doc__),
        topology=chain(1, forward, back),
        flows=(flow,),
        conditions=under(PROFILE, parameters.period, (Condition("dropping", "dropping"),)),
    )
