"""Proof that a condition held, from captures and counters and not from what was set.

netem counts a packet that leaves at once, before waiting ones, as a requeue (net/sched/sch_netem.c,
netem_enqueue). A requeue is a buffer of up to 64 KB, which TCP hands down whole even if offloads
are off; `packets` counts its segments. If every buffer has one segment, as acknowledgements have,
both can be compared.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.guest.programs import run
from topologies.addresses import address_of
from topologies.spec import MOST_PACKETS, Channel, HostReordering, Port
from topologies.units import WHOLE

CHANGES = "changes.json"
"""A row for each change of the link: its port, when it was (s), and the port's qdiscs before."""
ROUTES = "routes.json"
"""The lines of `ip route show` of each host, if a condition has an initial window."""
_SYNS = "tcp[tcpflags] & tcp-syn != 0"
_PORTS = re.compile(r"\.(\d+) > \S+\.(\d+): Flags")
_NEGOTIATED, _WITHOUT_CONNECTION = "sack", ("SYN-SENT", "SYN-RECV")
# Counts each buffer that TCP hands to IP once, however many segments it holds.
_HANDED_DOWN = "IpOutRequests"
_CHANCE = 4.5  # standard deviations; once in 150 000 the right loss would be doubted

_NETEM = "10:"  # handle of netem on a host's port
_SEEN = ("TcpExtTCPSACKReorder", "TcpExtTCPRenoReorder", "TcpExtTCPTSReorder")

Counters = dict[str, dict[str, int]]
ProofRow = dict[str, Any]
"""A proof as the run directory keeps it: claim, expected, observed (sentences), held, source."""


def evidence(condition: Condition, spec: ExperimentSpec, folder: Path) -> dict[str, Any]:
    """{"held": bool, "proofs": [rows]} from the files of a condition's folder.

    A condition that names proofs of which none can be looked at did not hold.
    """
    named = [row for proof in condition.proofs for row in _PROOFS[proof.kind](proof, spec, folder)]
    named += _initial_windows(condition, folder) + _own_congestion_controls(spec, folder)
    proofs = named + _losses(spec, folder) + reorderings(spec, folder)
    return {
        "held": bool(named or not condition.proofs) and all(row["held"] for row in proofs),
        "proofs": proofs,
    }


def _initial_windows(condition: Condition, folder: Path) -> list[ProofRow]:
    """Prove from its routes that every host begins with the condition's window."""
    window = condition.initial_window
    if window is None:
        return []
    words = f"initcwnd {window}"
    return [
        {
            "claim": f"{host} begins with {window} segments",
            "expected": words,
            "observed": lines or ["it has no route"],
            "held": bool(lines) and all(f" {words} " in f"{line} " for line in lines),
            "source": f"{ROUTES} (ip route show)",
        }
        for host, lines in json.loads((folder / ROUTES).read_text()).items()
    ]


