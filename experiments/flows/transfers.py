"""The flows of a condition: servers, clients, changes of the link, and the end of the last packet.

Programs may carry a flow. They may be a student's, so the rate is that of unpredictable bytes.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from operator import itemgetter
from pathlib import Path
from subprocess import Popen
from types import ModuleType
from typing import Any

from experiments.flows.link_proof import CHANGES
from experiments.flows.traffic import result_line
from experiments.flows.trial import LiveTrial
from experiments.spec import ExperimentSpec, Flow
from testbed.guest.host_root import AT_ITS_LIMIT
from testbed.guest.job_entry import BEGUN
from testbed.guest.programs import (
    READY,
    Stop,
    all_ended_afterwards,
    in_background,
    tail,
    wait_for,
    wait_until_ended,
    waited_for,
)
from testbed.guest.socket_sampling import CONNECTED, LISTEN
from topologies.addresses import address_of
from topologies.errors import TcplabError
from topologies.spec import CUT_OFF

RESULT = "bits/sec"  # in the line that iperf prints at the end, whatever the prefix
_PYTHON = ("/usr/bin/python3", "-B")
# Seconds that buffered data may take to arrive after a client's last write. Virtual seconds cost
# next to nothing.
_PATIENCE_VIRTUAL, _PATIENCE_REAL = 300.0, 60.0
_GAVE_UP = "read tcp flags"  # in the line of a server whose connection was silent for 4 s
# KiB for which receivers with patient.c ask at once: all together; one at most; one at least, below
# which patient.c does not wait.
_RECEIVE_ALL, _RECEIVE_MOST, _RECEIVE_LEAST = 8192, 1024, 64


def transfer(trial: LiveTrial, sampling: AbstractContextManager[None]) -> list[str]:
    """Run all flows from their starts to empty buffers; return a sentence for each cut off."""
    spec, job = trial.spec, trial.job
    patience = _PATIENCE_VIRTUAL if job.virtual else _PATIENCE_REAL
    bulk = [flow for flow in spec.flows if not flow.traffic]
    cut: list[str] = []
    with ExitStack() as watched, all_ended_afterwards() as processes:
        for flow in bulk:
            processes.append(_start_server(flow, trial))
        servers = list(zip(bulk, processes, strict=True))
        wait_for("the servers", lambda: _all_listen(servers, trial), READY)
        job.start_flows()
        watched.enter_context(sampling)
        begin = time.monotonic()
        if spec.told_later:
            print(f"{BEGUN}{time.time()}")
        with _changing(trial, begin), _applications(trial, begin):
            clients: dict[str, Popen[bytes]] = {}
            instants = [(flow.start.seconds, flow) for flow in bulk]
            instants += [(flow.end.seconds, flow) for flow in bulk if flow.is_bounded]
            for instant, flow in sorted(instants, key=itemgetter(0)):
                if flow.name not in clients:
                    while (left := begin + instant - time.monotonic()) > 0:
                        time.sleep(left)
                    processes.append(_start_client(flow, trial))
                    clients[flow.name] = processes[-1]
                elif flow.program:
                    if _end_program(flow, clients[flow.name], begin, trial):
                        cut += _at_limit(flow, "sender", clients[flow.name])
                else:
                    server = servers[bulk.index(flow)][1]
                    _bound(flow, clients[flow.name], server, begin + instant, trial)
            for flow in bulk:
                cut += _wait_client(flow, clients[flow.name], patience, trial)
        if not cut and not _settled(trial, patience):
            cut.append(
                f"Data was still on its way {patience:g} s after the senders had written all, and"
                " was cut off."
            )
        for flow, server in servers:
            cut += _at_limit(flow, "receiver", server)
            cut += [] if flow.is_bounded else _at_limit(flow, "sender", clients[flow.name])
        cut += filter(None, [compare(flow, trial) for flow in bulk if flow.program])
    return cut + [one for flow in spec.flows if (one := without_result(flow, trial.folder))]


def compare(flow: Flow, trial: LiveTrial) -> str:
    """Write iperf's last line for what a program's server received; a sentence if that is wrong."""
    server, client = trial.programs(flow)
    sent, received = client.file("sent").read_bytes(), server.file("received")
    if flow.amount:
        waited_for(lambda: received.stat().st_size >= len(sent), READY, 0.1)
    for program in (server, client):
        program.end()
    came = received.read_bytes()
    right = len(came) if sent.startswith(came) else _length_in_common(sent, came)
    output = trial.output(flow, "server")
    text = _without_results(output)
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
    pairs = enumerate(zip(sent, came, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(sent), len(came)))


def _at_limit(flow: Flow, role: str, process: Popen[bytes]) -> list[str]:
    """Return a sentence about a program that the kernel ended (strangers.patch)."""
    ended = flow.program and process.poll() == -signal.SIGKILL
    return [f"{flow.name}: the {role} {AT_ITS_LIMIT}."] if ended else []


def _end_program(flow: Flow, client: Popen[bytes], begin: float, trial: LiveTrial) -> bool:
    """End a program, write iperf's line for an amount, and return whether it had ended before."""
    in_time = _end(client, begin + flow.end.seconds)
    if flow.amount:
        seconds = time.monotonic() - begin - flow.start.seconds
        line = result_line(seconds, flow.amount.base) if in_time else _cut(flow)
        output = trial.output(flow, "client")
        output.write_text(f"{_without_results(output)}\n{line}")
    return in_time


