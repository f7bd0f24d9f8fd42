"""Checks that a busy link lets packets go one after the other, each in its own time.

A link of `rate` carries a packet of L bytes in 8 L / rate. While packets wait for it, two of them
arrive that far apart. That a packet waited is known from both captures: it was due before the one
ahead of it had left."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.flows.sightings import Whole
from analysis.measures.links import PortTraffic, channels, delay_of
from analysis.measures.trial_network import TrialNetwork
from analysis.network.findings import CheckFinding, duration, lateness, outcome_of, unmeasured
from topologies.disciplines import discipline
from topologies.spec import Channel

SPACING, RATE = "Spacing of packets on a busy link", "Rate of a busy link"
TOLERANCE = 1_000
"""Nanoseconds by which 98 of 100 gaps may differ from the time that a packet takes."""
_RATES = frozenset({"bandwidth", "maxrate"})
_SHARE = 1e-3
"""Of that time, if it is more: a program of the lab that wakes just then takes a few microseconds,
which are invisible next to the 60 ms of a packet at 200 kbit/s."""
_OF_A_PACKET = 0.5
"""Of the time that a packet takes: beyond it, packets leave in twos or not at all."""
_FAR = 10.0  # tolerances, if that is more
RATE_TOLERANCE, RATE_FAR = 1e-3, 1e-2
"""Shares of the rate; three digits of a throughput are printed, and 1 % is seen in a graph."""
_REAL_BURST = 250_000
"""Nanoseconds that a real timer may be late without loss of rate: native links send bursts."""
_REAL_RATE_TOLERANCE = 1e-2
_STEP = 500  # nanoseconds by which a timer of the lab kernel may be off: up to 0.5 us were measured
_HELD = 20_000
"""Nanoseconds; who takes so much longer than a lone packet has waited for another, and not for one
of the kernel's own steps."""
FEWEST = 20  # gaps; fewer give no meaningful percentiles


@dataclass(frozen=True)
class BusyGaps:
    """Gaps in which the second packet waited for the first, in `stretches` of a busy link."""

    gap: Whole
    due: Whole
    full: npt.NDArray[np.bool_]
    stretches: int


def spacing(network: TrialNetwork) -> list[CheckFinding]:
    """Spacing and rate at every link that can be judged, or why none can."""
    why, links = "", list[PortTraffic]()
    if not network.segmented:
        why = "hosts sent packets of up to 64 KB, which the network card would cut"
    elif not network.whole:
        why = "not every host has a whole capture"
    else:  # a discipline may send below the link's rate, as cake's shaper does
        links = [link for link in network.crossing if not _limits_rate(link)]
        if not links and network.crossing:
            why = "disciplines send below the rates of links"
    findings = [finding for link in links for finding in _of_link(network, link)]
    missing = [kind for kind in (SPACING, RATE) if all(kind != each.kind for each in findings)]
    why = why or "no link that carries one stream of packets was busy for long"
    return findings + [unmeasured(kind, network.label, "", why) for kind in missing]


def _limits_rate(traffic: PortTraffic) -> bool:
    return any(_RATES & dict(channel.settings).keys() for channel in channels(traffic.ports))


def _of_link(network: TrialNetwork, traffic: PortTraffic) -> list[CheckFinding]:
    if not traffic.alone and any(line.variation.base for line in channels(traffic.ports)):
        return []  # what one link has spaced, the jitter of the next moves
    slowest = min(channels(traffic.ports), key=lambda channel: channel.bandwidth)
    busy = busy_gaps(traffic, slowest)
    port = next(port.name for port in traffic.ports if port.channel == slowest)
    where = f"{port}, {network.label}"
    findings = []
    if busy.full.sum() >= FEWEST:
        real = _REAL_BURST + lateness(network) if network.real_time else 0
        findings.append(_spacing(where, busy, TOLERANCE + real))
    if len(busy.gap) >= FEWEST:
        tolerance = _REAL_RATE_TOLERANCE if network.real_time else RATE_TOLERANCE
        # Each stretch begins by a step of the kernel's.
        tolerance += _STEP * busy.stretches / max(1, int(busy.gap.sum()))
        findings.append(_rate(where, slowest, busy, tolerance))
    return findings


