"""Whether a packet that waits for nobody takes as long as the delays and the links' rates say."""

from __future__ import annotations

import numpy as np

from analysis.measures.results import MINUS
from analysis.network.asked_network import FRAME_HEADER, TrialNetwork, Way, carried, channels
from analysis.network.findings import CheckFinding, CheckOutcome, duration, outcome_of, unmeasured
from analysis.network.packet_traffic import TrialTraffic
from analysis.network.real_time import lateness
from analysis.network.sightings import Sightings
from analysis.records.socket_samples import SocketSample

KIND = "Round trip of a lone packet"
TOLERANCE, A_PORT = 2_000, 1_000
"""Nanoseconds, and at least so many for each shaped port on the way. Virtual time has no late
timers, so only steps of the kernel remain: up to 0.5 us for each of the two timers of a port."""
FAR = 10.0
"""Tolerances; beyond them the path is another than the one that was asked for."""
_SHARE = 1e-3
"""Of the round trip: less changes no figure of TCP by a digit that is printed."""
_SYN, _ACK = 2, 16
_SHORTEST, _SYN_FRAME = FRAME_HEADER + 40, FRAME_HEADER + 60
"""Bytes of a frame with an ACK alone, and of one with a SYN as Linux sends it."""
_SYN_BYTES = 1
"""What a SYN counts among the bytes that were acknowledged (tcp_info)."""
_READ, _STAMPED = 1_000, 1_000_000
"""Nanoseconds to which tcp_info knows a round trip; and one from timestamps (RFC 7323), which is
all that there is if a segment was sent again."""


def round_trip(network: TrialNetwork, traffic: TrialTraffic) -> list[CheckFinding]:
    """The handshake that came closest to the round trip that was asked for."""
    if not any(flow.protocol == "tcp" for flow in network.run.flows):
        return [unmeasured(KIND, network.label, "", "no TCP connection tells a round trip")]
    floors = _handshakes(network, traffic) or _sampled(network)
    if not floors:
        return [unmeasured(KIND, network.label, "", "no handshake and no socket was seen whole")]
    nearest = min(floors, key=lambda floor: abs(floor[1] - floor[0]) - floor[2])
    return [_finding(network, *nearest)]


Floor = tuple[int, int, int]
"""Round trip that was asked for, that was measured, and what is not known of it, in ns."""


def _finding(network: TrialNetwork, asked: int, measured: int, unknown: int) -> CheckFinding:
    late = 2 * lateness(network)
    ports = max(len(network.shaped(way) + network.shaped(way[::-1])) for way in network.ways)
    own = max(TOLERANCE, A_PORT * ports, late, round(_SHARE * asked) if late else 0)
    in_hosts = sum(carried(channel, _SYN_FRAME) for channel in channels(network.host_ports))
    tolerance = own + unknown + in_hosts
    longer = measured - asked
    excess = max(-longer, longer - _held_back(network)) / tolerance
    outcome = _unless_shared(network, longer > 0, outcome_of(excess, FAR))
    sentence = (
        f"The shortest round trip was {duration(measured)} instead of {duration(asked)}: delays or"
        " rates are not those that were asked for."
    )
    if outcome == CheckOutcome.UNMEASURED:
        sentence = "no handshake had the network for itself"
    words = duration(asked), f"{duration(measured)} ({_difference(longer)})"
    return CheckFinding(KIND, network.label, *words, outcome, sentence, excess)


def _held_back(network: TrialNetwork) -> int:
    """Nanoseconds by which hosts that reorder may send a SYN and its answer later."""
    reordering = network.topology.reordering
    return sum(each.delay.base for each in reordering if (each.host, each.peer) in network.ways)


def _difference(nanoseconds: int) -> str:
    return f"{'+' if nanoseconds >= 0 else MINUS}{duration(abs(nanoseconds))}"


def _unless_shared(network: TrialNetwork, longer: bool, outcome: CheckOutcome) -> CheckOutcome:
    """Packets of several flows wait for each other, so their round trips may be longer."""
    waited = longer and len(network.run.flows) > 1 and outcome > CheckOutcome.UNMEASURED
    return CheckOutcome.UNMEASURED if waited else outcome


def _handshakes(network: TrialNetwork, traffic: TrialTraffic) -> list[Floor]:
    """Of each flow whose sender was captured and whose first SYN was answered."""
    floors = []
    for way in dict.fromkeys((flow.sender, flow.receiver) for flow in network.run.flows):
        if way in network.ways and traffic.at(way[0]) is not None:
            floors += _of_way(network, way, *_both_ways(traffic, way))
    return floors


def _both_ways(traffic: TrialTraffic, way: Way) -> tuple[Sightings, Sightings]:
    return traffic.seen(way[0], way), traffic.seen(way[0], way[::-1])


def _of_way(network: TrialNetwork, way: Way, out: Sightings, back: Sightings) -> list[Floor]:
    opening = out.only((out.flags & (_SYN | _ACK)) == _SYN)
    answers = back.only((back.flags & (_SYN | _ACK)) == _SYN | _ACK)
    floors, jitter = [], network.jitter(way) + network.jitter(way[::-1])
    for port in np.unique(opening.ports):
        syns = opening.only(opening.ports == port)
        answer = answers.only(answers.ports == _turned(int(port)))
        if len(syns) != 1 or not len(answer):
            continue  # a SYN that was sent again may have either answer
        asked = network.lone(way, int(syns.length[0]))
        asked += network.lone(way[::-1], int(answer.length[0]))
        floors.append((asked, int(answer.time[0] - syns.time[0]), jitter))
    return floors


def _turned(ports: int) -> int:
    return (ports & 0xFFFF) << 16 | ports >> 16


def _sampled(network: TrialNetwork) -> list[Floor]:
    """The least round trip of each sender's socket, which may be of any two packets."""
    floors = []
    for flow in network.run.flows:
        way = flow.sender, flow.receiver
        samples = network.samples(flow.sender).get(str(flow.port), [])
        trips = [sample.least_rtt for sample in samples if sample.least_rtt > 0]
        again = any(sample.segments_retrans for sample in samples)
        known = trips and not (again and _is_handshake_only(samples))
        if known and way in network.ways:
            asked, unknown = _of_any_packets(network, way, again)
            floors.append((asked, round(1e9 * min(trips)), unknown))
    return floors


def _is_handshake_only(samples: list[SocketSample]) -> bool:
    """Whether no data was acknowledged, so that the only round trip is that of a SYN.

    If several SYNs were sent, the answer may have the timestamp of an earlier one and the round
    trip a timeout in it: Linux keeps that of the first that came (tcp_check_req).
    """
    return max(sample.bytes_acked for sample in samples) <= _SYN_BYTES


def _of_any_packets(network: TrialNetwork, way: Way, again: bool) -> tuple[int, int]:
    """The round trip of two SYNs, and by how much another may be longer or shorter (ns).

    If a segment was sent `again`, it may have been a SYN, which then has no round trip.
    """
    back = way[::-1]
    asked, least = (
        network.lone(way, length) + network.lone(back, length) for length in (_SYN_FRAME, _SHORTEST)
    )
    full = network.topology.mtu.base + FRAME_HEADER
    most = network.lone(way, full) + network.lone(back, _SYN_FRAME) if again else asked
    read = _STAMPED if again else _READ
    jitter = network.jitter(way) + network.jitter(back)
    return asked, max(asked - least, most - asked) + read + jitter
