"""Check of congestion marks: those that queues counted, and those that arrived in captures."""

from collections.abc import Sequence

from analysis.network.findings import CheckFinding, CheckOutcome, unmeasured
from analysis.traffic.packets import SentPackets, TrialTraffic
from analysis.traffic.trials import TrialNetwork
from topologies.topology_spec import Port

KIND = "Congestion marks (CE)"
_DROPS_MARKED = ("red",)
"""red marks a packet before it finds that it has no room for it (red_enqueue in sch_red.c)."""


def congestion_marks(network: TrialNetwork, traffic: TrialTraffic) -> list[CheckFinding]:
    """Compare counters with captures, port by port; no finding where no packet was marked.

    Where packets cross several ports, a mark may be counted at two, and a marked packet be lost.
    So these ports are compared together, and may have counted more.
    """
    counted = {port: round(network.qdiscs.marks(port.name)) for port in network.ports}
    if not traffic.whole or not network.segmented:
        why = "not every host has a whole capture of its packets as they are on links"
        return [unmeasured(KIND, network.label, "", why)] if any(counted.values()) else []
    findings = []
    for ports, ways in traffic.joined_ways:
        met = [traffic.met(way) for way in ways]
        if any(counted[port] for port in ports) or any(each.marked for each in met):
            findings.append(_compared(network, sorted(ports, key=lambda port: port.name), met))
    return findings


def _compared(
    network: TrialNetwork, ports: Sequence[Port], met: Sequence[SentPackets]
) -> CheckFinding:
    names = ", ".join(port.name for port in ports)
    counted = sum(round(network.qdiscs.marks(port.name)) for port in ports)
    seen = sum(each.marked for each in met)
    most = seen + sum(each.marked_before for each in met) + _dropped_after(network, ports[0])
    most += round(sum(network.qdiscs.marks_again(port.name) for port in ports))
    wrong = seen - counted if len(ports) > 1 else max(seen - counted, counted - most)
    outcome = CheckOutcome.UNUSABLE if wrong > 0 else CheckOutcome.GOOD
    sentence = (
        f"{seen:,} packets arrived with a new congestion mark, and {names} counted {counted:,}:"
        " marks come from elsewhere, get lost, or are miscounted."
    )
    asked, measured = f"{counted:,} counted", f"{seen:,} arrived"
    place = f"{names}, {network.label}"
    return CheckFinding(KIND, place, asked, measured, outcome, sentence, float(wrong))


def _dropped_after(network: TrialNetwork, port: Port) -> int:
    """Return the packets that a port may have marked and then dropped."""
    if port.channel is None or port.channel.discipline not in _DROPS_MARKED:
        return 0
    dropped = network.qdiscs.port_loss(port.name).dropped
    return round(dropped - network.qdiscs.managed_drops(port.name))
