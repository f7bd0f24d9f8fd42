"""Programs of a study that carry a flow instead of iperf: their start, their end, what came.

They may be a student's, so the rate is that of bytes which no program can know before they came.
"""

from __future__ import annotations

import os
from pathlib import Path

from experiments.spec import ExperimentSpec, Flow
from testbed.guest.job_entry import JobContext
from testbed.guest.network import LiveNetwork
from testbed.guest.programs import READY, waited_for
from testbed.guest.strangers import Stranger
from topologies.addresses import address_of

RESULT = "bits/sec"  # in the line that iperf prints at the end, whatever the prefix
_PYTHON = ("/usr/bin/python3", "-B")
_CLIENTS = 1 << 16
"""Users of clients begin here; the user of a server is its port."""


def _programs(flow: Flow, job: JobContext) -> tuple[Stranger, Stranger]:
    """Return the users of a flow's server and client, which meet only over the network."""
    place = job.work / "programs" / flow.name
    return Stranger(flow.port, place / "server"), Stranger(_CLIENTS + flow.port, place / "client")


def _bytes_to_send(flow: Flow, spec: ExperimentSpec) -> int:
    """Return the flow's amount; without one, what its link carries at most in its duration."""
    if flow.amount:
        return flow.amount.base
    slowest = spec.topology.bottleneck(flow.sender, flow.receiver)
    rates = [slowest.bandwidth, *(change.channel.bandwidth for change in spec.changes)]
    return int(max(rate.base for rate in rates) / 8 * flow.duration.seconds)


def server_command(flow: Flow, live: LiveNetwork, job: JobContext) -> list[str]:
    """Write the server, and return its command."""
    assert flow.program
    server, _client = _programs(flow, job)
    server.settle(live, flow.receiver, flow.protocol)
    source = server.give("server.py", flow.program.server.encode())
    return server.command([*_PYTHON, source, str(flow.port), server.take("received")])


def client_command(
    flow: Flow, spec: ExperimentSpec, live: LiveNetwork, job: JobContext
) -> list[str]:
    """Write the client and what it sends, which no receiver can compute; return its command."""
    assert flow.program
    _server, client = _programs(flow, job)
    client.settle(live, flow.sender, flow.protocol)
    source = client.give("client.py", flow.program.client.encode())
    sent = client.give("sent", os.urandom(_bytes_to_send(flow, spec)))
    address = address_of(spec.topology, flow.receiver)
    client.file("begun").touch()
    return client.command([*_PYTHON, source, address, str(flow.port), sent])


def compare(flow: Flow, folder: Path, job: JobContext) -> str:
    """Write iperf's last line for what a program's server received; a sentence if that is wrong."""
    server, client = _programs(flow, job)
    sent, received = client.file("sent").read_bytes(), server.file("received")
    if flow.amount:
        waited_for(lambda: received.stat().st_size >= len(sent), READY, 0.1)
    for program in (server, client):
        program.end()
    came = received.read_bytes()
    right = _length_in_common(sent, came)
    output = folder / f"{flow.name}.server.txt"
    text = output.read_text(errors="replace").replace(RESULT, "bits per second")
    if came:
        took = (received.stat().st_mtime_ns - client.file("begun").stat().st_mtime_ns) / 1e9
        if flow.is_timed_program:  # what stops early gains no rate by that, nor by wrong bytes
            took, right = max(took, flow.duration.seconds), right if right == len(came) else 0
        line = f"[  1] 0.0-{took:.6f} sec {right / 1024:.6f} KBytes {8 * right / took:.6f} bits/sec"
        text += f"\n{line}\n"
    output.write_text(text)
    if came == sent or (flow.is_timed_program and right == len(came)):
        return ""
    return f"{flow.name}: {right:,} of {len(sent):,} bytes came in order, and {len(came):,} came."


def _length_in_common(sent: bytes, came: bytes) -> int:
    """Return how many bytes of both are equal, from the first on."""
    if sent.startswith(came):
        return len(came)
    pairs = enumerate(zip(sent, came, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(sent), len(came)))
