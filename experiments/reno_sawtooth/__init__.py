"""Reno's window rises from half to the full path and falls again, with the period that the path
sets.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, Flow, LinkParameters, claim_of, congestion_control, parameter
from topologies.two_hosts import two_hosts
from topologies.units import Duration, Packets, Rate, Share


@dataclass(frozen=True)
class RenoSawtoothParameters(LinkParameters):
    bw: Rate = parameter("10mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("83", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("90s", Duration, "How long the sender sends.")


def experiment(parameters: RenoSawtoothParameters) -> ExperimentSpec:
    """One flow with Reno, which leaves slow start at a loss only; buffers do not limit it."""
    return ExperimentSpec(
        name="reno_sawtooth",
        claim=claim_of(__doc__),
        topology=two_hosts(parameters.channel()),
        flows=(Flow("flow1", "h1", "h2", parameters.duration),),
        conditions=(congestion_control("reno"),),
        captures=("h1-eth0","h2-eth0"),
    )
