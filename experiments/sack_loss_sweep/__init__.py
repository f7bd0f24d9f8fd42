"""A fast short path with SACK keeps its throughput at losses that slow it down without."""

from dataclasses import dataclass, replace
from typing import Literal

from experiments.spec import ExperimentSpec, Flow, LinkParameters, parameter, sack, word
from experiments.study.kernels import LINUX_3_10, under
from experiments.study.parameters import compared_claim, require_choice, settings_for, spec_of
from topologies.shapes import two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate, Share

LOSSES = (
    *("0.000001%", "0.001%", "0.002%", "0.003%", "0.004%", "0.005%", "0.006%", "0.007%"),
    *("0.008%", "0.009%", "0.01%", "0.02%", "0.03%", "0.04%", "0.05%", "0.1%", "0.2%", "0.5%"),
    *("1%", "2%", "3%", "4%", "5%", "6%", "7%", "8%", "9%", "10%"),
)
"""The published loss rates."""
GRID = {"loss": LOSSES}
QUICK, FULL = {"duration": "30s"}, {"duration": "300s"}
PROFILE = LINUX_3_10
METRIC = "mean_second_kbit_s"
_DIAGRAM = """\
h1 ============= s1 ------------- h2
    the channel      plain cable
                     (towards h2 on h1-eth0, without delay; that of both ways on s1-eth1)"""
_OWN_LINE = Packets(1000)
"""What a netem holds by default; the published `tc qdisc` names no other limit."""


@dataclass(frozen=True)
class SackLossSweepParameters(LinkParameters):
    bw: Rate = parameter("1gbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("100us", Duration, "Delay of the link, each way: a local network.")
    loss: Share = parameter(
        "1%", Share, "Packets that are lost at random towards the receiver; no ACK is lost."
    )
    duration: Duration = parameter("30s", Duration, "How long the sender sends.")
    tso: str = word(
        "on",
        "on or off: segmentation offloads; on, as the published counts show, a loss takes up to"
        " 64 KB.",
    )
    place: str = word(
        "path",
        "Where packets are lost and wait: path, at a switch; host, in the sender's own netem, as"
        " published.",
    )
    period: str = word("today", settings_for("for Linux 3.10"))

    def __post_init__(self) -> None:
        require_choice("tso", self.tso, ("on", "off"))
        require_choice("place", self.place, ("path", "host"))

    def network(self) -> TopologySpec:
        """Return two hosts; either the path loses and queues packets, or the sender's port."""
        path = self.channel()
        network = two_hosts(path, replace(path, loss=Share(0)))
        return network if self.place == "path" else self._of_host(network)

    def _of_host(self, network: TopologySpec) -> TopologySpec:
        """Move loss and queue to the sender's port, and all delay to the way back.

        Later ports have no rate: the receiver gets whole buffers, as from a card with GRO.
        """
        own = Channel(self.bw, loss=self.loss, queue=self.queue, line=_OWN_LINE)
        back = replace(self.channel(), delay=self.delay + self.delay, loss=Share(0))
        cable, other = network.links
        links = (replace(cable, rightward=own, leftward=back), replace(other, rightward=None))
        return replace(network, links=links, diagram=_DIAGRAM, shaping_hosts=("h1",))


def experiment(parameters: SackLossSweepParameters) -> ExperimentSpec:
    """Measure one transfer without and with SACK; the sockets prove the condition."""
    flow = Flow("flow1", "h1", "h2", parameters.duration, interval=Duration.parse("1s"))
    conditions = under(PROFILE, parameters.period, (sack(on=False), sack(on=True)))
    off, on = conditions[0], conditions[len(conditions) // 2]
    headline = compared_claim(
        f"Is the rate larger with SACK on than with SACK off at {parameters.loss} loss?",
        "metric.mean_second_kbit_s",
        "the mean rate of the seconds",
        (on.name, off.name),
    )
    segmentation: Literal["on", "off"] = "on" if parameters.tso == "on" else "off"
    topology = replace(parameters.network(), segmentation=segmentation)
    return spec_of(__name__, topology, (flow,), conditions, headline)
