"""Sentences on what virtual time leaves out, where that matters for a run."""

from collections.abc import Iterator

from analysis.network.findings import duration
from analysis.traffic.trials import FRAME_HEADER, TrialNetwork, channels

_FAST = 900_000_000
"""Bits a second: links of 1 Gbit/s and more, also less what tc does not count of a frame."""
_SHORT = 100_000
"""Nanoseconds; real hosts add tens of microseconds to a round trip."""
_SHORT_FRAME = 66  # an ACK
_PAGE = "docs/concepts/limits.md"


def limits(network: TrialNetwork) -> Iterator[str]:
    """Yield a sentence for a fast link, and for a short round trip; none in real time."""
    if network.real_time:
        return
    every = channels((*network.ports, *network.host_ports))
    fastest = max((channel.bandwidth for channel in every), default=None)
    if fastest and fastest.base >= _FAST:
        yield (
            f"At {fastest}, processors, GRO and interrupts of real hosts shape traffic too, and"
            f" virtual time has none of them ({_PAGE})."
        )
    trips = [_round_trip(network, flow.sender, flow.receiver) for flow in network.run.flows]
    shortest = min(filter(None, trips), default=_SHORT)
    if shortest < _SHORT:
        yield (
            f"To a round trip of {duration(shortest)} real hosts add as much themselves, and"
            f" virtual time adds none of that ({_PAGE})."
        )


def _round_trip(network: TrialNetwork, sender: str, receiver: str) -> int:
    """Return the nanoseconds of a lone full packet and its ACK; 0 for hosts that are not linked."""
    there, back = (sender, receiver), (receiver, sender)
    if not {there, back} <= {*network.ways}:
        return 0
    frame = network.topology.mtu.base + FRAME_HEADER
    return network.lone(there, frame) + network.lone(back, _SHORT_FRAME)
