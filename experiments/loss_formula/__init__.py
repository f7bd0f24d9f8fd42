"""The rate of Reno under random loss is what the formula of Padhye and others says."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.spec import Condition, ExperimentSpec, Flow, Proof, claim_of, parameter
from topologies.separate_pairs import separate_pairs
from topologies.topology_spec import Channel
from topologies.units import Duration, Packets, Rate, Share

LOSSES = ("0.1%", "0.2%", "0.5%", "1%", "2%", "5%")

@dataclass(frozen=True)
class LossFormulaParameters:
    bw: Rate = parameter("100mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("25ms", Duration, "Delay of the link, each way.")
    duration: Duration = parameter("120s", Duration, "How long the sender sends.")


def experiment(parameters: LossFormulaParameters) -> ExperimentSpec:
    """One flow with Reno, which leaves slow start at a loss only; buffers do not limit it."""
    queue = Packets(1000)
    forth = [Channel(parameters.bw, parameters.delay, Share.parse(loss), queue=queue) for loss in LOSSES]
    back = [Channel(parameters.bw, parameters.delay, queue=queue)] * len(forth)
    flows = tuple(Flow(f"flow{n}", f"h{n}", f"r{n}", parameters.duration) for n in range(1, len(LOSSES)+1))
    sysctls = {"net.ipv4.tcp_congestion_control": "reno", "net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_early_retrans": "0", "net.ipv4.tcp_frto": "0"}
    proofs = (Proof("congestion_control", "reno"),)
    off = Condition("newreno", "NewReno", tuple((sysctls|{"net.ipv4.tcp_sack":"0","net.ipv4.tcp_dsack":"0"}).items()), proofs)
    on = Condition("sack", "SACK", tuple(sysctls.items()), proofs)
    return ExperimentSpec(
        name="loss_formula",
        claim=claim_of(__doc__),
        topology=separate_pairs(forth, back),
        flows=flows,
        conditions=(off,on),
    )
