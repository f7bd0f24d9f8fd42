"""Proof that a condition held, taken from the run's own captures by tcpdump, not from what was set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.inside.programs import run

_SYNS = "tcp[tcpflags] & tcp-syn != 0"


def evidence(condition: Condition, spec: ExperimentSpec, folder: Path) -> dict[str, Any]:
    """{"held": bool, "proofs": [...]}: every proof of the condition for every flow whose receiver is captured.

    A condition with proofs and no such flow did not hold: it could not be shown.
    """
    watched = {port.node: f"{port.name}.pcap" for port in spec.topology.ports if port.name in spec.captures}
    flows = [(flow, folder / watched[flow.receiver]) for flow in spec.flows if flow.receiver in watched]
    proofs = [_sack_permitted(proof, flow, capture) for proof in condition.proofs for flow, capture in flows]
    return {"held": bool(proofs or not condition.proofs) and all(proof["held"] for proof in proofs), "proofs": proofs}


def _sack_permitted(proof: Proof, flow: Flow, capture: Path) -> dict[str, Any]:
    """SACK-permitted (RFC 2018, section 2) on both SYNs or on neither, as tcpdump prints it: sackOK."""
    lines = run(["tcpdump", "-Z", "root", "-n", "-r", str(capture), f"{_SYNS} and port {flow.port}"]).splitlines()
    sides = {
        "SYN": [line for line in lines if "Flags [S]" in line],
        "SYN-ACK": [line for line in lines if "Flags [S.]" in line],
    }
    offers = {side: ["sackOK" in line for line in found] for side, found in sides.items()}
    return {
        "claim": f"{flow.name}: {'both SYNs offer' if proof.expected else 'no SYN offers'} selective acknowledgement",
        "expected": proof.expected,
        "observed": [
            f"{side}: {'sackOK' if any(found) else 'no sackOK'} ({len(found)} seen)" for side, found in offers.items()
        ],
        "held": all(found and set(found) == {proof.expected} for found in offers.values()),
        "source": f"tcpdump -r {capture.name} '{_SYNS}'",
    }
