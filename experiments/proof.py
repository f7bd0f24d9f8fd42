"""Proof that a condition held, taken from what the run itself captured and counted, not from what was set."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.inside.programs import run
from topologies.addresses import address_of
from topologies.spec import Port

_SYNS = "tcp[tcpflags] & tcp-syn != 0"
_CHANCE = 4.5  # standard deviations; once in 150 000 the right loss would be doubted

Row = dict[str, Any]
"""A proof as the run directory keeps it: claim, expected, observed (sentences), held, source."""


def evidence(condition: Condition, spec: ExperimentSpec, folder: Path) -> dict[str, Any]:
    """{"held": bool, "proofs": [rows]} from the files of a condition's folder.

    A condition that names proofs of which none can be looked at did not hold.
    """
    named = [row for proof in condition.proofs for flow in spec.flows if (row := _look(proof, flow, spec, folder))]
    proofs = named + _losses(spec, folder)
    return {"held": bool(named or not condition.proofs) and all(row["held"] for row in proofs), "proofs": proofs}


def _look(proof: Proof, flow: Flow, spec: ExperimentSpec, folder: Path) -> Row | None:
    if proof.kind == "congestion_control":
        return _congestion_control(proof, flow, address_of(spec.topology, flow.receiver), folder)
    captured = [port.name for port in spec.topology.ports if port.node == flow.receiver and port.name in spec.captures]
    return _sack_permitted(proof, flow, folder / f"{captured[0]}.pcap") if captured else None


def _sack_permitted(proof: Proof, flow: Flow, capture: Path) -> Row:
    """SACK-permitted (RFC 2018, section 2) on both SYNs or on neither, as tcpdump prints it: sackOK."""
    lines = run(["tcpdump", "-Z", "root", "-n", "-r", str(capture), f"{_SYNS} and port {flow.port}"]).splitlines()
    flags = {"SYN": "Flags [S]", "SYN-ACK": "Flags [S.]"}
    offers = {side: ["sackOK" in line for line in lines if flag in line] for side, flag in flags.items()}
    wanted = proof.expected == "on"
    return {
        "claim": f"{flow.name}: {'both SYNs offer' if wanted else 'no SYN offers'} selective acknowledgement",
        "expected": proof.expected,
        "observed": [
            f"{side}: {'sackOK' if any(found) else 'no sackOK'} ({len(found)} seen)" for side, found in offers.items()
        ],
        "held": all(found and set(found) == {wanted} for found in offers.values()),
        "source": f"tcpdump -r {capture.name} '{_SYNS}'",
    }


def _congestion_control(proof: Proof, flow: Flow, receiver: str, folder: Path) -> Row:
    """The algorithm of the sender's own sockets, in every sample."""
    samples = folder / f"{flow.sender}.sockets.jsonl"
    sockets = [socket for line in samples.read_text().splitlines() for socket in json.loads(line)["sockets"]]
    found = {row["congestion_control"] for row in sockets if row["remote"] == f"{receiver}:{flow.port}"}
    return {
        "claim": f"{flow.name}: {flow.sender} sends with {proof.expected}",
        "expected": proof.expected,
        "observed": sorted(found) or ["no connection was sampled"],
        "held": found == {proof.expected},
        "source": f"{samples.name} (sock_diag, as ss -ti)",
    }


def _losses(spec: ExperimentSpec, folder: Path) -> list[Row]:
    """Every delay line lost the share that it was to lose, within what chance allows."""
    readings = json.loads((folder / "qdiscs.json").read_text())
    rows = (_loss(port, readings["before"][port.name], readings["after"][port.name]) for port in spec.topology.ports
            if port.channel)  # fmt: skip
    return [row for row in rows if row]


def _loss(port: Port, before: list[Row], after: list[Row]) -> Row | None:
    """netem's `drops` count the queue behind it as well; `packets` are those that left. None where nothing came."""
    assert port.channel is not None
    line, queue = (_growth(before, after, handle) for handle in ("1:", "3:"))
    lost, came = line["drops"] - queue["drops"], line["packets"] + line["drops"]
    if not came:
        return None
    share = port.channel.loss.fraction
    middle, width = came * share, _CHANCE * math.sqrt(came * share * (1 - share))
    lowest, highest = max(0, math.floor(middle - width)), math.ceil(middle + width)
    return {
        "claim": f"{port.name} loses {port.channel.loss} of the packets that enter it",
        "expected": str(port.channel.loss),
        "observed": [f"{lost} of {came}, {100 * lost / came:.3g} % (chance allows {lowest} to {highest})"],
        "held": lowest <= lost <= highest,
        "source": "qdiscs.json (tc -s -j qdisc show)",
    }


def _growth(before: list[Row], after: list[Row], handle: str) -> dict[str, int]:
    first, last = (next(row for row in rows if row["handle"] == handle) for rows in (before, after))
    return {name: last[name] - first[name] for name in ("packets", "drops")}
