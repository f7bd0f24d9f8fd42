"""A job for the guest: conversations that a network, a window or a program holds back."""

import json
import socket
import struct
import time
from typing import Any

from testbed.guest.job_entry import JobContext
from testbed.guest.namespaces import network_namespace
from testbed.guest.network import LiveNetwork, network
from testbed.guest.programs import Stop, all_ended_afterwards, in_background, wait_for
from testbed.guest.socket_sampling import tcp_sockets
from topologies.addresses import address_of
from topologies.data import from_data
from topologies.spec import TopologySpec

_PORT, _BYTES = 5001, 96  # the server's; bytes of each packet that are captured
_READY, _BLOCK = 10.0, 1.2  # seconds, as in experiments/flows/procedure.py
_LOOK = 0.2  # seconds between two looks whether the conversation is over
_ABORT = struct.pack("ii", 1, 0)
"""SO_LINGER: a close sends a RST at once, which ends the analyser's account at that moment."""


def perform(data: Any, job: JobContext) -> None:
    """For each conversation NUMBER.pcap of the sender; counted.json has its tcp_info at the end."""
    counted = {}
    for told in data:
        topology: TopologySpec = from_data(TopologySpec, told["topology"])
        with network(topology, has_lines=True, ways=[("h1", "h2")]) as live:
            for host in ("h1", "h2"):
                live.set_sysctls(host, told["sysctls"])
            counted[str(told["number"])] = _captured(live, told, job)
    (job.work / "counted.json").write_text(json.dumps(counted))
    job.deliver("counted.json")


def _captured(live: LiveNetwork, told: dict[str, Any], job: JobContext) -> dict[str, Any]:
    capture, output = f"{told['number']}.pcap", job.work / "tcpdump.txt"
    output.write_text("")
    with all_ended_afterwards() as processes:
        command = ["tcpdump", "-Z", "root", "-n", "-p", "-i", "h1-eth0", "-s", str(_BYTES)]
        command += ["-B", "8192", "--nano", "-w", str(job.work / capture)]
        processes.append(live.start("h1", command, output, {}))
        wait_for("tcpdump", lambda: "listening on" in output.read_text(), _READY)
        counted = _conversation(live, told)
        time.sleep(_BLOCK)
    job.deliver(capture)
    return counted


def _conversation(live: LiveNetwork, told: dict[str, Any]) -> dict[str, Any]:
    with network_namespace(live.pid("h2")):
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _buffer(server, socket.SO_RCVBUF, told["receive_buffer"])
        server.bind((address_of(live.topology, "h2"), _PORT))
        server.listen()
    with network_namespace(live.pid("h1")):
        client = socket.socket()
        _buffer(client, socket.SO_SNDBUF, told["send_buffer"])
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
    with (
        server,
        in_background("receiver", lambda stop: _receive(server, told, stop)),
        client,
        network_namespace(live.pid("h1")),
    ):
        client.settimeout(_READY)
        client.connect((address_of(live.topology, "h2"), _PORT))
        _send(client, told)
        return next(row for row in tcp_sockets() if row["remote"].endswith(f":{_PORT}"))


def _buffer(end: socket.socket, option: int, size: int) -> None:
    """Sets a buffer, and so switches off that the kernel sizes it; 0 leaves it to the kernel."""
    if size:
        end.setsockopt(socket.SOL_SOCKET, option, size)


def _send(client: socket.socket, told: dict[str, Any]) -> None:
    """Messages until the time is over, each after the last one's answer if there are answers."""
    message, end = b"x" * told["message"], time.monotonic() + told["seconds"]
    while (left := end - time.monotonic()) > 0:
        client.settimeout(left)
        try:
            client.sendall(message)
            if told["answered"]:
                client.recv(1)
        except TimeoutError:
            return
        time.sleep(min(told["pause"], max(0.0, end - time.monotonic())))


def _receive(server: socket.socket, told: dict[str, Any], stop: Stop) -> None:
    """Reads in pieces with pauses, until the other end is gone."""
    server.settimeout(_READY)
    connection, _ = server.accept()
    with connection:
        stop.wait(told["late"])
        connection.settimeout(_LOOK)
        taken = 0
        while not stop.wait(0):
            try:
                piece = connection.recv(told["piece"])
            except TimeoutError:
                continue
            except ConnectionResetError:
                return
            taken += len(piece)
            if told["answered"] and taken >= told["message"]:
                taken -= told["message"]
                connection.sendall(b"y")
            stop.wait(told["rest"])