def _cut(flow: Flow) -> str:
    return f"{CUT_OFF} after {flow.duration}\n"


def _without_results(output: Path) -> str:
    """Return what a program printed, which may imitate the results of iperf."""
    return output.read_text(errors="replace").replace(RESULT, "bits per second")


def _bound(
    flow: Flow, client: Popen[bytes], server: Popen[bytes], instant: float, trial: LiveTrial
) -> None:
    """End a flow that has data on its way at that instant, and write iperf's last line for it."""
    port = f":{flow.port}"

    def open_ones() -> list[dict[str, Any]]:
        sockets = trial.sockets(flow.receiver, CONNECTED)
        return [each for each in sockets if each["local"].endswith(port)]

    in_time = _end(client, instant)
    if waited_for(lambda: in_time and not open_ones(), instant - time.monotonic(), 0.1):
        return
    cut = open_ones()
    server.kill()
    server.wait()
    with trial.output(flow, "client").open("a") as output:
        output.write(_cut(flow))
    if not all("bytes_received" in each for each in cut):  # Linux 4.1 began to count them
        return
    amount, seconds = sum(int(each["bytes_received"]) for each in cut), flow.duration.seconds
    with trial.output(flow, "server").open("a") as output:
        output.write(result_line(seconds, amount))


def load_modules_for(spec: ExperimentSpec) -> ModuleType | None:
    """Import before the start line, and return, what few runs need: asyncio takes 3 MB."""
    if not any(flow.traffic for flow in spec.flows):
        return None
    from experiments.flows import exchanges  # late: few runs need asyncio

    return exchanges


@contextmanager
def _changing(trial: LiveTrial, begin: float) -> Iterator[None]:
    """Meanwhile, change the link when it is time; changes.json has its counters at that time."""
    spec, live = trial.spec, trial.live
    if not spec.changes:
        yield
        return
    rows: list[dict[str, Any]] = []

    def work(stop: Stop) -> None:
        for change in sorted(spec.changes, key=lambda change: change.at):
            if stop.wait(max(0.0, begin + change.at.seconds - time.monotonic())):
                return
            before = live.change(change.port, change.channel)
            elapsed = round(time.monotonic() - begin, 9)
            rows.append({"port": change.port, "elapsed": elapsed, "before": before})

    with in_background("changes", work):
        yield
    if len(spec.conditions) > 1:  # the next one begins with the link of the spec
        for port in live.topology.ports:
            if port.channel and port.name in {row["port"] for row in rows}:
                live.change(port.name, port.channel)
    (trial.folder / CHANGES).write_text(json.dumps(rows, indent=1) + "\n")


def _applications(trial: LiveTrial, begin: float) -> AbstractContextManager[None]:
    exchanges = load_modules_for(trial.spec)
    if exchanges is None:
        return nullcontext()
    made = [exchanges.Application(flow, trial) for flow in trial.spec.flows if flow.traffic]
    return in_background("applications", lambda stop: exchanges.work(made, begin, stop))


def without_result(flow: Flow, folder: Path) -> str:
    """Return a sentence if the receiver has no result; else empty."""
    output = folder / f"{flow.name}.server.txt"
    text = output.read_text(errors="replace")
    if RESULT in text:
        return ""
    if _GAVE_UP in text:
        return f"{flow.name}: iperf's server gave up, since the first data took over 4 s to come."
    return f"{flow.name}: iperf's server has no result: {' / '.join(tail(output, 2).splitlines())}"


def _settled(trial: LiveTrial, patience: float) -> bool:
    """Return whether connections closed and the last packet arrived within `patience` (s)."""
    busy = trial.hosts

    def quiet() -> bool:
        while busy and not trial.sockets(busy[-1], CONNECTED):
            busy.pop()  # nobody starts a connection any more
        return not busy and not trial.live.waiting_packets()

    return waited_for(quiet, patience, 0.1)


