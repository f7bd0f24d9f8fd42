"""How an experiment is carried out: for each condition settings, captures, flows, read-outs.

Runs inside the guest or in the native testbed's namespaces, with the standard library and
Mininet only. What it writes is described in docs/reference/run-directory.md.
"""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from subprocess import Popen
from typing import Any

from experiments.flows.proof import ROUTES, evidence
from experiments.flows.transfers import (
    check_alive,
    hosts_of,
    load_modules_for,
    receive_kib,
    transfer,
)
from experiments.spec import SNAPLEN, Condition, ExperimentSpec
from testbed.guest.job_entry import JobContext
from testbed.guest.kernel_modules import loaded
from testbed.guest.namespaces import HOST_SYSCTLS, network_namespace, permit_algorithms_of
from testbed.guest.network import LiveNetwork, cabled_network
from testbed.guest.programs import READY, all_ended_afterwards, wait_for, waited_for
from testbed.guest.socket_sampling import (
    CONNECTED,
    TIME_WAIT,
    sampled,
    sampling_interval,
    tcp_sockets,
)
from topologies.data import from_data
from topologies.errors import TcplabError
from topologies.spec import Port

# uname(2) of Linux 2.6.32 of the lab has another, for C libraries (versions/2.6.32).
_RELEASE = Path("/proc/sys/kernel/osrelease")
# Seconds after which the kernel has handed tcpdump every packet (libpcap's buffer timeout is 1 s).
_BLOCK = 1.2
_CAPTURE_BUFFER = 8192  # KiB
_ORPHANED, _LOOK = 3600.0, 10.0  # seconds: of a connection without a program, between two looks


def perform(data: Any, job: JobContext) -> None:
    """Carry out the experiment that `data` describes; one started ahead captures already."""
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    job.enter("building the network")
    job.line.network()
    with (
        cabled_network(
            spec.topology,
            disposable=True,
            has_lines=job.virtual,
            bridges=not job.open_vswitch,
            ways=_ways(spec),
        ) as live,
        all_ended_afterwards() as captures,
    ):
        if job.ahead and spec.told_later:
            _start_captures(spec, live, _folder(spec.conditions[0], job), captures, job)
        for number, order in enumerate(job.orders(data)):
            if number:
                live.restore()
            _carry_out(from_data(ExperimentSpec, order), live, job, captures)


def _carry_out(
    spec: ExperimentSpec, live: LiveNetwork, job: JobContext, captures: list[Popen[bytes]]
) -> None:
    live.topology = spec.topology
    load_modules_for(spec)
    _reach_links(spec, live, job)
    live.shape()
    live.reorder()
    with loaded(spec.modules, job) as modules:
        _write(job.work / "environment.json", _environment(spec, live, job) | {"modules": modules})
        job.deliver("environment.json")
        for number, condition in enumerate(spec.conditions):
            job.enter(condition.label)
            if number:
                _reach_links(spec, live, job)
            if job.virtual:
                permit_algorithms_of(condition.sysctls)
            try:
                _measure(spec, condition, live, job, captures)
            finally:  # what was measured is kept, also of a condition that failed
                job.deliver(condition.name)
        if modules:  # no host may hold what is about to be unloaded
            for host in hosts_of(spec):
                live.set_sysctls(host, HOST_SYSCTLS)


def _reach_links(spec: ExperimentSpec, live: LiveNetwork, job: JobContext) -> None:
    """Cross the start line of links, in virtual time when no connection of before is left."""
    hosts = hosts_of(spec)
    if job.virtual and not waited_for(lambda: not _have_connections(hosts, live), _ORPHANED, _LOOK):
        raise TcplabError("A connection of the last condition does not end.", "Shorten it.")
    job.start_links()


def _have_connections(hosts: list[str], live: LiveNetwork) -> bool:
    for host in hosts:
        with network_namespace(live.pid(host)):
            if tcp_sockets(CONNECTED | TIME_WAIT):
                return True
    return False


def _environment(spec: ExperimentSpec, live: LiveNetwork, job: JobContext) -> dict[str, Any]:
    return {
        "kernel": f"Linux {_RELEASE.read_text().strip()}",
        "clock": "virtual" if job.virtual else "real",
        "receiver_preload": job.preload is not None,
        "receiver_kib": receive_kib(len(spec.flows)) if job.preload else None,
        "socket_sample_seconds": _sampling_interval(spec),
        "baseline": HOST_SYSCTLS,
        "shared_sysctls": sorted(live.shared_sysctls),
        "absent_sysctls": sorted(live.absent_sysctls),
        "lines": live.has_lines,
        "switches": "bridge" if live.bridges else "Open vSwitch",
        "same_draws": live.can_rewind,
        "asked_and_found": [asdict(setting) for setting in live.settings],
    }


