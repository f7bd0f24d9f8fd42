"""Checks of the limits of queues."""

from collections.abc import Sequence

import numpy as np

from analysis.network.findings import CheckFinding, CheckOutcome, duration, lateness, unmeasured
from analysis.traffic.packets import PortTraffic, TrialTraffic
from analysis.traffic.sightings import Whole
from analysis.traffic.trials import FRAME_HEADER, TrialNetwork, carried, channels, delay_of
from topologies.disciplines import discipline
from topologies.topology_spec import Channel

BOUND, FULL = "Packets that waited for a link", "Drops of a full queue"
_SLACK = 1_000
"""Nanoseconds in which two events count as one."""
_ONE_PACKET_OFF = 1
"""Packets by which a queue may be off and its figures still be used, with care."""


def queue_bound(network: TrialNetwork, traffic: TrialTraffic) -> list[CheckFinding]:
    """Return the longest queue at every link whose packets are all seen, and its drops."""
    if not traffic.whole or not network.segmented:
        why = "not every host has a whole capture of its packets as they are on links"
        return [unmeasured(BOUND, network.label, "", why)]
    findings = []
    for crossing in traffic.crossing:
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
        findings += _full(
            place,
            channel,
            dropped,
            _met_full(traffic, channel, slack + channel.processing_time.base),
        )
    return findings


def _by(packets: int) -> CheckOutcome:
    """Grade a queue that is so many packets off."""
    if packets <= 0:
        return CheckOutcome.GOOD
    return CheckOutcome.CARE if packets <= _ONE_PACKET_OFF else CheckOutcome.UNUSABLE


def _bound(place: str, channel: Channel, waiting: int) -> CheckFinding:
    """`waiting` full packets at most, or as many bytes, in addition to the packet on the link."""
    allowed = channel.queue.base
    sentence = (
        f"{waiting} packets waited for {place.partition(',')[0]}, whose queue was to hold"
        f" {allowed}: losses come later and round trips are longer than asked for."
    )
    queue = discipline(channel.discipline)
    more, why = queue.excess, queue.excess_reason
    asked = f"at most {allowed:,}" + (f", and {more} {why}" if more else "")
    outcome, excess = _by(waiting - allowed - more), waiting / (allowed + more)
    return CheckFinding(BOUND, place, asked, f"at most {waiting:,}", outcome, sentence, excess)


def _most_waiting(traffic: PortTraffic, channel: Channel, slack: int, frame: int) -> int:
    """Return the most packets that surely were at the link at once, less the one on it.

    Full packets of `frame` bytes for a discipline that counts bytes.
    """
    if not discipline(channel.discipline).in_bytes:
        return _most(traffic, channel, slack, np.ones_like(traffic.length))
    return -(-_most(traffic, channel, slack, traffic.length) // frame)


def _most(traffic: PortTraffic, channel: Channel, slack: int, sizes: Whole) -> int:
    there = traffic.came >= 0
    due = traffic.sent[there] + delay_of(channel) + channel.variation.base
    came, sizes = traffic.came[there], sizes[there]
    by_due, by_came = np.argsort(due, kind="stable"), np.argsort(came, kind="stable")
    left = np.concatenate(([0], np.cumsum(sizes[by_came])))
    gone = left[np.searchsorted(came[by_came], due[by_due] + slack, "right")]
    most = int((np.cumsum(sizes[by_due]) - gone).max(initial=0))
    return max(0, most - int(sizes.max(initial=0)))


def _met_full(traffic: PortTraffic, channel: Channel, slack: int) -> int:
    """Count the lost packets that may have met a full queue.

    One more packet is on the link, unless the link was idle: netem hands on all
    packets of an instant before the first of them leaves the queue (netem_dequeue in sch_netem.c).
    """
    due, there = traffic.sent + delay_of(channel), traffic.came >= 0
    missed, entered = due[~there], np.sort(due[there])
    gone = np.searchsorted(np.sort(traffic.came[there]), missed - slack, "left")
    here = np.searchsorted(entered, missed + slack, "right") - gone
    was_idle = np.searchsorted(entered, missed - slack, "left") <= gone
    return int((here + was_idle > channel.queue.base).sum())


def _full(place: str, channel: Channel, dropped: int, full: int) -> list[CheckFinding]:
    """Return no finding if the queue dropped no packet."""
    if not dropped:
        return []
    early = max(0, dropped - full)
    sentence = (
        f"The queue of {place.partition(',')[0]} dropped {early} of {dropped} packets when fewer"
        f" than {channel.queue} waited: it was shorter than asked for."
    )
    asked = f"all when {channel.queue} packets waited"
    measured = f"{min(full, dropped):,} of {dropped:,} met a full queue"
    return [CheckFinding(FULL, place, asked, measured, _by(early), sentence, float(early))]


def _longest_wait(network: TrialNetwork, traffic: PortTraffic) -> CheckFinding:
    """Of a way over several links: no packet may wait longer than all full queues take."""
    lines, longest = channels(traffic.ports), int(traffic.length.max(initial=0))
    most = longest_wait(lines, longest)
    worst = int(traffic.wait.max(initial=0))
    excess = worst / (most + _SLACK + lateness(network))
    place = f"{traffic.ports[0].name} to {traffic.ports[-1].name}, {network.label}"
    sentence = (
        f"A packet waited {duration(worst)}, longer than all queues on its way could make it wait"
        f" ({duration(most)}): a queue is longer than asked for."
    )
    asked, measured = f"at most {duration(most)} on the way", f"at most {duration(worst)}"
    outcome = CheckOutcome.GOOD if excess <= 1 else CheckOutcome.UNUSABLE
    return CheckFinding(BOUND, place, asked, measured, outcome, sentence, excess)


def longest_wait(lines: Sequence[Channel], length: int) -> int:
    """Return the nanoseconds in which full queues of packets of `length` bytes drain."""
    return sum(
        (line.queue.base + discipline(line.discipline).excess) * carried(line, length)
        + line.variation.base
        for line in lines
    )