def _sack_permitted(proof: Proof, spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Return a row for every flow: from the SYNs in its receiver's capture, else from its sender's
    socket.

    Each capture and each file of samples is read once, whatever the number of flows.
    """
    captured = {
        port.node: port.name for port in reversed(spec.topology.ports) if port.name in spec.captures
    }
    flows = [flow for flow in spec.flows if flow.receiver in captured and flow.is_connection]
    syns = {
        host: _syns(folder / f"{captured[host]}.pcap")
        for host in dict.fromkeys(flow.receiver for flow in flows)
    }
    seen = [
        _offers(
            proof, flow, syns[flow.receiver].get(flow.port, []), f"{captured[flow.receiver]}.pcap"
        )
        for flow in flows
    ]
    unseen = [flow for flow in spec.flows if flow.receiver not in captured and flow.is_connection]
    return seen + [
        _negotiated(proof, flow, values)
        for flow, values in _of_senders(_NEGOTIATED, unseen, spec, folder)
    ]


def _negotiated(proof: Proof, flow: Flow, values: set[Any]) -> ProofRow:
    """tcpi_options of tcp_info: whether both SYNs had the option."""
    words = sorted("on" if value else "off" for value in values)
    return {
        "claim": (
            f"{flow.name}: {flow.sender}'s connection has selective acknowledgement"
            f" {proof.expected}"
        ),
        "expected": proof.expected,
        "observed": words or ["no connection was sampled"],
        "held": words == [proof.expected],
        "source": f"{flow.sender}.sockets.jsonl (sock_diag, tcpi_options)",
    }


def _syns(capture: Path) -> dict[int, list[str]]:
    """Return the lines of tcpdump for all segments with SYN, by each of their ports."""
    syns: dict[int, list[str]] = {}
    for line in run(["tcpdump", "-Z", "root", "-n", "-r", str(capture), _SYNS]).splitlines():
        if ports := _PORTS.search(line):
            for port in dict.fromkeys(ports.groups()):
                syns.setdefault(int(port), []).append(line)
    return syns


def _offers(proof: Proof, flow: Flow, lines: list[str], capture: str) -> ProofRow:
    """SACK-permitted (RFC 2018, section 2) on both SYNs or on none; tcpdump prints sackOK.

    With ECN the SYNs have the flags E and W too.
    """
    flags = {"SYN": r"Flags \[S[EW]*\]", "SYN-ACK": r"Flags \[S\.[EW]*\]"}
    offers = {
        side: ["sackOK" in line for line in lines if re.search(flag, line)]
        for side, flag in flags.items()
    }
    is_expected = proof.expected == "on"
    return {
        "claim": (
            f"{flow.name}: {'both SYNs offer' if is_expected else 'no SYN offers'} selective"
            " acknowledgement"
        ),
        "expected": proof.expected,
        "observed": [
            f"{side}: {'sackOK' if any(offered) else 'no sackOK'} ({len(offered)} seen)"
            for side, offered in offers.items()
        ],
        "held": all(offered and set(offered) == {is_expected} for offered in offers.values()),
        "source": f"tcpdump -r {capture} '{_SYNS}'",
    }


def _congestion_control(proof: Proof, spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Return the algorithm of the sockets of each flow that has none of its own, in every
    sample.
    """
    flows = [flow for flow in spec.flows if flow.is_connection and not flow.congestion_control]
    algorithms = _of_senders("congestion_control", flows, spec, folder)
    return [_sends_with(proof.expected, flow, values) for flow, values in algorithms]


def _own_congestion_controls(spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Return the algorithm of the sockets of each flow that chooses one."""
    flows = [flow for flow in spec.flows if flow.congestion_control and flow.is_connection]
    if not flows:
        return []
    algorithms = _of_senders("congestion_control", flows, spec, folder)
    return [_sends_with(flow.congestion_control, flow, values) for flow, values in algorithms]


def _of_senders(
    field: str, flows: list[Flow], spec: ExperimentSpec, folder: Path
) -> Iterator[tuple[Flow, set[Any]]]:
    """Yield each flow with every value that a field of its sender's socket had.

    Each host's samples are read once.
    """
    senders = dict.fromkeys(flow.sender for flow in flows)
    values = {host: _seen(folder / f"{host}.sockets.jsonl", field) for host in senders}
    for flow in flows:
        receiver = f"{address_of(spec.topology, flow.receiver)}:{flow.port}"
        yield flow, values[flow.sender].get(receiver, set())


def _seen(samples: Path, field: str) -> dict[str, set[Any]]:
    """Return the values of a field, by the remote end of the socket.

    What is negotiated counts only for sockets that have a connection.
    """
    values: dict[str, set[Any]] = {}
    with samples.open() as lines:
        for line in lines:
            for row in json.loads(line)["sockets"]:
                # a half-open one may have no algorithm; on Linux 3.13 that is an empty name
                if row.get(field, "") != "" and (
                    field != _NEGOTIATED or row["state"] not in _WITHOUT_CONNECTION
                ):
                    values.setdefault(row["remote"], set()).add(row[field])
    return values


def _sends_with(expected: str, flow: Flow, algorithms: set[str]) -> ProofRow:
    return {
        "claim": f"{flow.name}: {flow.sender} sends with {expected}",
        "expected": expected,
        "observed": sorted(algorithms) or ["no connection was sampled"],
        "held": algorithms == {expected},
        "source": f"{flow.sender}.sockets.jsonl (sock_diag, as ss -ti)",
    }


def _absent_setting(proof: Proof, _spec: ExperimentSpec, _folder: Path) -> list[ProofRow]:
    """Prove that the kernel lacks the setting, so that it behaves as `expected` says."""
    setting, _, reason = proof.expected.partition(": ")
    name, _, value = setting.partition("=")
    file = Path("/proc/sys") / name.replace(".", "/")
    found = "this kernel has such a setting" if file.exists() else "this kernel has no such setting"
    return [
        {
            "claim": f"every host behaves as with {name} {value}",
            "expected": value,
            "observed": [f"{found}: {reason}"],
            "held": not file.exists(),
            "source": f"{file} in the guest, and kernel.toml of this kernel (lacks, always)",
        }
    ]


_PROOFS: dict[str, Callable[[Proof, ExperimentSpec, Path], list[ProofRow]]] = {
    "sack_permitted": _sack_permitted,
    "congestion_control": _congestion_control,
    "absent_setting": _absent_setting,
}


def _losses(spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Prove that every delay line lost the share that it should, within what chance allows."""
    rows = (
        _loss(port, channel, before, after, _handed_down(port, spec, folder))
        for port in spec.topology.ports
        for channel, before, after in _readings(port, spec, folder)
    )
    return [row for row in rows if row]


def _readings(
    port: Port, spec: ExperimentSpec, folder: Path
) -> Iterator[tuple[Channel, list[ProofRow], list[ProofRow]]]:
    """Yield each channel that the port had, with its qdiscs at the beginning and the end of its
    time.
    """
    readings = json.loads((folder / "qdiscs.json").read_text())
    channel, before = port.channel, readings["before"].get(port.name)
    if channel is None:
        return
    if spec.changes:
        done = json.loads((folder / CHANGES).read_text())
        changes = sorted(spec.changes, key=lambda change: change.at)
        for change, row in zip(changes, done, strict=False):  # fewer, if the flows ended before
            if row["port"] == port.name:
                yield channel, before, row["before"]
                channel, before = change.channel, row["before"]
    yield channel, before, readings["after"][port.name]


def _handed_down(port: Port, spec: ExperimentSpec, folder: Path) -> int | None:
    """Buffers of up to 64 KB that the hosts behind `port` sent, if segmentation is on; else None.

    netem draws once for each of them, while tc counts its `packets` as segments.
    """
    if spec.topology.segmentation == "off":
        return None
    ways = [
        way
        for flow in spec.flows
        for way in ((flow.sender, flow.receiver), (flow.receiver, flow.sender))
    ]
    hosts = {source for source, target in ways if port in spec.topology.path(source, target)}
    counters: dict[str, dict[str, dict[str, int]]] = json.loads(
        (folder / "counters.json").read_text()
    )
    return sum(
        counters["after"][host][_HANDED_DOWN] - counters["before"][host][_HANDED_DOWN]
        for host in hosts
    )


def _loss(
    port: Port,
    channel: Channel,
    before: list[ProofRow],
    after: list[ProofRow],
    handed_down: int | None,
) -> ProofRow | None:
    """Return the proof of a port's loss; None if no packet entered its delay line.

    netem's `drops` include those of the queue behind it; `packets` are those that left. The queue
    counts segments: if segmentation is on, any number of its own drops, from none to all, may be
    among netem's.
    """
    line, queue = (_growth(before, after, handle) for handle in ("1:", "3:"))
    least, most = max(0, line["drops"] - queue["drops"]), line["drops"]
    entered = handed_down if handed_down is not None else line["packets"] + line["drops"]
    if not entered:
        return None
    if handed_down is None:
        most = least
    share = channel.mean_loss.fraction
    clustering = channel.bursts.clustering if channel.bursts else 1.0
    width = _CHANCE * math.sqrt(entered * share * (1 - share) * clustering)
    middle = entered * share
    lowest, highest = max(0, math.floor(middle - width)), math.ceil(middle + width)
    lost = (
        f"{least} of {entered}, {100 * least / entered:.3g} %"
        if least == most
        else f"{least} to {most} of {entered}"
    )
    full = channel.line < MOST_PACKETS  # netem counts a full line's drops as losses
    more = f" and those above {channel.line} on their way" if full else ""
    return {
        "claim": f"{port.name} loses {channel.mean_loss} of the packets that enter it{more}",
        "expected": str(channel.mean_loss),
        "observed": [f"{lost} (chance allows {lowest} to {highest})"],
        "held": lowest <= most and (full or least <= highest),
        "source": (
            "qdiscs.json (tc -s -j qdisc show)"
            + (f", {_HANDED_DOWN}" if handed_down is not None else "")
        ),
    }


def _growth(before: list[ProofRow], after: list[ProofRow], handle: str) -> dict[str, int]:
    first, last = (next(row for row in rows if row["handle"] == handle) for rows in (before, after))
    return {name: last[name] - first[name] for name in ("packets", "drops")}


def reorderings(spec: ExperimentSpec, folder: Path) -> list[dict[str, Any]]:
    """Return a row (see experiments.flows.proof) for each host that reorders and sent anything."""
    if not spec.topology.reordering:
        return []
    readings, counters = (
        json.loads((folder / name).read_text()) for name in ("reordering.json", "counters.json")
    )
    senders = {flow.sender for flow in spec.flows}
    rows = []
    for reordering in spec.topology.reordering:
        port = f"{reordering.host}-eth0"
        grown = counted(readings["before"][port], readings["after"][port])
        if grown["packets"] and reordering.host in senders:
            rows.append(_of_data(port, reordering, grown, seen(counters, reordering.host)))
        elif grown["packets"]:
            rows.append(_of_acknowledgements(port, reordering, grown))
    return rows


def counted(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, int]:
    """Return how much `packets`, `requeues` and `drops` of a host's netem have grown."""
    first, last = (next(row for row in rows if row["handle"] == _NETEM) for rows in (before, after))
    return {name: last[name] - first[name] for name in ("packets", "requeues", "drops")}


def seen(counters: dict[str, Counters], host: str) -> int:
    """Return how often the TCP of `host` found that the path had reordered its segments."""
    return sum(
        counters["after"][host].get(name, 0) - counters["before"][host].get(name, 0)
        for name in _SEEN
    )


def _of_data(
    port: str, reordering: HostReordering, grown: dict[str, int], seen_by_tcp: int
) -> dict[str, Any]:
    """Judge reordered data: TCP sees it unless the draw is frozen, which lets all or none wait.

    Before Linux 3.6 that draw let every second buffer leave at once, which netem did not count.
    """
    every_second = bool(seen_by_tcp and not grown["requeues"])
    frozen = reordering.correlation == WHOLE and reordering.gap.base == 1 and not every_second
    # A correlated draw may have let all packets wait.
    undecided = reordering.correlation.base > 0 and not frozen
    held = (
        seen_by_tcp == 0
        if frozen
        else bool(grown["requeues"] and seen_by_tcp) or (undecided and not grown["requeues"])
    )
    counts = (
        f"{grown['requeues']} of at most {grown['packets']} buffers left at once, {grown['drops']}"
        " were dropped"
    )
    promise = (
        "keeps the order, since its draw is frozen"
        if frozen
        else f"lets buffers wait {reordering.delay} behind others"
    )
    return {
        "claim": f"{port} {promise}",
        "expected": "no reordering" if frozen else "reordering",
        "observed": [counts, f"TCP of {reordering.host} saw {seen_by_tcp} reorderings"],
        "held": held,
        "source": "reordering.json (tc -s -j qdisc show: requeues of netem), counters.json",
    }


def _of_acknowledgements(
    port: str, reordering: HostReordering, grown: dict[str, int]
) -> dict[str, Any]:
    sent, at_once = grown["packets"], grown["requeues"]
    allowed = _allowed(reordering, sent)
    return {
        "claim": f"{port} lets the right share of its packets wait {reordering.delay}",
        "expected": " or ".join(f"{lowest} to {highest}" for lowest, highest in allowed),
        "observed": [f"{at_once} of {sent} packets left at once, {grown['drops']} were dropped"],
        "held": any(lowest <= at_once <= highest for lowest, highest in allowed),
        "source": "reordering.json (tc -s -j qdisc show: requeues of netem)",
    }


def _allowed(reordering: HostReordering, sent: int) -> list[tuple[int, int]]:
    """Return how many of `sent` packets may leave at once: ranges (lowest, highest).

    Partly correlated draws have no simple distribution: any number may.
    """
    if reordering.correlation == WHOLE:
        return [(0, 0), (max(0, sent // reordering.gap.base - 1), sent // reordering.gap.base + 1)]
    if reordering.correlation.base:
        return [(0, sent)]
    # gap - 1 packets wait, then draws decide until one leaves at once: a renewal process of such
    # cycles.
    share = reordering.at_once.fraction
    cycle = reordering.gap.base - 1 + 1 / share
    width = _CHANCE * math.sqrt(sent * (1 - share) / share**2 / cycle**3) + 2
    return [(max(0, math.floor(sent / cycle - width)), math.ceil(sent / cycle + width))]
