"""Flows with the same round trip share a link evenly."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, Flow, LinkParameters, claim_of, congestion_control, parameter
from topologies.dumbbell import dumbbell
from topologies.units import Duration, Packets, Rate, Share, Count


@dataclass(frozen=True)
class FairSharesParameters(LinkParameters):
    bw: Rate = parameter("20mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("67", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")
    streams: Count = parameter("4", Count, "Flows.")


def experiment(parameters: FairSharesParameters) -> ExperimentSpec:
    """One flow with Reno, which leaves slow start at a loss only; buffers do not limit it."""
    numbers = range(1, parameters.streams.base + 1)
    return ExperimentSpec(
        name="fair_shares",
        claim=claim_of(__doc__),
        topology=dumbbell(parameters.streams.base, parameters.channel()),
        flows=tuple(Flow(f"flow{n}", f"h{n}", f"r{n}", parameters.duration) for n in numbers),
        conditions=(congestion_control("reno"),congestion_control("cubic")),
    )
