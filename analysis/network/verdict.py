"""Verdict on the network of a run, with its checks of round trips and senders."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from analysis.fmt import MINUS
from analysis.measures.links import FRAME_HEADER, carried, channels
from analysis.measures.trial_network import Direction, TrialNetwork
from analysis.network import findings
from analysis.network.counts import UNASKED, congestion_marks, drawn_loss, lost_packets, queue_bound
from analysis.network.findings import CheckFinding, CheckOutcome, duration, percent, unmeasured
from analysis.network.spacing import spacing
from analysis.records.output import SocketSample
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import RunFlow

KIND = "Round trip of a lone packet"
_SHARED = "no handshake had the network for itself"
TOLERANCE, A_PORT = 2_000, 1_000
"""Nanoseconds, and at least so many for each shaped port on the way. Virtual time has no late
timers, so only steps of the kernel remain: up to 0.5 us for each of the two timers of a port."""
FAR = 10.0  # tolerances; beyond them the path is another than the one that was asked for
_SHARE = 1e-3  # of the round trip: less changes no figure of TCP by a digit that is printed
_SYN, _ACK = 2, 16
_SHORTEST, _SYN_FRAME = FRAME_HEADER + 40, FRAME_HEADER + 60
"""Bytes of a frame with an ACK alone, and of one with a SYN as Linux sends it."""
_SYN_BYTES = 1  # what a SYN counts among the bytes that were acknowledged (tcp_info)
_READ, _STAMPED = 1_000, 1_000_000
"""Nanoseconds to which tcp_info knows a round trip; and one from timestamps (RFC 7323), which is
all that there is if a segment was sent again."""


def round_trip(network: TrialNetwork) -> list[CheckFinding]:
    """Return the handshake that came closest to the round trip that was asked for."""
    if not any(flow.protocol == "tcp" for flow in network.run.flows):
        return [unmeasured(KIND, network.label, "", "no TCP connection tells a round trip")]
    floors = list(_handshakes(network)) or list(_sampled(network))
    if not floors:
        return [unmeasured(KIND, network.label, "", "no handshake and no socket was seen whole")]
    nearest = min(floors, key=lambda floor: abs(floor[1] - floor[0]) - floor[2])
    return [_finding(network, *nearest)]


Floor = tuple[int, int, int]
"""Round trip that was asked for, that was measured, and what is not known of it, in ns."""


def _finding(network: TrialNetwork, asked: int, measured: int, unknown: int) -> CheckFinding:
    late = 2 * findings.lateness(network)
    ways = ((network.shaped[way], network.shaped[way[::-1]]) for way in network.directions)
    ports = max(len(there + back) for there, back in ways)
    own = max(TOLERANCE, A_PORT * ports, late, round(_SHARE * asked) if late else 0)
    in_hosts = sum(carried(channel, _SYN_FRAME) for channel in channels(network.host_ports))
    reordering = network.topology.reordering  # hosts that may send a SYN and its answer later
    held = [each.delay.base for each in reordering if (each.host, each.peer) in network.directions]
    longer = measured - asked
    excess = max(-longer, longer - sum(held)) / (own + unknown + in_hosts)
    outcome = findings.outcome_of(excess, FAR)
    sentence = (
        f"The shortest round trip was {duration(measured)} instead of {duration(asked)}: delays or"
        " rates are not those that were asked for."
    )
    # Packets of several flows wait for each other, so their round trips may be longer.
    if longer > 0 and len(network.run.flows) > 1 and outcome > CheckOutcome.UNMEASURED:
        outcome, sentence = CheckOutcome.UNMEASURED, _SHARED
    sign = "+" if longer >= 0 else MINUS
    words = duration(asked), f"{duration(measured)} ({sign}{duration(abs(longer))})"
    return CheckFinding(KIND, network.label, *words, outcome, sentence, excess)


def _handshakes(network: TrialNetwork) -> Iterator[Floor]:
    for way in dict.fromkeys((flow.sender, flow.receiver) for flow in network.run.flows):
        if way in network.directions and network.at(way[0]) is not None:
            yield from _of_direction(network, way, way[::-1])


def _of_direction(network: TrialNetwork, there: Direction, back: Direction) -> Iterator[Floor]:
    sent, came = network.seen(there[0], there), network.seen(there[0], back)
    opening = sent.only((sent.flags & (_SYN | _ACK)) == _SYN)
    answers = came.only((came.flags & (_SYN | _ACK)) == _SYN | _ACK)
    for port in np.unique(opening.ports):
        syns = opening.only(opening.ports == port)
        turned = (int(port) & 0xFFFF) << 16 | int(port) >> 16
        answer = answers.only(answers.ports == turned)
        if len(syns) == 1 and len(answer):  # a SYN that was sent again may have either answer
            asked = network.lone(there, int(syns.length[0]))
            asked += network.lone(back, int(answer.length[0]))
            jitter = network.jitter(there) + network.jitter(back)
            yield asked, int(answer.time[0] - syns.time[0]), jitter


def _sampled(network: TrialNetwork) -> Iterator[Floor]:
    """Yield the least round trip of each sender's socket, which may be of any two packets.

    If several SYNs were sent, the answer may have the timestamp of an earlier one and the round
    trip a timeout in it (Linux keeps that of the first that came, tcp_check_req): without data that
    is the only round trip.
    """
    for flow in network.run.flows:
        direction = flow.sender, flow.receiver
        samples = network.samples[flow.sender].get(str(flow.port), [])
        trips = [sample.least_rtt for sample in samples if sample.least_rtt > 0]
        again = any(sample.segments_retrans for sample in samples)
        acked = max((sample.bytes_acked for sample in samples), default=0)
        is_doubtful = again and acked <= _SYN_BYTES
        if trips and not is_doubtful and direction in network.directions:
            asked, unknown = _of_any_packets(network, direction, again)
            yield asked, round(1e9 * min(trips)), unknown


def _of_any_packets(network: TrialNetwork, direction: Direction, again: bool) -> tuple[int, int]:
    """Return two SYNs' round trip, and by how much another may differ (ns) if sent `again`."""
    back = direction[::-1]
    lengths = (_SYN_FRAME, _SHORTEST)
    asked, least = (network.lone(direction, each) + network.lone(back, each) for each in lengths)
    full = network.topology.mtu.base + FRAME_HEADER
    most = network.lone(direction, full) + network.lone(back, _SYN_FRAME) if again else asked
    read = _STAMPED if again else _READ
    jitter = network.jitter(direction) + network.jitter(back)
    return asked, max(asked - least, most - asked) + read + jitter