def _spacing(where: str, busy: BusyGaps, tolerance: int) -> CheckFinding:
    gaps, due = busy.gap[busy.full], int(np.median(busy.due[busy.full]))
    low, high = (int(value) for value in np.percentile(gaps - busy.due[busy.full], (1, 99)))
    tolerance = max(tolerance, int(_SHARE * due))
    excess = max(abs(low), abs(high)) / tolerance
    apart = f"{duration(due + low)} to {duration(due + high)}"
    sentence = (
        f"Packets that waited for {where.partition(',')[0]} left {apart} apart instead of"
        f" {duration(due)}: the link is no line that carries one packet after the other, so short"
        " queues and pairs of packets are not real."
    )
    asked = f"{duration(due)}, within {duration(tolerance)}"
    measured = f"{apart} (98 % of {len(gaps):,} gaps)"
    outcome = outcome_of(excess, max(_FAR, _OF_A_PACKET * due / tolerance))
    return CheckFinding(SPACING, where, asked, measured, outcome, sentence, excess)


def _rate(where: str, channel: Channel, busy: BusyGaps, tolerance: float) -> CheckFinding:
    share = float(busy.due.sum()) / max(1, int(busy.gap.sum()))
    excess, measured = abs(share - 1) / tolerance, _bits(share * channel.bandwidth.base)
    sentence = (
        f"While packets waited, {where.partition(',')[0]} carried {measured} instead of"
        f" {channel.bandwidth}: throughputs are {100 * (share - 1):+.3g} % off."
    )
    outcome = outcome_of(excess, max(2.0, RATE_FAR / tolerance))
    asked = f"{channel.bandwidth}, within {100 * tolerance:.2g} %"
    return CheckFinding(RATE, where, asked, measured, outcome, sentence, excess)


def _bits(rate: float) -> str:
    for unit, size in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if rate >= size:
            return f"{rate / size:.5g}{unit}"
    return f"{rate:.5g}bit"


def busy_gaps(traffic: PortTraffic, slowest: Channel) -> BusyGaps:
    """Return the gaps of a busy link; of several ports, between packets sent in a row."""
    came = np.flatnonzero(traffic.came >= 0)
    order = came[np.argsort(traffic.came[came], kind="stable")]
    left, length = traffic.came[order], traffic.length[order]
    waited = _waited(traffic, order) if traffic.alone else _held_up(traffic, order)
    chosen = np.flatnonzero(waited[1:]) + 1
    longest = int(length.max(initial=0))
    full = (length[chosen] == longest) & (length[chosen - 1] == longest)
    if not traffic.alone:
        chosen, full = chosen[full], full[full]
    due = length[chosen] * 8 * 10**9 // slowest.bandwidth.base
    stretches = int((np.diff(chosen, prepend=-1) != 1).sum())
    return BusyGaps(left[chosen] - left[chosen - 1], due, full, stretches)


def _waited(traffic: PortTraffic, order: Whole) -> npt.NDArray[np.bool_]:
    """Return whether another packet (any) was due when the one before each left the link."""
    left, due = traffic.came[order], np.sort(_latest(traffic)[order])
    entered = np.searchsorted(due, left[:-1], "right")
    return np.concatenate(([False], entered > np.arange(1, len(left))))[: len(left)]


def _held_up(traffic: PortTraffic, order: Whole) -> npt.NDArray[np.bool_]:
    """Return which packets were held up while no other was sent after the one before.

    What a slower link has spaced stays so behind it, if the packets are as long as each other. A
    fair queue may let a packet that was sent later go ahead; if a later link lost that, it left a
    gap that is not seen.
    """
    rates = [channel.bandwidth.base for channel in channels(traffic.ports)]
    carried = sum(traffic.length[order] * 8 * 10**9 // rate for rate in rates)
    following = np.concatenate(([False], np.diff(order) == 1))[: len(order)]
    lone = _latest(traffic)[order] + carried
    held: npt.NDArray[np.bool_] = following & (traffic.came[order] > lone + _HELD)
    if any(discipline(channel.discipline).is_fair for channel in channels(traffic.ports)):
        lost = np.sort(traffic.sent[traffic.came < 0])
        ends = traffic.sent[order], traffic.came[order]
        before, until = (np.searchsorted(lost, end, "right") for end in ends)
        held &= before == until
    return held


def _latest(traffic: PortTraffic) -> Whole:
    """Return the latest time at which each packet left all delay lines, without any link."""
    lines = channels(traffic.ports)
    return traffic.sent + sum(delay_of(line) + line.variation.base for line in lines)
