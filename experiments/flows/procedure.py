"""How an experiment is carried out: for each condition settings, captures, flows, read-outs.

Runs inside the guest or in the native testbed's namespaces, with the standard library and
Mininet only. What it writes is described in docs/reference/run-directory.md.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from subprocess import Popen
from typing import Any

from experiments.flows.proof import ROUTES, evidence
from experiments.flows.transfers import check_alive, load_modules_for, receive_kib, transfer
from experiments.flows.trial import LiveTrial, hosts_of
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
    ends = dict.fromkeys((flow.sender, flow.receiver) for flow in spec.flows)
    network = cabled_network(
        spec.topology,
        disposable=True,
        has_lines=job.virtual,
        bridges=not job.open_vswitch,
        ways=[way for pair in ends for way in (pair, pair[::-1])],
    )
    with network as live, all_ended_afterwards() as captures:
        if job.ahead and spec.told_later:
            _start_captures(_trial(spec, spec.conditions[0], live, job), captures)
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
                _measure(condition, _trial(spec, condition, live, job), captures)
            finally:  # what was measured is kept, also of a condition that failed
                job.deliver(condition.name)
        if modules:  # no host may hold what is about to be unloaded
            for host in hosts_of(spec):
                live.set_sysctls(host, HOST_SYSCTLS)


def _reach_links(spec: ExperimentSpec, live: LiveNetwork, job: JobContext) -> None:
    """Cross the start line of links, in virtual time when no connection of before is left."""

    def has_ended() -> bool:
        for host in hosts_of(spec):
            with network_namespace(live.pid(host)):
                if tcp_sockets(CONNECTED | TIME_WAIT):
                    return False
        return True

    if job.virtual and not waited_for(has_ended, _ORPHANED, _LOOK):
        raise TcplabError("A connection of the last condition does not end.", "Shorten it.")
    job.start_links()


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


def _measure(condition: Condition, trial: LiveTrial, captures: list[Popen[bytes]]) -> None:
    spec, live, folder = trial.spec, trial.live, trial.folder
    settings = HOST_SYSCTLS | dict(condition.sysctls)
    sysctls = {
        host: live.set_sysctls(host, settings | spec.ecn_sysctls(host)) for host in trial.hosts
    }
    if any(each.initial_window for each in spec.conditions):
        window = condition.initial_window
        routes = {host: live.set_initial_window(host, window) for host in trial.hosts}
        _write(folder / ROUTES, routes)
    live.rewind()
    before = _readout(trial)
    reordered = live.reorderings()
    warnings: list[str] = []
    try:
        with _capturing(trial, captures, warnings):
            senders = sorted({flow.sender for flow in spec.flows})
            hosts = senders if spec.told_later else trial.hosts
            files = {live.pid(host): folder / f"{host}.sockets.jsonl" for host in hosts}
            sampling = sampled(files, _sampling_interval(spec), spec.told_later)
            warnings += transfer(trial, sampling)
    finally:
        trial.job.end_flows()
        after = _readout(trial)
        _write(folder / "counters.json", _since(before[0], after[0]))
        _write(folder / "qdiscs.json", {"before": before[1], "after": after[1]})
        if reordered:
            _write(folder / "reordering.json", {"before": reordered, "after": live.reorderings()})
    _write(
        folder / "evidence.json",
        {"sysctls": sysctls, "warnings": warnings, **evidence(condition, spec, folder)},
    )


def _trial(
    spec: ExperimentSpec, condition: Condition, live: LiveNetwork, job: JobContext
) -> LiveTrial:
    folder = job.work / condition.name
    folder.mkdir(parents=True, exist_ok=True)
    return LiveTrial(spec, live, folder, job)


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


def _readout(trial: LiveTrial) -> tuple[dict[str, Any], dict[str, Any]]:
    return {host: trial.live.counters(host) for host in trial.hosts}, trial.live.qdiscs()


@contextmanager
def _capturing(trial: LiveTrial, begun: list[Popen[bytes]], warnings: list[str]) -> Iterator[None]:
    """Capture interfaces by tcpdump. Raises TcplabError if one is cut short; warns of misses."""
    with all_ended_afterwards() as processes:
        processes += begun
        if not begun:
            _start_captures(trial, processes)
        yield
        time.sleep(_BLOCK)
    for port, process in zip(_captured(trial.spec), processes, strict=True):
        output = (trial.folder / f"{port.name}.tcpdump.txt").read_text()
        if process.returncode != 0 or "packets captured" not in output:
            problem = f"The capture of {port.name} was cut short: {output.strip()}"
            raise TcplabError(problem, "Shorten the experiment.")
        if "\n0 packets dropped by kernel" not in output:
            warnings.append(
                f"tcpdump on {port.name} missed packets: {output.strip().splitlines()[-1]}."
            )


def _captured(spec: ExperimentSpec) -> list[Port]:
    return [port for port in spec.topology.ports if port.name in spec.captures]


def _start_captures(trial: LiveTrial, processes: list[Popen[bytes]]) -> None:
    """Start captures one after the other, each when the one before listens."""
    for port in _captured(trial.spec):
        options = f"-Z root -n -p -i {port.name} -s {SNAPLEN} -B {_CAPTURE_BUFFER} --nano -w"
        command = ["tcpdump", *options.split(), str(trial.folder / f"{port.name}.pcap")]
        output = trial.folder / f"{port.name}.tcpdump.txt"
        process = trial.live.start(port.node, command, output, trial.job.patience)
        processes.append(process)
        _wait_capture(port, process, output)


def _wait_capture(port: Port, process: Popen[bytes], output: Path) -> None:
    def ready() -> bool:
        check_alive(f"tcpdump on {port.name}", process, output)
        return "listening on" in output.read_text()

    wait_for(f"tcpdump on {port.name}", ready, READY)


def _sampling_interval(spec: ExperimentSpec) -> float:
    return spec.sampling.seconds if spec.sampling else sampling_interval(len(spec.flows))


def _write(file: Path, data: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1) + "\n")
