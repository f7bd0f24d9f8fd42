"""Whether the network set the rate of each TCP flow, or a socket buffer or a program did.

Linux counts for each socket how long it had data outstanding, and how much of that the receiver's
window or its own send buffer held it back (tcp_chrono in net/ipv4/tcp_output.c).
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.network.asked_network import TrialNetwork
from analysis.network.findings import CheckFinding, CheckOutcome, percent, unmeasured
from analysis.records.run_directory import RunFlow
from analysis.records.socket_samples import SocketSample

KIND = "What held senders back"
LIMITED = 0.1
"""Share of the time that a sender had data outstanding: while a buffer holds it back its rate is
not the network's, so up to so much of the result is the buffer's."""
IDLE = 0.1
"""The same for a program that wrote nothing although its transfer was not over."""
_SHORTEST = 1.0
"""Seconds; what a shorter connection waited for is its beginning."""


def sender_limits(network: TrialNetwork) -> list[CheckFinding]:
    """Each TCP flow whose sender's socket was sampled."""
    flows = [flow for flow in network.run.flows if flow.protocol == "tcp"]
    findings = [
        finding
        for flow in flows
        if (samples := network.samples(flow.sender).get(str(flow.port)))
        and (finding := _of_flow(network, flow, samples))
    ]
    if flows and not findings:
        return [unmeasured(KIND, network.label, "the network", _why_not(network, flows))]
    return findings


def _why_not(network: TrialNetwork, flows: Sequence[RunFlow]) -> str:
    """Linux before 4.10 counts no such times (struct tcp_info in include/uapi/linux/tcp.h)."""
    senders = {flow.sender for flow in flows}
    samples = [
        sample for sender in senders for each in network.samples(sender).values() for sample in each
    ]
    if samples and not any(sample.busy for sample in samples):
        return "this kernel does not count what held a sender back"
    return "no sender's socket was sampled"


def _of_flow(
    network: TrialNetwork, flow: RunFlow, samples: Sequence[SocketSample]
) -> CheckFinding | None:
    """None if the flow did not send for long."""
    busy = [sample for sample in samples if sample.busy > 0]
    if not busy or busy[-1].busy < _SHORTEST:
        return None
    last, place = busy[-1], f"{flow.name}, {network.label}"
    buffer, window = last.buffer_limited / last.busy, last.window_limited / last.busy
    shares = {"its send buffer": buffer, "the receiver's window": window}
    measured = f"send buffer {percent(buffer)}, receiver's window {percent(window)} of the time"
    if flow.windowed:
        asked = "the window that was asked for (iperf -w), or the network"
        return CheckFinding(KIND, place, asked, measured, CheckOutcome.GOOD)
    full = _link_use(network, flow, last.busy)
    if full > 1 - LIMITED:
        measured += f"; the link was in use for {percent(min(full, 1.0))}"
        return CheckFinding(KIND, place, "the network", measured, CheckOutcome.GOOD)
    idle = _idle(busy)
    what, share = max(shares.items(), key=lambda pair: pair[1])
    sentence = f"{flow.name} was held back by {what} for {percent(share)} of its time, not by the"
    sentence += " network: its throughput is the buffer's (net.ipv4.tcp_wmem, tcp_rmem)."
    if idle > IDLE and share <= LIMITED:
        measured += f", nothing to send {percent(idle)}"
        sentence = f"{flow.name} had nothing to send for {percent(idle)} of its time: the program"
        sentence += " set its rate, not the network."
    excess = max(share / LIMITED, idle / IDLE)
    outcome = CheckOutcome.GOOD if excess <= 1 else CheckOutcome.CARE
    return CheckFinding(KIND, place, "the network", measured, outcome, sentence, excess)


def _link_use(network: TrialNetwork, flow: RunFlow, seconds: float) -> float:
    """The share of what the slowest link of the flow could carry in its time that it carried.

    A sender whose buffer is just as large as its path waits for the buffer while the link is full.
    """
    way = flow.sender, flow.receiver
    links = [
        (port.channel.bandwidth.base, port.name)
        for port in (network.shaped(way) if way in network.ways else ())
        if port.channel
    ]
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
