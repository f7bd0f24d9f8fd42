"""The time for a fixed amount of data grows faster than the share of packets that a router on the
way drops.
"""

from dataclasses import dataclass, replace

from experiments.spec import (
    Condition,
    ExperimentSpec,
    Flow,
    Headline,
    LinkParameters,
    parameter,
    word,
)
from experiments.study.kernels import LINUX_2_4, under
from experiments.study.parameters import bounded_claim, require_count, settings_for, spec_of
from topologies.shapes import chain
from topologies.units import Count, Duration, Rate, Share, Size

METRIC = "client_seconds"
PROFILE = LINUX_2_4
DROPS = ("0%", "0.1%", "0.5%", "1%", "2%", "5%", "10%", "20%")  # the published shares
GRID = {"loss": DROPS}
QUICK, FULL = {"requests": "10000"}, {"requests": "100000"}
REQUEST = 1448  # bytes: what one Ethernet frame carries of TCP with timestamps
ON_THE_LINK = 1514
"""Bytes of such a frame as the lab's link counts it: without preamble and checksum."""


@dataclass(frozen=True)
class PacketDropperParameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter(
        "50us", Duration, "Delay between the two hosts, each way: a laboratory's own cables."
    )
    loss: Share = parameter(
        "1%", Share, "Packets of data that the router in the middle drops; it drops no ACK."
    )
    requests: Count = parameter("100000", Count, "Requests of 1448 bytes that are sent.")
    duration: Duration = parameter("3h", Duration, "How long this may take.")
    period: str = word("today", settings_for("for Linux 2.4"))

    def __post_init__(self) -> None:
        require_count(self.requests, 10_000_000, f"{self.requests} requests")


def experiment(parameters: PacketDropperParameters) -> ExperimentSpec:
    """Send all requests in one transfer; its time is the sender's."""
    forward = parameters.channel()
    back = replace(forward, loss=Share(0))
    flow = Flow(
        "flow1", "h1", "h2", parameters.duration, amount=Size(parameters.requests.base * REQUEST)
    )
    conditions = under(PROFILE, parameters.period, (Condition("dropping", "dropping"),))
    headline = _headline(parameters, conditions[0].name)
    return spec_of(__name__, chain(1, forward, back), (flow,), conditions, headline)


def _headline(parameters: PacketDropperParameters, condition: str) -> Headline:
    """Compare with the link's time for all frames, each sent until it is not dropped."""
    dropped = parameters.loss.fraction
    frames = parameters.requests.base / max(1 - dropped, 1e-9)
    return bounded_claim(
        f"Does dropping {parameters.loss} of the data cost more than sending it again?"
        if dropped
        else "Does the transfer fill the link without drops?",
        "metric.client_seconds",
        "the time of the transfer",
        condition,
        low=1.02 if dropped else 0.98,
        high=None if dropped else 1.02,
        expected=8 * ON_THE_LINK * frames / parameters.bw.base,
        expectation="the time of the link alone for these frames"
        + (" and the dropped ones" if dropped else ""),
    )