SENDER_KIND = "What held senders back"
LIMITED = 0.1
"""Share of the time that a sender had data outstanding: while a buffer holds it back its rate is
not the network's, so up to so much of the result is the buffer's."""
IDLE = 0.1  # as above, for a program that wrote no data before its transfer was over
_SHORTEST_SENDER = 1.0  # seconds; what a shorter connection waited for is its beginning


def sender_limits(network: TrialNetwork) -> list[CheckFinding]:
    """Return each TCP flow whose sender's socket was sampled.

    Linux before 4.10 does not count what held a sender back (tcp_info in include/uapi/linux/tcp.h).
    """
    flows = [flow for flow in network.run.flows if flow.protocol == "tcp"]
    sampled = [(flow, network.samples[flow.sender].get(str(flow.port), [])) for flow in flows]
    found = (_of_flow(network, flow, samples) for flow, samples in sampled if samples)
    findings = [finding for finding in found if finding]
    if findings or not flows:
        return findings
    by_sender = (network.samples[sender] for sender in {flow.sender for flow in flows})
    every = [sample for of in by_sender for samples in of.values() for sample in samples]
    why = "no sender's socket was sampled"
    if every and not any(sample.busy for sample in every):
        why = "this kernel does not count what held a sender back"
    return [unmeasured(SENDER_KIND, network.label, "the network", why)]


