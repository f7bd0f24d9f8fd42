"""Whether anything was lost that nobody was asked to lose."""

from __future__ import annotations

from analysis.measures.drop_causes import DropCauses, drop_causes
from analysis.network.asked_network import TrialNetwork
from analysis.network.findings import CheckFinding, CheckOutcome, unmeasured
from analysis.network.packet_traffic import TrialTraffic

UNASKED, HOSTS = "Packets lost that nobody asked for", "Packets dropped in hosts"
FEW = 1e-4
"""Share of the packets sent. TCP's rate goes with the root of the loss (Mathis et al. 1997), and a
tenth of a thousandth already holds a flow to 122 segments a round trip."""


def lost_packets(network: TrialNetwork, traffic: TrialTraffic) -> list[CheckFinding]:
    """What is missing beyond all that links, queues and hosts counted, and what hosts dropped."""
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
    sentence = (
        f"{lost:,.0f} packets vanished that no link and no queue counted: the hosts or their cables"
        " lost them, and TCP took that for the network."
        if lost > 0
        else f"Links and queues lost {-lost:,.0f} packets more than hosts sent to each other: what"
        " was not meant for a link took its time."
    )
    excess = abs(lost) / max(1.0, causes.sent)
    return CheckFinding(UNASKED, network.label, "none", measured, outcome, sentence, excess)


def _uncounted(network: TrialNetwork, traffic: TrialTraffic, causes: DropCauses) -> float | None:
    """What links lost is counted in packets, what queues of hosts lost in buffers of several."""
    if not traffic.whole:
        return None if network.host_ports else causes.unasked
    counted = (network.qdiscs.port_loss(port.name) for port in network.ports)
    return traffic.missing - sum(port.lost + port.dropped for port in counted)


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