def _measure(
    spec: ExperimentSpec,
    condition: Condition,
    live: LiveNetwork,
    job: JobContext,
    captures: list[Popen[bytes]],
) -> None:
    folder = _folder(condition, job)
    hosts = hosts_of(spec)
    settings = HOST_SYSCTLS | dict(condition.sysctls)
    sysctls = {host: live.set_sysctls(host, settings | spec.ecn_sysctls(host)) for host in hosts}
    _set_initial_windows(spec, condition, live, folder)
    live.rewind()
    before = _readout(live, hosts)
    reordered = live.reorderings()
    warnings: list[str] = []
    try:
        with _capturing(spec, live, folder, captures, warnings, job):
            warnings += transfer(spec, live, folder, job, _sampling(spec, live, folder, job))
    finally:
        job.end_flows()
        after = _readout(live, hosts)
        _write(folder / "counters.json", _since(before[0], after[0]))
        _write(folder / "qdiscs.json", {"before": before[1], "after": after[1]})
        if reordered:
            _write(folder / "reordering.json", {"before": reordered, "after": live.reorderings()})
    _write(
        folder / "evidence.json",
        {"sysctls": sysctls, "warnings": warnings, **evidence(condition, spec, folder)},
    )


def _set_initial_windows(
    spec: ExperimentSpec, condition: Condition, live: LiveNetwork, folder: Path
) -> None:
    if any(each.initial_window for each in spec.conditions):
        window = condition.initial_window
        routes = {host: live.set_initial_window(host, window) for host in hosts_of(spec)}
        _write(folder / ROUTES, routes)


def _folder(condition: Condition, job: JobContext) -> Path:
    folder = job.work / condition.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _ways(spec: ExperimentSpec) -> list[tuple[str, str]]:
    ends = dict.fromkeys((flow.sender, flow.receiver) for flow in spec.flows)
    return [way for pair in ends for way in (pair, pair[::-1])]


def _since(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what hosts counted, from nought: what was before has no place in a result."""
    grown = {
        host: {name: value - before[host].get(name, 0) for name, value in counters.items()}
        for host, counters in after.items()
    }
    return {
        "before": {host: dict.fromkeys(each, 0) for host, each in grown.items()},
        "after": grown,
    }


def _readout(live: LiveNetwork, hosts: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {host: live.counters(host) for host in hosts}, live.qdiscs()


@contextmanager
def _capturing(
    spec: ExperimentSpec,
    live: LiveNetwork,
    folder: Path,
    begun: list[Popen[bytes]],
    warnings: list[str],
    job: JobContext,
) -> Iterator[None]:
    """Capture interfaces by tcpdump. Raises TcplabError if one is cut short; warns of misses."""
    with all_ended_afterwards() as processes:
        processes += begun
        if not begun:
            _start_captures(spec, live, folder, processes, job)
        yield
        time.sleep(_BLOCK)
    for port, process in zip(_captured(spec), processes, strict=True):
        output = (folder / f"{port.name}.tcpdump.txt").read_text()
        if process.returncode != 0 or "packets captured" not in output:
            raise TcplabError(
                f"The capture of {port.name} was cut short: {output.strip()}",
                "Shorten the experiment.",
            )
        if "\n0 packets dropped by kernel" not in output:
            warnings.append(
                f"tcpdump on {port.name} missed packets: {output.strip().splitlines()[-1]}."
            )


def _captured(spec: ExperimentSpec) -> list[Port]:
    return [port for port in spec.topology.ports if port.name in spec.captures]


def _start_captures(
    spec: ExperimentSpec,
    live: LiveNetwork,
    folder: Path,
    processes: list[Popen[bytes]],
    job: JobContext,
) -> None:
    for port in _captured(spec):
        processes.append(_start_capture(live, port, folder, job))
        _wait_capture(port, processes[-1], folder)


def _start_capture(live: LiveNetwork, port: Port, folder: Path, job: JobContext) -> Popen[bytes]:
    options = f"-Z root -n -p -i {port.name} -s {SNAPLEN} -B {_CAPTURE_BUFFER} --nano -w"
    command = ["tcpdump", *options.split(), str(folder / f"{port.name}.pcap")]
    return live.start(port.node, command, folder / f"{port.name}.tcpdump.txt", job.patience)


def _wait_capture(port: Port, process: Popen[bytes], folder: Path) -> None:
    output = folder / f"{port.name}.tcpdump.txt"

    def ready() -> bool:
        check_alive(f"tcpdump on {port.name}", process, output)
        return "listening on" in output.read_text()

    wait_for(f"tcpdump on {port.name}", ready, READY)


def _sampling(
    spec: ExperimentSpec, live: LiveNetwork, folder: Path, job: JobContext
) -> AbstractContextManager[None]:
    senders = sorted({flow.sender for flow in spec.flows})
    hosts = senders if spec.told_later else hosts_of(spec)
    files = {live.pid(host): folder / f"{host}.sockets.jsonl" for host in hosts}
    return sampled(files, _sampling_interval(spec), spec.told_later)


def _sampling_interval(spec: ExperimentSpec) -> float:
    return spec.sampling.seconds if spec.sampling else sampling_interval(len(spec.flows))


def _write(file: Path, data: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1) + "\n")
