"""How far packets were overtaken: RFC 4737, Packet Reordering Metrics, for all packets at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class PacketDisplacement:
    """One value a packet, in order of arrival; all are 0 for a packet that arrived in order.

    `packets` is the extent (RFC 4737, 4.2): places since the first arrival that was sent later.
    `time` is since then (ns, 4.3: late time offset), `octets` the bytes that overtook it (4.3:
    byte offset). `n` is the number of packets just before it that were all sent later (5.4:
    n-reordering); TCP takes n of 3 and more for a loss.
    """

    packets: Numbers
    time: Numbers
    octets: Numbers
    n: Numbers


def reordering(sent: Numbers, arrived: Numbers, octets: Numbers) -> PacketDisplacement:
    """The displacement of packets, which are given in order of arrival.

    `sent` is each one's place among the sent (all different), `arrived` its time in ns, `octets`
    its length in bytes. A lost packet leaves a gap in the places, which is no reordering.
    """
    places = np.arange(len(sent))
    # The greatest place so far never falls, so the first arrival that was sent later is found by
    # bisection.
    first_later = np.minimum(
        np.searchsorted(np.maximum.accumulate(sent), sent, side="right"), places
    )
    late, ranks = first_later < places, np.empty(len(sent), np.int64)
    ranks[np.argsort(sent, kind="stable")] = places
    return PacketDisplacement(
        places - first_later,
        np.where(late, arrived - arrived[first_later], 0),
        overtaking(ranks, octets),
        _overtaken_in_a_row(sent, late),
    )


def overtaking(ranks: Numbers, weights: Numbers) -> Numbers:
    """For each place, the sum of the weights before it that have a greater rank.

    `ranks` are 0 to n-1, each once. Numbers are sorted bit by bit, the highest first. Two of them
    part at the highest bit in which they differ; there the one with bit 0 receives the weight of
    those with bit 1 that came before it: n log n instead of n squared.
    """
    sums = np.zeros(len(ranks), np.int64)
    order = np.arange(len(ranks))
    for bit in reversed(range(len(ranks).bit_length())):
        high, bit_value = ranks[order] >> (bit + 1), (ranks[order] >> bit) & 1
        running = np.cumsum(bit_value * weights[order])
        begins = np.flatnonzero(np.diff(high, prepend=-1))  # groups of equal higher bits
        before_group = running[begins] - (bit_value * weights[order])[begins]
        before = np.repeat(before_group, np.diff(begins, append=len(order)))
        sums[order] += np.where(bit_value == 0, running - before, 0)
        order = order[np.argsort(ranks[order] >> bit, kind="stable")]
    return sums


def _overtaken_in_a_row(sent: Numbers, late: NDArray[np.bool_]) -> Numbers:
    """Looks back one place at a time, for packets that have not met one sent before them."""
    counts = np.zeros(len(sent), np.int64)
    open_places, back = np.flatnonzero(late), 1
    while len(open_places):
        earlier = open_places - back
        was_later = sent[np.maximum(earlier, 0)] > sent[open_places]
        open_places = open_places[(earlier >= 0) & was_later]
        counts[open_places] += 1
        back += 1
    return counts
