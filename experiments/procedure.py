"""How an experiment is carried out where its network is: for each condition settings, captures, flows, read-outs.

Runs inside the guest or in the native testbed's namespaces, with the standard library and Mininet only. What it
writes is described in docs/run-directory.md.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from subprocess import Popen
from typing import Any

from experiments.proof import evidence
from experiments.spec import SNAPLEN, Condition, ExperimentSpec, Flow
from testbed.inside import baseline
from testbed.inside.namespaces import network_namespace
from testbed.inside.network import LiveNetwork, network
from testbed.inside.programs import ended_afterwards, tail, wait_for, wait_until_ended, waited_for
from testbed.inside.room import Room
from testbed.inside.sockets import LISTEN, sampled, tcp_sockets
from topologies.addresses import address_of
from topologies.data import from_data
from topologies.errors import TcplabError
from topologies.spec import Port

_SAMPLE = 0.1  # seconds between two readings of the sockets
_READY = 10.0  # seconds a server or capture may take to be ready
# Seconds that buffered data may take to arrive after a client's last write: virtual ones cost next to nothing.
_PATIENCE_VIRTUAL, _PATIENCE_REAL = 300.0, 60.0
_BLOCK = 1.2  # seconds after which the kernel has handed tcpdump every packet (libpcap's buffer timeout is 1 s)
_CAPTURE_BUFFER = 8192  # KiB


def perform(data: Any, room: Room) -> None:
    """Carry out the experiment that `data` describes; results of each condition are delivered as they come."""
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    room.enter("building the network")
    with network(spec.topology) as live:
        _write(room.work / "environment.json", _environment(live, room))
        room.deliver("environment.json")
        for condition in spec.conditions:
            room.enter(condition.label)
            try:
                _measure(spec, condition, live, room)
            finally:  # what was measured is kept, also of a condition that failed
                room.deliver(condition.name)


def _environment(live: LiveNetwork, room: Room) -> dict[str, Any]:
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "clock": "virtual" if room.virtual else "real",
        "receiver_preload": room.preload is not None,
        "baseline": baseline.HOST,
        "asked_and_found": [asdict(setting) for setting in live.settings],
    }


def _measure(spec: ExperimentSpec, condition: Condition, live: LiveNetwork, room: Room) -> None:
    folder = room.work / condition.name
    folder.mkdir(parents=True)
    hosts = _hosts(spec)
    settings = baseline.HOST | dict(condition.sysctls)
    found = {host: live.set_sysctls(host, settings) for host in hosts}
    before = _readout(live, hosts)
    warnings: list[str] = []
    try:
        with _capturing(spec, live, folder, warnings), _sampling(live, hosts, folder):
            warnings += _transfer(spec, live, folder, room)
    finally:
        after = _readout(live, hosts)
        _write(folder / "counters.json", {"before": before[0], "after": after[0]})
        _write(folder / "qdiscs.json", {"before": before[1], "after": after[1]})
    _write(folder / "evidence.json", {"sysctls": found, "warnings": warnings, **evidence(condition, spec, folder)})


def _hosts(spec: ExperimentSpec) -> list[str]:
    """Every host that sends or receives."""
    return sorted({end for flow in spec.flows for end in (flow.sender, flow.receiver)})


def _readout(live: LiveNetwork, hosts: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {host: live.counters(host) for host in hosts}, live.qdiscs()


@contextmanager
def _capturing(spec: ExperimentSpec, live: LiveNetwork, folder: Path, warnings: list[str]) -> Iterator[None]:
    """tcpdump on each captured interface: ready before the first packet, ended after the last, and whole.

    Raises TcplabError for a capture that was cut short; packets that tcpdump missed are a warning.
    """
    ports = [port for port in spec.topology.ports if port.name in spec.captures]
    with ExitStack() as stack:
        processes = [_start_capture(live, port, folder, stack) for port in ports]
        yield
        time.sleep(_BLOCK)
    for port, process in zip(ports, processes, strict=True):
        said = (folder / f"{port.name}.tcpdump.txt").read_text()
        if process.returncode != 0 or "packets captured" not in said:
            raise TcplabError(f"The capture of {port.name} was cut short: {said.strip()}", "Shorten the experiment.")
        if "\n0 packets dropped by kernel" not in said:
            warnings.append(f"tcpdump on {port.name} missed packets: {said.strip().splitlines()[-1]}.")


def _start_capture(live: LiveNetwork, port: Port, folder: Path, stack: ExitStack) -> Popen[bytes]:
    interface = port.name
    said = folder / f"{interface}.tcpdump.txt"
    command = ["tcpdump", "-Z", "root", "-n", "-p", "-i", interface, "-s", str(SNAPLEN), "-B", str(_CAPTURE_BUFFER)]
    command += ["--nano", "-w", str(folder / f"{interface}.pcap")]
    process = stack.enter_context(ended_afterwards(live.start(port.node, command, said, {})))
    _wait_ready(f"tcpdump on {interface}", process, said, lambda: "listening on" in said.read_text())
    return process


@contextmanager
def _sampling(live: LiveNetwork, hosts: list[str], folder: Path) -> Iterator[None]:
    with ExitStack() as stack:
        for host in hosts:
            stack.enter_context(sampled(live.pid(host), folder / f"{host}.sockets.jsonl", _SAMPLE))
        yield


def _transfer(spec: ExperimentSpec, live: LiveNetwork, folder: Path, room: Room) -> list[str]:
    """All flows at once: servers known to listen, clients to their end, then everything that is still in buffers.

    What has not arrived when patience ends is cut off, and a sentence says so.
    """
    patience = _PATIENCE_VIRTUAL if room.virtual else _PATIENCE_REAL
    cut: list[str] = []
    with ExitStack() as stack:
        for flow in spec.flows:
            stack.enter_context(ended_afterwards(_start_server(flow, live, folder, room)))
        clients = [(flow, _start_client(flow, spec, live, folder)) for flow in spec.flows]
        for _flow, client in clients:
            stack.enter_context(ended_afterwards(client))
        cut += [said for flow, client in clients if (said := _wait_client(flow, client, folder, patience))]
        if not cut and not _settled(spec, live, patience):
            cut.append(f"Data was still on its way {patience:g} s after the senders had written all, and was cut off.")
    return cut


def _settled(spec: ExperimentSpec, live: LiveNetwork, patience: float) -> bool:
    """Whether, within `patience` seconds, all connections closed and the last packet arrived."""

    def quiet() -> bool:
        return not any(_connections(live, host) for host in _hosts(spec)) and not live.waiting_packets()

    return waited_for(quiet, patience, 0.1)


def _connections(live: LiveNetwork, host: str) -> list[dict[str, Any]]:
    with network_namespace(live.pid(host)):
        return tcp_sockets()


def _start_server(flow: Flow, live: LiveNetwork, folder: Path, room: Room) -> Popen[bytes]:
    said = folder / f"{flow.name}.server.txt"
    preload = {"LD_PRELOAD": str(room.preload)} if room.preload else {}
    batched = ["-l", "1M"] if room.preload else []
    process = live.start(flow.receiver, ["iperf", "-s", "-p", str(flow.port), *_window(flow), *batched], said, preload)
    with network_namespace(live.pid(flow.receiver)):
        _wait_ready(f"iperf's server of {flow.name}", process, said, lambda: _listens(flow.port))
    return process


def _listens(port: int) -> bool:
    return any(row["local"].endswith(f":{port}") for row in tcp_sockets(LISTEN))


def _start_client(flow: Flow, spec: ExperimentSpec, live: LiveNetwork, folder: Path) -> Popen[bytes]:
    to = ["-c", address_of(spec.topology, flow.receiver), "-p", str(flow.port), "-t", f"{flow.duration.seconds:g}"]
    return live.start(flow.sender, ["iperf", *to, *_window(flow)], folder / f"{flow.name}.client.txt", {})


def _window(flow: Flow) -> list[str]:
    return ["-w", str(flow.window.base)] if flow.window else []


def _wait_client(flow: Flow, client: Popen[bytes], folder: Path, patience: float) -> str:
    """Wait for iperf's client; a sentence where it has to be cut off. Raises TcplabError where it fails."""
    said = folder / f"{flow.name}.client.txt"
    if not wait_until_ended(client, flow.duration.seconds + patience):
        return f"{flow.name}: the client had not written all {patience:g} s after its {flow.duration}, and was cut off."
    if client.returncode != 0:
        raise TcplabError(f"{flow.name}: iperf's client failed: {tail(said)}", "The run's folder has all that it said.")
    return ""


def _wait_ready(what: str, process: Popen[bytes], said: Path, ready: Any) -> None:
    def look() -> bool:
        if process.poll() is not None:
            raise TcplabError(f"{what} ended at once: {tail(said)}", "The message above is the program's own.")
        return bool(ready())

    wait_for(what, look, _READY)


def _write(file: Path, data: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1) + "\n")
