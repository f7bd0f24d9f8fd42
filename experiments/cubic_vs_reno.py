"""CUBIC and Reno fill a short path alike, and on a long one CUBIC is back to full speed sooner after a loss.

After section 3.1 of the TCP assignment (analysis/published): three hosts around a router, 100 Mbit/s each; the
congestion controls one after the other over the same path, with one stream or many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from experiments.main import start
from experiments.spec import ExperimentSpec, Flow, LinkParameters, congestion_control, parameter, word
from topologies.errors import UsageError
from topologies.star import star
from topologies.units import Count, Duration, Rate, Share

_PORT = 5001


@dataclass(frozen=True)
class Parameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter("0ms", Duration, "Delay that the router adds towards each host.")
    loss: Share = parameter("0%", Share, "Packets that the router loses at random towards each host.")
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")
    cc: str = word("cubic+reno", "Congestion controls to compare, joined by +.")
    streams: Count = parameter("1", Count, "Connections at once.")

    def __post_init__(self) -> None:
        for algorithm in self.algorithms:
            congestion_control(algorithm)
        if not 1 <= self.streams.base <= 1000:
            raise UsageError(f"{self.streams} streams are not possible.", "Choose from 1 to 1000.")

    @property
    def algorithms(self) -> list[str]:
        return re.split(r"[+,]", self.cc)


def experiment(parameters: Parameters) -> ExperimentSpec:
    """From left to right through the router; all connections start together and run as long."""
    flows = (
        Flow(f"flow{number}", "left", "right", parameters.duration, port=_PORT + number - 1)
        for number in range(1, parameters.streams.base + 1)
    )
    return ExperimentSpec(
        name="cubic_vs_reno",
        claim=(__doc__ or "").partition("\n")[0],
        topology=star(parameters.channel()),
        flows=tuple(flows),
        conditions=tuple(congestion_control(algorithm) for algorithm in parameters.algorithms),
    )


if __name__ == "__main__":
    start("cubic_vs_reno")
