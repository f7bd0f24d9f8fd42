"""Checks of random loss, of packets that no link may lose, of marks, and of queues' limits.

experiments/flows/link_proof.py fails a run at 4.5 standard deviations, which chance alone does not
reach. This checks losses closer, by the exact binomial distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from analysis.measures.captures import DropCauses, drop_causes
from analysis.measures.links import FRAME_HEADER, PortTraffic, carried, channels, delay_of
from analysis.measures.trial_network import SentPackets, TrialNetwork
from analysis.network.findings import (
    CheckFinding,
    CheckOutcome,
    duration,
    lateness,
    percent,
    unmeasured,
)
from analysis.statistics.tests import at_least, at_most
from topologies.disciplines import discipline
from topologies.spec import MOST_PACKETS, Channel, Port
from topologies.units import Share

LOSSES = "Packets lost at random"
LEVEL = 0.01  # how often a run with the right loss is doubted, all its ports and seeds together


@dataclass(frozen=True)
class DrawnLoss:
    """Number of packets offered to a port and lost at random."""

    network: str
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
    ports = [(each, port) for each in networks if each.segmented for port in each.ports]
    losses = [loss for each, port in ports if (loss := _of_port(each, port))]
    if not losses:
        return [unmeasured(LOSSES, "", "", "no port counted packets one by one")]
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
    return DrawnLoss(network.label, port.name, port.channel.loss, lost, offered)


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
    where = f"{loss.port}, {loss.network}"
    return CheckFinding(LOSSES, where, *words, outcome, sentence, excess)


UNASKED, HOSTS = "Unspecified packet losses", "Packets dropped in hosts"
FEW = 1e-4
"""Share of the packets sent. TCP's rate goes with the root of the loss (Mathis et al. 1997), and a
tenth of a thousandth already holds a flow to 122 segments a round trip."""


def lost_packets(network: TrialNetwork) -> list[CheckFinding]:
    """Check for losses that no link, queue or host counted, and for drops in hosts."""
    causes = drop_causes(network.run, network.trial)
    if causes is None:
        why = "no qdisc or host counted packets one by one"
        return [unmeasured(kind, network.label, "none", why) for kind in (UNASKED, HOSTS)]
    return [_unasked(network, causes), _of_hosts(network, causes)]


def _unasked(network: TrialNetwork, causes: DropCauses) -> CheckFinding:
    """By both ends' captures if every host has one, else by the hosts' counters."""
    lost = causes.unasked
    if network.whole:  # links count packets, host queues buffers of several
        counted = [network.qdiscs.port_loss(port.name) for port in network.ports]
        lost = network.missing - sum(port.lost + port.dropped + port.policed for port in counted)
        lost = max(0.0, lost - network.cut_off) if lost > 0 else lost
    elif network.host_ports or lost is None:
        why = "hosts' counters do not tell what they sent"
        return unmeasured(UNASKED, network.label, "none", why)
    queues = causes.full_queue + causes.managed
    measured = f"{lost:,.0f}; {causes.random:,.0f} at random, {queues:,.0f} by queues"
    sentence = (
        f"{lost:,.0f} packets vanished that no link and no queue counted: the hosts or their cables"
        " lost them, and TCP took that for the network."
    )
    if lost < 0:
        sentence = (
            f"Links and queues lost {-lost:,.0f} packets more than hosts sent to each other: what"
            " was not meant for a link took its time."
        )
    return _vanished(network, UNASKED, lost, measured, sentence, causes)


def _vanished(
    network: TrialNetwork, kind: str, lost: float, measured: str, sentence: str, causes: DropCauses
) -> CheckFinding:
    """Grade packets that should not have been lost, by their share of those sent."""
    outcome = CheckOutcome.CARE if abs(lost) <= FEW * causes.sent else CheckOutcome.UNUSABLE
    if not lost:
        outcome, sentence = CheckOutcome.GOOD, ""
    excess = abs(lost) / max(1.0, causes.sent)
    return CheckFinding(kind, network.label, "none", measured, outcome, sentence, excess)


def _of_hosts(network: TrialNetwork, causes: DropCauses) -> CheckFinding:
    total = sum(causes.hosts.values())
    each = [f"{host} {count:,.0f} ({name})" for (host, name), count in causes.hosts.items()]
    measured = ", ".join(each[:3])
    sentence = (
        f"Hosts dropped {total:,.0f} packets that the network had delivered or was to carry"
        f" ({measured}): a host and not the network set the result."
    )
    return _vanished(network, HOSTS, total, measured or "none", sentence, causes)


MARKS = "Congestion marks (CE)"
_UNSEEN = "not every host has a whole capture of its packets as they are on links"
_DROPS_MARKED = ("red",)
"""red marks a packet before it finds that it has no room for it (red_enqueue in sch_red.c)."""


def congestion_marks(network: TrialNetwork) -> list[CheckFinding]:
    """Compare counters with captures, port by port; no finding where no packet was marked.

    Where packets cross several ports, a mark may be counted at two, and a marked packet be lost.
    So these ports are compared together, and may have counted more.
    """
    counted = {port: round(network.qdiscs.marks(port.name)) for port in network.ports}
    if not network.whole or not network.segmented:
        return [unmeasured(MARKS, network.label, "", _UNSEEN)] if any(counted.values()) else []
    findings = []
    for ports, directions in network.joined_ways:
        met = [network.met(direction) for direction in directions]
        if any(counted[port] for port in ports) or any(each.marked for each in met):
            findings.append(_compared(network, sorted(ports, key=lambda port: port.name), met))
    return findings


def _compared(network: TrialNetwork, ports: list[Port], met: list[SentPackets]) -> CheckFinding:
    names = ", ".join(port.name for port in ports)
    counted = sum(round(network.qdiscs.marks(port.name)) for port in ports)
    seen = sum(each.marked for each in met)
    most = seen + sum(each.marked_before for each in met)
    channel = ports[0].channel
    if channel and channel.discipline in _DROPS_MARKED:
        dropped = network.qdiscs.port_loss(ports[0].name).dropped
        most += round(dropped - network.qdiscs.managed_drops(ports[0].name))
    most += round(sum(network.qdiscs.marks_again(port.name) for port in ports))
    wrong = seen - counted if len(ports) > 1 else max(seen - counted, counted - most)
    outcome = CheckOutcome.UNUSABLE if wrong > 0 else CheckOutcome.GOOD
    sentence = (
        f"{seen:,} packets arrived with a new congestion mark, and {names} counted {counted:,}:"
        " marks come from elsewhere, get lost, or are miscounted."
    )
    asked, measured = f"{counted:,} counted", f"{seen:,} arrived"
    where = f"{names}, {network.label}"
    return CheckFinding(MARKS, where, asked, measured, outcome, sentence, float(wrong))


BOUND, FULL = "Packets that waited for a link", "Drops of a full queue"
_SLACK = 1_000  # nanoseconds in which two events count as one
_ONE_PACKET_OFF = 1  # packets by which a queue may be off and its figures still be used, with care


def queue_bound(network: TrialNetwork) -> list[CheckFinding]:
    """Return the longest queue at every link whose packets are all seen, and its drops."""
    if not network.whole or not network.segmented:
        return [unmeasured(BOUND, network.label, "", _UNSEEN)]
    findings = []
    for crossing in network.crossing:
        if crossing.alone:
            findings += _of_link(network, crossing)
        elif len(crossing.sent):
            findings.append(_longest_wait(network, crossing))
    why = "streams of packets join or part between links"
    return findings or [unmeasured(BOUND, network.label, "", why)]


def _of_link(network: TrialNetwork, traffic: PortTraffic) -> list[CheckFinding]:
    port, channel = traffic.ports[0], channels(traffic.ports)[0]
    place, slack = f"{port.name}, {network.label}", _SLACK + lateness(network)
    frame = network.topology.mtu.base + FRAME_HEADER
    findings = [_bound(place, channel, _most_waiting(traffic, channel, slack, frame))]
    if channel.discipline == "fifo" and not channel.jitter.base and not network.real_time:
        dropped = round(network.qdiscs.port_loss(port.name).dropped)
        full = _met_full(traffic, channel, slack + channel.processing_time.base)
        findings += _full(place, channel, dropped, full)
    return findings


def _by(packets: int) -> CheckOutcome:
    if packets <= 0:
        return CheckOutcome.GOOD
    return CheckOutcome.CARE if packets <= _ONE_PACKET_OFF else CheckOutcome.UNUSABLE


def _bound(where: str, channel: Channel, waiting: int) -> CheckFinding:
    """`waiting` full packets at most, or as many bytes, in addition to the packet on the link."""
    allowed = channel.queue.base
    sentence = (
        f"{waiting} packets waited for {where.partition(',')[0]}, whose queue was to hold"
        f" {allowed}: losses come later and round trips are longer than asked for."
    )
    queue = discipline(channel.discipline)
    more, why = queue.excess, queue.excess_reason
    asked = f"at most {allowed:,}" + (f", and {more} {why}" if more else "")
    outcome, excess = _by(waiting - allowed - more), waiting / (allowed + more)
    return CheckFinding(BOUND, where, asked, f"at most {waiting:,}", outcome, sentence, excess)


def _most_waiting(traffic: PortTraffic, channel: Channel, slack: int, frame: int) -> int:
    """Return the most packets, or full packets' bytes, surely there, less the one sent."""
    in_bytes, there = discipline(channel.discipline).in_bytes, traffic.arrived
    due = traffic.sent[there] + delay_of(channel) + channel.variation.base
    came, length = traffic.came[there], traffic.length[there]
    sizes = length if in_bytes else np.ones_like(length)
    by_due, by_came = np.argsort(due, kind="stable"), np.argsort(came, kind="stable")
    left = np.concatenate(([0], np.cumsum(sizes[by_came])))
    gone = left[np.searchsorted(came[by_came], due[by_due] + slack, "right")]
    most = int((np.cumsum(sizes[by_due]) - gone).max(initial=0))
    most = max(0, most - int(sizes.max(initial=0)))
    return -(-most // frame) if in_bytes else most


def _met_full(traffic: PortTraffic, channel: Channel, slack: int) -> int:
    """Count lost packets that may have met a full queue; on an idle link one more (sch_netem.c)."""
    due, there = traffic.sent + delay_of(channel), traffic.arrived
    missed, entered = due[~there], np.sort(due[there])
    gone = np.searchsorted(np.sort(traffic.came[there]), missed - slack, "left")
    here = np.searchsorted(entered, missed + slack, "right") - gone
    was_idle = np.searchsorted(entered, missed - slack, "left") <= gone
    return int((here + was_idle > channel.queue.base).sum())


def _full(where: str, channel: Channel, dropped: int, full: int) -> list[CheckFinding]:
    if not dropped:
        return []
    early = max(0, dropped - full)
    sentence = (
        f"The queue of {where.partition(',')[0]} dropped {early} of {dropped} packets when fewer"
        f" than {channel.queue} waited: it was shorter than asked for."
    )
    asked = f"all when {channel.queue} packets waited"
    measured = f"{min(full, dropped):,} of {dropped:,} met a full queue"
    return [CheckFinding(FULL, where, asked, measured, _by(early), sentence, float(early))]


def _longest_wait(network: TrialNetwork, traffic: PortTraffic) -> CheckFinding:
    """Of a way over several links: no packet may wait longer than all full queues take."""
    most = longest_wait(channels(traffic.ports), int(traffic.length.max(initial=0)))
    worst = int(traffic.wait.max(initial=0))
    excess = worst / (most + _SLACK + lateness(network))
    where = f"{traffic.ports[0].name} to {traffic.ports[-1].name}, {network.label}"
    sentence = (
        f"A packet waited {duration(worst)}, longer than all queues on its way could make it wait"
        f" ({duration(most)}): a queue is longer than asked for."
    )
    asked, measured = f"at most {duration(most)} on the way", f"at most {duration(worst)}"
    outcome = CheckOutcome.GOOD if excess <= 1 else CheckOutcome.UNUSABLE
    return CheckFinding(BOUND, where, asked, measured, outcome, sentence, excess)


def longest_wait(lines: Sequence[Channel], length: int) -> int:
    sizes = [line.queue.base + discipline(line.discipline).excess for line in lines]
    pairs = zip(lines, sizes, strict=True)
    return sum(size * carried(line, length) + line.variation.base for line, size in pairs)