def _of_flow(
    network: TrialNetwork, flow: RunFlow, samples: Sequence[SocketSample]
) -> CheckFinding | None:
    """None if the flow did not send for long."""
    busy = [sample for sample in samples if sample.busy > 0]
    if not busy or busy[-1].busy < _SHORTEST_SENDER:
        return None
    last, place = busy[-1], f"{flow.name}, {network.label}"
    buffer, window = last.buffer_limited / last.busy, last.window_limited / last.busy
    shares = {"its send buffer": buffer, "the receiver's window": window}
    measured = f"send buffer {percent(buffer)}, receiver's window {percent(window)} of the time"
    if flow.window:
        asked = "the window that was asked for (iperf -w), or the network"
        return CheckFinding(SENDER_KIND, place, asked, measured, CheckOutcome.GOOD)
    full = _link_use(network, flow, last.busy)
    if full > 1 - LIMITED:
        measured += f"; the link was in use for {percent(min(full, 1.0))}"
        return CheckFinding(SENDER_KIND, place, "the network", measured, CheckOutcome.GOOD)
    idle = 0.0 if flow.traffic else _idle(busy)  # an application pauses as it was asked to
    what, share = max(shares.items(), key=lambda pair: pair[1])
    sentence = f"{flow.name} was held back by {what} for {percent(share)} of its time, not by the"
    sentence += " network: its throughput is the buffer's (net.ipv4.tcp_wmem, tcp_rmem)."
    if idle > IDLE and share <= LIMITED:
        measured += f", no data to send {percent(idle)}"
        sentence = f"{flow.name} had no data to send for {percent(idle)} of its time: the program"
        sentence += " set its rate, not the network."
    excess = max(share / LIMITED, idle / IDLE)
    outcome = CheckOutcome.GOOD if excess <= 1 else CheckOutcome.CARE
    return CheckFinding(SENDER_KIND, place, "the network", measured, outcome, sentence, excess)


def _link_use(network: TrialNetwork, flow: RunFlow, seconds: float) -> float:
    """The slowest link's use in the flow's time: a buffer as large as the path fills it too."""
    direction = flow.sender, flow.receiver
    ports = network.shaped[direction] if direction in network.directions else ()
    links = [(port.channel.bandwidth.base, port.name) for port in ports if port.channel]
    if not links:
        return 0.0
    rate, port = min(links)
    return network.qdiscs.carried(port) * 8 / (rate * seconds)


def _idle(busy: Sequence[SocketSample]) -> float:
    """Share of the time between two samples while it was sending in which all had been sent."""
    grown = [sample for sample in busy if sample.busy > busy[0].busy]
    end = next((sample for sample in busy if sample.busy == busy[-1].busy), busy[-1])
    passed = end.time - busy[0].time
    return max(0.0, 1 - (end.busy - busy[0].busy) / passed) if grown and passed > 0 else 0.0


class Usability(StrEnum):
    """Verdict on a network, with its words in manifests and on pages."""

    GOOD = "good"
    CARE = "usable with care"
    UNUSABLE = "not to be used"


_CHANGING = (
    "The link changes while it is measured (spec.json, changes): tc's settings and counters were"
    " read at each change, and the captures were not compared."
)
ESSENTIAL = (findings.PROOFS, KIND, UNASKED)
"""Without these no network is called good: that its conditions held, that it was as long as asked
for, and that it lost no packet by itself."""
_FORGIVEN = {KIND: _SHARED}
_NOTHING = "spec.json names no network, so no check is possible."


@dataclass(frozen=True)
class NetworkCheck:
    """The worst finding of a kind, and at how many places it was `measured_at`."""

    what: str
    asked: str
    measured: str
    where: str
    measured_at: int
    outcome: str


