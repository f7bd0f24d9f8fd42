"""Proof that a condition held, taken from what the run itself captured and counted, not from what
was set.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from experiments.reordering_proof import reorderings
from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.guest.programs import run
from topologies.addresses import address_of
from topologies.spec import MOST_PACKETS, Port

_SYNS = "tcp[tcpflags] & tcp-syn != 0"
_PORTS = re.compile(r"\.(\d+) > \S+\.(\d+): Flags")
_NEGOTIATED, _WITHOUT_CONNECTION = "sack", ("SYN-SENT", "SYN-RECV")
_HANDED_DOWN = (  # counted for each buffer that TCP hands to IP, however many segments it holds
    "IpOutRequests"
)
_CHANCE = 4.5  # standard deviations; once in 150 000 the right loss would be doubted

Row = dict[str, Any]
"""A proof as the run directory keeps it: claim, expected, observed (sentences), held, source."""


def evidence(condition: Condition, spec: ExperimentSpec, folder: Path) -> dict[str, Any]:
    """{"held": bool, "proofs": [rows]} from the files of a condition's folder.

    A condition that names proofs of which none can be looked at did not hold.
    """
    named = [row for proof in condition.proofs for row in _LOOKS[proof.kind](proof, spec, folder)]
    proofs = named + _losses(spec, folder) + reorderings(spec, folder)
    return {
        "held": bool(named or not condition.proofs) and all(row["held"] for row in proofs),
        "proofs": proofs,
    }


def _sack_permitted(proof: Proof, spec: ExperimentSpec, folder: Path) -> list[Row]:
    """A row for every flow: from the SYNs where its receiver has a capture, else from its sender's
    socket.

    Each capture and each file of samples is read once, whatever the number of flows.
    """
    captured = {
        port.node: port.name for port in reversed(spec.topology.ports) if port.name in spec.captures
    }
    flows = [flow for flow in spec.flows if flow.receiver in captured and flow.protocol == "tcp"]
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
    unseen = [
        flow for flow in spec.flows if flow.receiver not in captured and flow.protocol == "tcp"
    ]
    return seen + [
        _negotiated(proof, flow, found)
        for flow, found in _of_senders(_NEGOTIATED, unseen, spec, folder)
    ]


def _negotiated(proof: Proof, flow: Flow, found: set[Any]) -> Row:
    """tcpi_options of tcp_info: whether both SYNs had the option."""
    words = sorted("on" if one else "off" for one in found)
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
    """The lines of tcpdump for all segments with SYN, by each of their ports."""
    found: dict[int, list[str]] = {}
    for line in run(["tcpdump", "-Z", "root", "-n", "-r", str(capture), _SYNS]).splitlines():
        if ports := _PORTS.search(line):
            for port in dict.fromkeys(ports.groups()):
                found.setdefault(int(port), []).append(line)
    return found


def _offers(proof: Proof, flow: Flow, lines: list[str], capture: str) -> Row:
    """SACK-permitted (RFC 2018, section 2) on both SYNs or on neither, as tcpdump prints it:
    sackOK.
    """
    flags = {"SYN": "Flags [S]", "SYN-ACK": "Flags [S.]"}
    offers = {
        side: ["sackOK" in line for line in lines if flag in line] for side, flag in flags.items()
    }
    wanted = proof.expected == "on"
    return {
        "claim": (
            f"{flow.name}: {'both SYNs offer' if wanted else 'no SYN offers'} selective"
            " acknowledgement"
        ),
        "expected": proof.expected,
        "observed": [
            f"{side}: {'sackOK' if any(found) else 'no sackOK'} ({len(found)} seen)"
            for side, found in offers.items()
        ],
        "held": all(found and set(found) == {wanted} for found in offers.values()),
        "source": f"tcpdump -r {capture} '{_SYNS}'",
    }


def _congestion_control(proof: Proof, spec: ExperimentSpec, folder: Path) -> list[Row]:
    """The algorithm of each sender's own sockets, in every sample."""
    flows = [flow for flow in spec.flows if flow.protocol == "tcp"]
    found = _of_senders("congestion_control", flows, spec, folder)
    return [_sends_with(proof, flow, values) for flow, values in found]