def _start_server(flow: Flow, trial: LiveTrial) -> Popen[bytes]:
    environment: dict[str, str] = {}
    if flow.program:
        server, _client = trial.programs(flow)
        server.settle(trial.live, flow.receiver)
        source = server.give("server.py", flow.program.server.encode())
        command = server.command([*_PYTHON, source, str(flow.port), server.take("received")])
    elif flow.protocol == "udp":  # a datagram a receive: its time is its jitter
        command = ["iperf", "-s", "-u", "-p", str(flow.port), *_window(flow)]
    else:
        command = ["iperf", "-s", "-p", str(flow.port), *_window(flow)]
        if trial.job.preload:
            command += ["-l", f"{receive_kib(len(trial.spec.flows))}K"]
        environment = trial.job.patience
    return trial.live.start(flow.receiver, command, trial.output(flow, "server"), environment)


def receive_kib(flows: int) -> int:
    """Return the KiB for which each receiver asks at once: a guest has memory for so many."""
    return max(_RECEIVE_LEAST, min(_RECEIVE_MOST, _RECEIVE_ALL // flows))


def _all_listen(servers: list[tuple[Flow, Popen[bytes]]], trial: LiveTrial) -> bool:
    """Return whether every flow's server listens. Raises TcplabError if one has ended."""
    expected: dict[str, set[tuple[str, int]]] = {}
    for flow, server in servers:
        check_alive(f"The server of {flow.name}", server, trial.output(flow, "server"))
        expected.setdefault(flow.receiver, set()).add((flow.protocol, flow.port))
    return all(ports <= _listening(host, trial) for host, ports in expected.items())


def _listening(host: str, trial: LiveTrial) -> set[tuple[str, int]]:
    """Return protocols and ports on which a host listens; those of UDP from proc_net(5)."""
    tcp = {("tcp", int(row["local"].rpartition(":")[2])) for row in trial.sockets(host, LISTEN)}
    lines = Path(f"/proc/{trial.live.pid(host)}/net/udp").read_text().splitlines()[1:]
    return tcp | {("udp", int(line.split()[1].partition(":")[2], 16)) for line in lines}


def _start_client(flow: Flow, trial: LiveTrial) -> Popen[bytes]:
    """Start a client; that of a program has bytes to send that no receiver can compute."""
    address, environment = address_of(trial.spec.topology, flow.receiver), dict[str, str]()
    if flow.program:
        _server, client = trial.programs(flow)
        client.settle(trial.live, flow.sender)
        source = client.give("client.py", flow.program.client.encode())
        sent = client.give("sent", os.urandom(client.amount))
        client.file("begun").touch()
        command = client.command([*_PYTHON, source, address, str(flow.port), sent])
    else:
        command = ["iperf", "-c", address, "-p", str(flow.port), *_window(flow), *_extent(flow)]
        environment = trial.job.patience if flow.protocol == "tcp" else {}
    return trial.live.start(flow.sender, command, trial.output(flow, "client"), environment)


def _extent(flow: Flow) -> list[str]:
    """Return iperf's options for amount, rate (of UDP), algorithm and interval."""
    much = ["-n", str(flow.amount.base)] if flow.amount else ["-t", f"{flow.duration.seconds:g}"]
    fast = ["-u", "-b", str(flow.rate.base)] if flow.rate else []
    how = ["-Z", flow.congestion_control] if flow.congestion_control else []
    return [*much, *fast, *how, *(["-i", f"{flow.interval.seconds:g}"] if flow.interval else [])]


def _window(flow: Flow) -> list[str]:
    return ["-w", str(flow.window.base)] if flow.window else []


def _end(client: Popen[bytes], instant: float) -> bool:
    """End a program at that instant; return whether it had ended by itself."""
    if wait_until_ended(client, max(0.0, instant - time.monotonic())):
        return True
    client.kill()
    client.wait()
    return False


def _wait_client(flow: Flow, client: Popen[bytes], patience: float, trial: LiveTrial) -> list[str]:
    """Wait for iperf's client; return a sentence if cut off. Raises TcplabError if it fails."""
    if not wait_until_ended(client, flow.duration.seconds + patience):
        return [
            f"{flow.name}: the client had not written all {patience:g} s after its {flow.duration},"
            " and was cut off."
        ]
    if client.returncode not in (0, -signal.SIGKILL):  # of one whose duration ended
        problem = f"{flow.name}: the client failed: {tail(trial.output(flow, 'client'))}"
        raise TcplabError(problem, "The run's folder has all that it printed.")
    return []


def check_alive(program: str, process: Popen[bytes], output: Path) -> None:
    if process.poll() is not None:
        problem = f"{program} ended at once: {tail(output)}"
        raise TcplabError(problem, "The message above is the program's own.")
