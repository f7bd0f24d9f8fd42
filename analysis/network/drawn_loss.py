"""Whether links lost as many packets at random as chance lets them lose.

experiments/proof.py fails a run at 4.5 standard deviations, which chance alone does not reach. This
looks closer, by the exact binomial distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from analysis.network.asked_network import TrialNetwork
from analysis.network.findings import CheckFinding, CheckOutcome, percent, unmeasured
from analysis.statistics.chances import at_least, at_most
from topologies.foundation.units import Share
from topologies.topology_spec import MOST_PACKETS, Port

KIND = "Packets lost at random"
LEVEL = 0.01
"""How often a run with the right loss is doubted, all its ports and seeds together."""


@dataclass(frozen=True)
class DrawnLoss:
    """How many of the packets offered to a port were lost at random."""

    place: str
    port: str
    share: Share
    lost: int
    offered: int

    @property
    def chance(self) -> float:
        """How likely chance is to lose so few, or so many, twice the rarer of the two."""
        if not self.share.base:
            return 0.0 if self.lost else 1.0
        few = at_most(self.lost, self.offered, self.share.fraction)
        return min(1.0, 2 * min(few, at_least(self.lost, self.offered, self.share.fraction)))


def drawn_loss(networks: Sequence[TrialNetwork]) -> list[CheckFinding]:
    """Every shaped port of every trial of a run, each at its part of LEVEL (Bonferroni)."""
    losses = [
        loss
        for network in networks
        for port in network.ports
        if network.segmented and (loss := _of_port(network, port))
    ]
    if not losses:
        return [unmeasured(KIND, "", "", "no port counted packets one by one")]
    drawn = sum(bool(loss.share.base) for loss in losses)
    return [_finding(loss, LEVEL / max(1, drawn)) for loss in losses]


def _of_port(network: TrialNetwork, port: Port) -> DrawnLoss | None:
    """None if the port let nothing pass, or has a short delay line, which drops as well."""
    counted = network.qdiscs.port_loss(port.name)
    offered = round(counted.lost + counted.dropped + counted.passed)
    if port.channel is None or offered <= 0 or port.channel.line < MOST_PACKETS:
        return None
    lost = min(max(0, round(counted.lost)), offered)
    return DrawnLoss(f"{port.name}, {network.label}", port.name, port.channel.loss, lost, offered)


def _finding(loss: DrawnLoss, level: float) -> CheckFinding:
    chance = loss.chance
    measured = f"{loss.lost:,} of {loss.offered:,} ({percent(loss.lost / loss.offered)})"
    words = f"{loss.share}", f"{measured}; chance {percent(chance)}"
    if chance >= level:
        return CheckFinding(KIND, loss.place, *words, CheckOutcome.GOOD, "", _rarity(chance, level))
    if not loss.share.base:
        sentence = f"{loss.port} lost {loss.lost} packets at random, and was to lose none."
        return CheckFinding(KIND, loss.place, *words, CheckOutcome.UNUSABLE, sentence, 1e6)
    sentence = (
        f"{loss.port} lost {measured} at random where {loss.share} was asked for: chance does that"
        f" in {percent(chance)} of runs. It is bad luck or a wrong link; of good runs this is said"
        f" of {LEVEL:.0%}. Another seed tells."
    )
    return CheckFinding(
        KIND, loss.place, *words, CheckOutcome.CARE, sentence, _rarity(chance, level)
    )


def _rarity(chance: float, level: float) -> float:
    return log(max(chance, 1e-300)) / log(level)
