"""Proof that a condition held, from captures, sockets and counters and not from what was set."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from experiments.flows.link_proof import ProofRow, losses, reorderings
from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.guest.programs import run
from topologies.addresses import address_of
from topologies.notation import json_value

ROUTES = "routes.json"
"""The lines of `ip route show` of each host, if a condition has an initial window."""
_SYNS = "tcp[tcpflags] & tcp-syn != 0"
_PORTS = re.compile(r"\.(\d+) > \S+\.(\d+): Flags")
_NEGOTIATED, _WITHOUT_CONNECTION = "sack", ("SYN-SENT", "SYN-RECV")


def evidence(condition: Condition, spec: ExperimentSpec, folder: Path) -> dict[str, Any]:
    """Return {"held": bool, "proofs": [rows]}; False without a row for a condition with proofs."""
    named = [row for proof in condition.proofs for row in _PROOFS[proof.kind](proof, spec, folder)]
    named += _initial_windows(condition, folder) + _algorithms(spec, folder)
    proofs = named + losses(spec, folder) + reorderings(spec, folder)
    return {
        "held": bool(named or not condition.proofs) and all(row["held"] for row in proofs),
        "proofs": proofs,
    }


def _initial_windows(condition: Condition, folder: Path) -> list[ProofRow]:
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
        for host, lines in json_value((folder / ROUTES).read_text()).items()
    ]


def _sack_permitted(proof: Proof, spec: ExperimentSpec, folder: Path) -> list[ProofRow]:
    """Return a row for every flow: from SYNs in its receiver's capture, or its sender's socket."""
    captured = {
        port.node: f"{port.name}.pcap"
        for port in reversed(spec.topology.ports)
        if port.name in spec.captures
    }
    flows = [flow for flow in spec.flows if flow.is_connection]
    hosts = dict.fromkeys(flow.receiver for flow in flows if flow.receiver in captured)
    syns = {host: _syns(folder / captured[host]) for host in hosts}
    rows = [
        _offers(proof, flow, syns[flow.receiver].get(flow.port, []), captured[flow.receiver])
        for flow in flows
        if flow.receiver in captured
    ]
    unseen = [flow for flow in flows if flow.receiver not in captured]
    for flow, values in _of_senders(_NEGOTIATED, unseen, spec, folder):
        words = sorted("on" if value else "off" for value in values)
        claim = f"{flow.sender}'s connection has selective acknowledgement {proof.expected}"
        rows.append(
            {
                "claim": f"{flow.name}: {claim}",
                "expected": proof.expected,
                "observed": words or ["no connection was sampled"],
                "held": words == [proof.expected],
                "source": f"{flow.sender}.sockets.jsonl (sock_diag, tcpi_options)",
            }
        )
    return rows


def _syns(capture: Path) -> dict[int, list[str]]:
    syns: dict[int, list[str]] = {}
    for line in run(["tcpdump", "-Z", "root", "-n", "-r", str(capture), _SYNS]).splitlines():
        if ports := _PORTS.search(line):
            for port in dict.fromkeys(ports.groups()):
                syns.setdefault(int(port), []).append(line)
    return syns


def _offers(proof: Proof, flow: Flow, lines: list[str], capture: str) -> ProofRow:
    """Find SACK-permitted (RFC 2018, section 2) on both SYNs or on none; ECN adds E and W."""
    flags = {"SYN": r"Flags \[S[EW]*\]", "SYN-ACK": r"Flags \[S\.[EW]*\]"}
    offers = {
        side: ["sackOK" in line for line in lines if re.search(flag, line)]
        for side, flag in flags.items()
    }
    is_expected = proof.expected == "on"
    subject = "both SYNs offer" if is_expected else "no SYN offers"
    return {
        "claim": f"{flow.name}: {subject} selective acknowledgement",
        "expected": proof.expected,
        "observed": [
            f"{side}: {'sackOK' if any(offered) else 'no sackOK'} ({len(offered)} seen)"
            for side, offered in offers.items()
        ],
        "held": all(offered and set(offered) == {is_expected} for offered in offers.values()),
        "source": f"tcpdump -r {capture} '{_SYNS}'",
    }


def _algorithms(spec: ExperimentSpec, folder: Path, of_others: str = "") -> list[ProofRow]:
    """Prove what flows send with that choose an algorithm, or those that have one `of_others`."""
    flows = [
        flow
        for flow in spec.flows
        if flow.is_connection and bool(flow.congestion_control) is not bool(of_others)
    ]
    rows = []
    for flow, algorithms in _of_senders("congestion_control", flows, spec, folder):
        observed = [_WITHOUT_ECN if each == "dctcp-reno" else each for each in sorted(algorithms)]
        expected = flow.congestion_control or of_others
        rows.append(
            {
                "claim": f"{flow.name}: {flow.sender} sends with {expected}",
                "expected": expected,
                "observed": observed or ["no connection was sampled"],
                "held": algorithms == {expected},
                "source": f"{flow.sender}.sockets.jsonl (sock_diag, as ss -ti)",
            }
        )
    return rows


def _of_senders(
    field: str, flows: list[Flow], spec: ExperimentSpec, folder: Path
) -> Iterator[tuple[Flow, set[Any]]]:
    senders = dict.fromkeys(flow.sender for flow in flows)
    values = {host: _seen(folder / f"{host}.sockets.jsonl", field) for host in senders}
    for flow in flows:
        receiver = f"{address_of(spec.topology, flow.receiver)}:{flow.port}"
        yield flow, values[flow.sender].get(receiver, set())


def _seen(samples: Path, field: str) -> dict[str, set[Any]]:
    """Return the values of a field by the remote end; what is negotiated only of connections."""
    values: dict[str, set[Any]] = {}
    with samples.open() as lines:
        for line in lines:
            for row in json_value(line)["sockets"]:
                # a half-open one may have no algorithm; on Linux 3.13 that is an empty name
                if row.get(field, "") != "" and (
                    field != _NEGOTIATED or row["state"] not in _WITHOUT_CONNECTION
                ):
                    values.setdefault(row["remote"], set()).add(row[field])
    return values


_WITHOUT_ECN = (
    "dctcp-reno: its receiver refused ECN; give both ends --set flows.N.ecn=accurate, N the"
    " number of the flow from 0, or let all hosts send with dctcp"
)
"""dctcp_init in net/ipv4/tcp_dctcp.c; tcp_ecn_create_request in tcp_ecn.h."""


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
    "congestion_control": lambda proof, spec, folder: _algorithms(spec, folder, proof.expected),
    "absent_setting": _absent_setting,
}
