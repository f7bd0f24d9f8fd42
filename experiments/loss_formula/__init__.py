"""Under random loss the rate of Reno is what the formula of Padhye and others says."""

from dataclasses import dataclass

from experiments.spec import Condition, ExperimentSpec, Proof, parameter, word, words
from experiments.study.parameters import pair_flows, spec_of
from topologies.shapes import separate_pairs
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate, Share

_AS_IN_THE_PAPER = (
    ("net.ipv4.tcp_congestion_control", "reno"),
    ("net.ipv4.tcp_sack", "0"),
    ("net.ipv4.tcp_dsack", "0"),
    ("net.ipv4.tcp_recovery", "0"),
    ("net.ipv4.tcp_early_retrans", "0"),
    ("net.ipv4.tcp_frto", "0"),
    ("net.ipv4.tcp_rmem", "4096 524288 524288"),
)
"""Reno as the formula assumes it: three duplicate ACKs or a time-out show a loss.

The receiver's window is 228 segments: more than losses leave, too few to fill the queue.
"""


@dataclass(frozen=True)
class LossFormulaParameters:
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way; no flow fills it.")
    delay: Duration = parameter("25ms", Duration, "Delay of each link, each way.")
    losses: str = word(
        "0.1%+0.2%+0.5%+1%+2%+5%", "Packets lost at random towards each receiver; no ACK is lost."
    )
    queue: Packets = parameter("1000", Packets, "Packets that can wait for each link.")
    duration: Duration = parameter("100s", Duration, "How long the senders send.")

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return the loss of each pair. Raises UsageError for an invalid percentage."""
        return tuple(map(Share.parse, words(self.losses)))


def experiment(parameters: LossFormulaParameters) -> ExperimentSpec:
    """Send a Reno flow for each loss rate, all at once on separate paths."""
    forth = [
        Channel(parameters.bw, parameters.delay, loss, queue=parameters.queue)
        for loss in parameters.shares
    ]
    back = [Channel(parameters.bw, parameters.delay, queue=parameters.queue)] * len(forth)
    condition = Condition(
        "reno", "Reno without SACK", _AS_IN_THE_PAPER, (Proof("congestion_control", "reno"),)
    )
    flows = pair_flows(len(forth), parameters.duration)
    return spec_of(__name__, separate_pairs(forth, back), flows, (condition,))
