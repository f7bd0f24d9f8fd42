"""A call, a probe and web fetches share the uplink of a home with uploads."""

from dataclasses import dataclass

from experiments.spec import Condition, ExperimentSpec, Flow, parameter, word
from experiments.study.parameters import require_count, spec_of
from topologies.disciplines import discipline, disciplines
from topologies.spec import Channel, Link, Node, TopologySpec
from topologies.units import Count, Duration, Packets, Rate, Share

DIAGRAM = """\
h1 ----- r1 ------ r2 ====== h2
home   router    modem    Internet
   r1 shapes, r2 has the uplink"""
_DOWN = 5  # times the uplink's rate: what a home's downlink has
_FETCHES = "users users=2 size=400B answer=exp:60kB think=exp:300ms requests=500"


@dataclass(frozen=True)
class HomeUplinkParameters:
    bw: Rate = parameter("5mbit", Rate, "Rate of the modem's uplink; the downlink has five times.")
    delay: Duration = parameter("15ms", Duration, "Delay of the uplink, and of the downlink.")
    queue: Packets = parameter("200", Packets, "Packets that can wait in modem and router each.")
    shape: Share = parameter("1000%", Share, "Rate at which the router sends, of the modem's.")
    queueing: str = word("fifo", "Discipline of the router's queue.", tuple(disciplines()))
    uploads: Count = parameter("1", Count, "Uploads at once.")
    duration: Duration = parameter("20s", Duration, "How long all of it takes.")

    def __post_init__(self) -> None:
        discipline(self.queueing)
        require_count(self.uploads, 20, f"{self.uploads} uploads")


def experiment(parameters: HomeUplinkParameters) -> ExperimentSpec:
    """Send from the home h1 to the Internet h2, and fetch pages from there."""
    length = parameters.duration
    uploads = [
        Flow(f"upload{number}", "h1", "h2", length, port=5000 + number)
        for number in range(1, parameters.uploads.base + 1)
    ]
    applications = (
        Flow("ping", "h1", "h2", length, port=6001, traffic="ping"),
        Flow("call", "h1", "h2", length, port=6002, traffic="call"),
        Flow("web", "h1", "h2", length, port=6003, traffic=_FETCHES),
    )
    return spec_of(
        __name__,
        _home(parameters),
        (*uploads, *applications),
        (Condition("home", "At home"),),
        captures=("h1-eth0", "h2-eth0"),
    )


def _home(parameters: HomeUplinkParameters) -> TopologySpec:
    rate = parameters.bw
    shaped = Rate(round(rate.base * parameters.shape.fraction))
    router = Channel(shaped, queue=parameters.queue, discipline=parameters.queueing)
    up = Channel(rate, parameters.delay, queue=parameters.queue)
    down = Channel(Rate(_DOWN * rate.base), parameters.delay)
    nodes = (*(Node(host, "host") for host in ("h1", "h2")), Node("r1", "router"))
    links = (
        Link("h1", "r1", leftward=down),
        Link("r1", "r2", rightward=router),
        Link("r2", "h2", rightward=up),
    )
    return TopologySpec("home", (*nodes, Node("r2", "router")), links, DIAGRAM)