@dataclass(frozen=True)
class NetworkVerdict:
    """Usability of a network, with reasons and all checks."""

    verdict: Usability
    reasons: tuple[str, ...]
    checks: tuple[NetworkCheck, ...]

    @property
    def good(self) -> bool:
        return self.verdict == Usability.GOOD

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def judge_network(run: RunRecord, known: Sequence[TrialNetwork | None] = ()) -> NetworkVerdict:
    """Return the verdict from a run's files; `known` networks were read before."""
    topology = run.spec.topology.network()
    if topology is None or not topology.nodes or not run.trials:
        return NetworkVerdict(Usability.CARE, (_NOTHING,), ())
    read = {network.trial: network for network in known if network}
    networks = [read.get(each) or TrialNetwork(run, each, topology) for each in run.trials]
    if run.spec.changes:
        # What a link did before and after a change is compared by the records of the run alone.
        recorded = [each for network in networks for each in findings.recorded(network)]
        verdict = _verdict(recorded)
        if verdict.good:
            return replace(verdict, verdict=Usability.CARE, reasons=(_CHANGING,))
        return replace(verdict, reasons=(*verdict.reasons, _CHANGING))
    found = [finding for network in networks for finding in _of_trial(network)]
    verdict = _verdict([*found, *drawn_loss(networks)])
    return replace(verdict, reasons=(*verdict.reasons, *findings.limits(networks[0])))


def _of_trial(network: TrialNetwork) -> Iterator[CheckFinding]:
    yield from findings.recorded(network)
    yield from round_trip(network)
    yield from spacing(network)
    yield from queue_bound(network)
    yield from lost_packets(network)
    yield from congestion_marks(network)
    yield from sender_limits(network)
    yield from findings.real_time(network)


def _verdict(findings: Sequence[CheckFinding]) -> NetworkVerdict:
    by_kind: dict[str, list[CheckFinding]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
    worst, checks = list[CheckFinding](), list[NetworkCheck]()
    for kind, same in by_kind.items():
        known = [finding for finding in same if finding.outcome != CheckOutcome.UNMEASURED]
        each = max(known or same, key=lambda finding: (finding.outcome, finding.excess))
        worst.append(each)
        measured = each.measured if known else f"not measured: {each.sentence}"
        facts = kind, each.asked, measured, each.place, len(known), each.outcome.word
        checks.append(NetworkCheck(*facts))
    level = max(map(_weight, worst), default=CheckOutcome.CARE)
    verdicts = {CheckOutcome.CARE: Usability.CARE, CheckOutcome.UNUSABLE: Usability.UNUSABLE}
    reasons = tuple(_reasons(worst, by_kind))
    return NetworkVerdict(verdicts.get(level, Usability.GOOD), reasons, tuple(checks))


def _weight(finding: CheckFinding) -> CheckOutcome:
    """Grade an essential check that was not measured as with care; skip others."""
    if finding.outcome != CheckOutcome.UNMEASURED:
        return finding.outcome
    forgiven = _FORGIVEN.get(finding.kind) == finding.sentence
    return CheckOutcome.CARE if finding.kind in ESSENTIAL and not forgiven else CheckOutcome.GOOD


def _reasons(worst: list[CheckFinding], by_kind: dict[str, list[CheckFinding]]) -> Iterator[str]:
    """Yield the faults, worst first; then checks without a measurement, essential first."""
    wrong = [finding for finding in worst if finding.outcome >= CheckOutcome.CARE]
    for finding in sorted(wrong, key=lambda finding: -finding.outcome):
        bad = [each for each in by_kind[finding.kind] if each.outcome >= CheckOutcome.CARE]
        more = f" So it is at {len(bad)} places; this is the worst." if len(bad) > 1 else ""
        yield finding.sentence + more
    missing = [finding for finding in worst if finding.outcome == CheckOutcome.UNMEASURED]
    if essential := [finding.kind for finding in missing if _weight(finding) > CheckOutcome.GOOD]:
        yield f"Missing measurements that a good network needs: {'; '.join(essential)}."
    if not wrong:
        yield "The network matched the specification."
    reasons: dict[str, list[str]] = {}
    for finding in missing:
        reasons.setdefault(finding.sentence, []).append(finding.kind)
    for why, kinds in reasons.items():
        yield f"Not measured, because {why}: {'; '.join(kinds)}."
