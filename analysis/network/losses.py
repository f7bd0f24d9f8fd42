"""Checks of random loss and of packets that no link may lose.

experiments/proof.py fails a run at 4.5 standard deviations, which chance alone does not reach. This
checks closer, by the exact binomial distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from analysis.measures.drop_causes import DropCauses, drop_causes
from analysis.network.findings import CheckFinding, CheckOutcome, percent, unmeasured
from analysis.statistics.chances import at_least, at_most
from analysis.traffic.packets import TrialTraffic
from analysis.traffic.trials import TrialNetwork
from topologies.foundation.units import Share
from topologies.topology_spec import MOST_PACKETS, Port

KIND = "Packets lost at random"
LEVEL = 0.01
"""How often a run with the right loss is doubted, all its ports and seeds together."""


@dataclass(frozen=True)
class DrawnLoss:
    """Number of packets offered to a port and lost at random."""

    place: str
    port: str
    share: Share
    lost: int
    offered: int

    @property
    def chance(self) -> float:
        """Probability that chance loses so few, or so many, twice the rarer of the two."""
        if not self.share.base:
            return 0.0 if self.lost else 1.0
        few = at_most(self.lost, self.offered, self.share.fraction)
        return min(1.0, 2 * min(few, at_least(self.lost, self.offered, self.share.fraction)))


def drawn_loss(networks: Sequence[TrialNetwork]) -> list[CheckFinding]:
    """Return every shaped port of every trial of a run, each at its part of LEVEL (Bonferroni)."""
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
    """Return None if the port let no packet pass, has bursts or a short delay line."""
    counted = network.qdiscs.port_loss(port.name)
    offered = round(counted.lost + counted.dropped + counted.passed)
    if port.channel is None or offered <= 0 or port.channel.line < MOST_PACKETS:
        return None
    if port.channel.gemodel:  # bursts are not binomial; the run's proof has their chance
        return None
    lost = min(max(0, round(counted.lost)), offered)
    return DrawnLoss(f"{port.name}, {network.label}", port.name, port.channel.loss, lost, offered)


def _finding(loss: DrawnLoss, level: float) -> CheckFinding:
    chance = loss.chance
    measured = f"{loss.lost:,} of {loss.offered:,} ({percent(loss.lost / loss.offered)})"
    outcome, excess = CheckOutcome.CARE, log(max(chance, 1e-300)) / log(level)
    sentence = (
        f"{loss.port} lost {measured} at random where {loss.share} was asked for: chance does that"
        f" in {percent(chance)} of runs. It is bad luck or a wrong link; of good runs this is said"
        f" of {LEVEL:.0%}. Another seed tells."
    )
    if chance >= level:
        outcome, sentence = CheckOutcome.GOOD, ""
    elif not loss.share.base:
        outcome, excess = CheckOutcome.UNUSABLE, 1e6
        sentence = f"{loss.port} lost {loss.lost} packets at random, and was to lose none."
    words = f"{loss.share}", f"{measured}; chance {percent(chance)}"
    return CheckFinding(KIND, loss.place, *words, outcome, sentence, excess)


UNASKED, HOSTS = "Unspecified packet losses", "Packets dropped in hosts"
FEW = 1e-4
"""Share of the packets sent. TCP's rate goes with the root of the loss (Mathis et al. 1997), and a
tenth of a thousandth already holds a flow to 122 segments a round trip."""


def lost_packets(network: TrialNetwork, traffic: TrialTraffic) -> list[CheckFinding]:
    """Check for losses that no link, queue or host counted, and for drops in hosts."""
    causes = drop_causes(network.run, network.trial)
    if causes is None:
        why = "no qdisc or host counted packets one by one"
        return [unmeasured(kind, network.label, "none", why) for kind in (UNASKED, HOSTS)]
    return [_unasked(network, traffic, causes), _of_hosts(network, causes)]


def _unasked(network: TrialNetwork, traffic: TrialTraffic, causes: DropCauses) -> CheckFinding:
    """By both ends' captures if every host has one, else by the hosts' counters."""
    lost = _uncounted(network, traffic, causes)
    if lost is None:
        why = "hosts' counters do not tell what they sent"
        return unmeasured(UNASKED, network.label, "none", why)
    counted = f"{causes.random:,.0f} at random, {causes.full_queue + causes.managed:,.0f} by queues"
    measured = f"{lost:,.0f}; {counted}"
    outcome = _judged(abs(lost), causes.sent)
    excess = abs(lost) / max(1.0, causes.sent)
    return CheckFinding(
        UNASKED, network.label, "none", measured, outcome, _unasked_words(lost), excess
    )


def _unasked_words(lost: float) -> str:
    if not lost:
        return ""
    return (
        f"{lost:,.0f} packets vanished that no link and no queue counted: the hosts or their cables"
        " lost them, and TCP took that for the network."
        if lost > 0
        else f"Links and queues lost {-lost:,.0f} packets more than hosts sent to each other: what"
        " was not meant for a link took its time."
    )


def _uncounted(network: TrialNetwork, traffic: TrialTraffic, causes: DropCauses) -> float | None:
    """Return losses without a count: links count packets, host queues buffers of several."""
    if not traffic.whole:
        return None if network.host_ports else causes.unasked
    counted = (network.qdiscs.port_loss(port.name) for port in network.ports)
    lost = traffic.missing - sum(port.lost + port.dropped for port in counted)
    return max(0.0, lost - traffic.cut_off) if lost > 0 else lost


def _judged(lost: float, sent: float) -> CheckOutcome:
    if not lost:
        return CheckOutcome.GOOD
    return CheckOutcome.CARE if lost <= FEW * sent else CheckOutcome.UNUSABLE


def _of_hosts(network: TrialNetwork, causes: DropCauses) -> CheckFinding:
    total = sum(causes.hosts.values())
    each = [f"{host} {count:,.0f} ({name})" for (host, name), count in causes.hosts.items()]
    sentence = (
        f"Hosts dropped {total:,.0f} packets that the network had delivered or was to carry"
        f" ({', '.join(each[:3])}): a host and not the network set the result."
    )
    outcome, excess = _judged(total, causes.sent), total / max(1.0, causes.sent)
    measured = ", ".join(each[:3]) or "none"
    return CheckFinding(HOSTS, network.label, "none", measured, outcome, sentence, excess)