def _of_senders(
    field: str, flows: list[Flow], spec: ExperimentSpec, folder: Path
) -> Iterator[tuple[Flow, set[Any]]]:
    """Each flow with every value that a field of its sender's socket had.

    Each host's samples are read once.
    """
    senders = dict.fromkeys(flow.sender for flow in flows)
    found = {host: _seen(folder / f"{host}.sockets.jsonl", field) for host in senders}
    for flow in flows:
        receiver = f"{address_of(spec.topology, flow.receiver)}:{flow.port}"
        yield flow, found[flow.sender].get(receiver, set())


def _seen(samples: Path, field: str) -> dict[str, set[Any]]:
    """The values of a field, by the remote end of the socket; what is negotiated, of sockets with a
    connection.
    """
    found: dict[str, set[Any]] = {}
    with samples.open() as lines:
        for line in lines:
            for row in json.loads(line)["sockets"]:
                if field in row and (
                    field != _NEGOTIATED or row["state"] not in _WITHOUT_CONNECTION
                ):
                    found.setdefault(row["remote"], set()).add(
                        row[field]
                    )  # a half-open one may have no algorithm
    return found


def _sends_with(proof: Proof, flow: Flow, found: set[str]) -> Row:
    return {
        "claim": f"{flow.name}: {flow.sender} sends with {proof.expected}",
        "expected": proof.expected,
        "observed": sorted(found) or ["no connection was sampled"],
        "held": found == {proof.expected},
        "source": f"{flow.sender}.sockets.jsonl (sock_diag, as ss -ti)",
    }


_LOOKS: dict[str, Callable[[Proof, ExperimentSpec, Path], list[Row]]] = {
    "sack_permitted": _sack_permitted,
    "congestion_control": _congestion_control,
}


def _losses(spec: ExperimentSpec, folder: Path) -> list[Row]:
    """Every delay line lost the share that it was to lose, within what chance allows."""
    readings = json.loads((folder / "qdiscs.json").read_text())
    rows = (
        _loss(
            port,
            readings["before"][port.name],
            readings["after"][port.name],
            _handed_down(port, spec, folder),
        )
        for port in spec.topology.ports
        if port.channel
    )
    return [row for row in rows if row]


def _handed_down(port: Port, spec: ExperimentSpec, folder: Path) -> int | None:
    """Packets of up to 64 KB that the hosts behind `port` sent, where segmentation is left on; None
    where it is off.

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


def _loss(port: Port, before: list[Row], after: list[Row], handed_down: int | None) -> Row | None:
    """netem's `drops` count the queue behind it as well; `packets` are those that left. None where
    nothing came.

    The queue counts segments: of netem's drops it had, where segmentation is on, none to all of
    its own.
    """
    assert port.channel is not None
    line, queue = (_growth(before, after, handle) for handle in ("1:", "3:"))
    least, most = max(0, line["drops"] - queue["drops"]), line["drops"]
    came = handed_down if handed_down is not None else line["packets"] + line["drops"]
    if not came:
        return None
    if handed_down is None:
        most = least
    share = port.channel.loss.fraction
    middle, width = came * share, _CHANCE * math.sqrt(came * share * (1 - share))
    lowest, highest = max(0, math.floor(middle - width)), math.ceil(middle + width)
    lost = (
        f"{least} of {came}, {100 * least / came:.3g} %"
        if least == most
        else f"{least} to {most} of {came}"
    )
    full = (
        port.channel.line < MOST_PACKETS
    )  # netem counts what a full line drops with the lost ones
    more = f" and those above {port.channel.line} on their way" if full else ""
    return {
        "claim": f"{port.name} loses {port.channel.loss} of the packets that enter it{more}",
        "expected": str(port.channel.loss),
        "observed": [f"{lost} (chance allows {lowest} to {highest})"],
        "held": lowest <= most and (full or least <= highest),
        "source": (
            "qdiscs.json (tc -s -j qdisc show)"
            + (f", {_HANDED_DOWN}" if handed_down is not None else "")
        ),
    }


def _growth(before: list[Row], after: list[Row], handle: str) -> dict[str, int]:
    first, last = (next(row for row in rows if row["handle"] == handle) for rows in (before, after))
    return {name: last[name] - first[name] for name in ("packets", "drops")}
