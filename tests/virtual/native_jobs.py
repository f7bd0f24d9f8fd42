"""The native testbed in the lab kernel, as root and beside strangers: jobs for test_native.py."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.guest.job_entry import JobContext
from testbed.guest.typed_shell import Mailbox

_CHECKOUT = Path("/tmp/checkout")
_KILLED = -signal.SIGKILL
_SETTLED = 1.0  # seconds for what the kernel still takes down; nothing outside could be waited for
# The last is a mark that a module from outside leaves until the machine starts again; nobody can
# take it away.
_VOLATILE = re.compile(
    r"kernel/(random|ns_last_pid|pty/nr|sched_domain)|fs/(dentry-state|file-nr|inode-(nr|state)|aio-nr|quota)"
    r"|net/netfilter/nf_conntrack_count|flush$|stat_refresh|compact_memory|drop_caches|kernel/tainted"
)
_WRITABLE = ("/run", "/dev", "/tmp", "/var/tmp", "/var/log", "/root")
_OURS = ("/tmp/checkout", "/tmp/work", "/tmp/out")
# What anybody's Mininet is: its own classes, hosts with shells, in the machine's namespace. It
# answers each line.
_FOREIGN = """
import sys
from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.topo import SingleSwitchTopo
net = Mininet(SingleSwitchTopo(2), switch=OVSBridge, controller=None, waitConnected=False)
net.start()
print("ready", flush=True)
for line in sys.stdin:
    print("loss", net.pingAll(timeout="1"), flush=True)
net.stop()
"""
_RUN = """
import json, sys
from pathlib import Path
from testbed.native.changes import KernelNeeds
from testbed.native.run import run_natively
from topologies.errors import TcplabError
spec = json.loads(Path("/tmp/checkout/spec.json").read_text())
modules = {file.stem: file.read_bytes() for file in Path("/tmp/checkout").glob("*.ko")}
files = {f"{name}.ko": content for name, content in modules.items()}
try:
    run_natively("experiments.flows.procedure", spec, Path(sys.argv[1]), lambda *_: None, None,
                 files, KernelNeeds(modules, json.loads(sys.argv[2])))
except TcplabError as error:
    sys.exit(f"Error: {error}")
"""
_SHELL = """
import json, sys
from pathlib import Path
from testbed.native.run import run_natively
from testbed.host.supervise import Limits
topology = json.loads(Path("/tmp/checkout/spec.json").read_text())["topology"]
data = {"topology": topology, "size": [24, 80]}
limits = Limits(wall_seconds=float("inf"))
run_natively("testbed.guest.typed_shell", data, Path(sys.argv[1]), lambda *_: None, limits)
"""


def perform(data: Any, job: JobContext) -> None:
    _check_out(data, job)
    globals()[data["job"]](data, job)


def killed(data: Any, job: JobContext) -> None:
    """Native runs killed at `moments` (seconds); `tcplab clean` or the next run undoes them."""
    with _strangers() as mininet:
        report: dict[str, Any] = {"pings": _pings(mininet), "differences": {}, "cleaned": []}
        time.sleep(3)  # until the strangers' IPv6 addresses are no longer tentative
        before = _machine()
        for number, moment in enumerate(data["moments"]):
            run = _start(f"/tmp/out/{number}", data["algorithms"])
            time.sleep(moment)
            run.kill()
            assert run.wait() == _KILLED, f"the run was over before {moment} s"
            time.sleep(_SETTLED)
            if number % 2:
                report["cleaned"].append(_clean())
                report["differences"][str(moment)] = _difference(before, _machine())
        assert _start("/tmp/out/whole", data["algorithms"]).wait() == 0
        time.sleep(_SETTLED)
        report["differences"]["whole"] = _difference(before, _machine())
        report["cleaned"].append(_clean())
        report["pings_after"] = _pings(mininet)
    Path("/tmp/out/found.json").write_text(json.dumps(report))
    _deliver(job, "found.json", "whole")


def together(data: Any, job: JobContext) -> None:
    """Native runs at once, one for each of the `runs`, that want the same congestion control."""
    before = _machine()
    runs = [_start(f"/tmp/out/{name}", data["algorithms"]) for name in data["runs"]]
    statuses = [run.wait() for run in runs]
    time.sleep(_SETTLED)
    report = {"statuses": statuses, "difference": _difference(before, _machine())}
    Path("/tmp/out/found.json").write_text(json.dumps(report))
    _deliver(job, "found.json", *data["runs"])


def typed(data: Any, job: JobContext) -> None:
    """A native network into which `keys` are typed, each after the text that it waits for."""
    before = _machine()
    os.makedirs("/tmp/out/shell")
    command = [sys.executable, "-B", "-c", _SHELL, "/tmp/out/shell"]
    process = subprocess.Popen(command, cwd=_CHECKOUT, text=True)
    mailbox, text, at = Mailbox(Path("/tmp/out/shell")), "", 0
    deadline = time.monotonic() + 120
    for awaited, keys in data["keys"]:
        while awaited not in text[at:]:
            assert process.poll() is None and time.monotonic() < deadline, (
                f"no {awaited!r} in {text!r}"
            )
            time.sleep(0.1)
            text += mailbox.printed().decode(errors="replace")
        at = text.index(awaited, at) + len(awaited)
        mailbox.type(keys.encode())
    status = process.wait()
    time.sleep(_SETTLED)
    report = {"status": status, "text": text, "difference": _difference(before, _machine())}
    Path("/tmp/out/found.json").write_text(json.dumps(report))
    _deliver(job, "found.json")


def _check_out(data: Any, job: JobContext) -> None:
    with zipfile.ZipFile(job.archive) as archive:
        archive.extractall(_CHECKOUT)
        for name in archive.namelist():
            if name.endswith(".ko"):
                (_CHECKOUT / Path(name).name).write_bytes(archive.read(name))
    for name, text in data["code"].items():
        (_CHECKOUT / name).parent.mkdir(parents=True, exist_ok=True)
        (_CHECKOUT / name).write_text(text)
    (_CHECKOUT / "spec.json").write_text(json.dumps(data["spec"]))
    Path("/tmp/out").mkdir()


def _deliver(job: JobContext, *names: str) -> None:
    for name in names:
        Path("/tmp/out", name).rename(job.work / name)
        job.deliver(name)


def _start(out: str, algorithms: list[str]) -> subprocess.Popen[str]:
    os.makedirs(out)
    command = [sys.executable, "-B", "-c", _RUN, out, json.dumps(algorithms)]
    return subprocess.Popen(command, cwd=_CHECKOUT, text=True)


def _clean() -> str:
    command = [sys.executable, "-B", "-m", "testbed.native.changes"]
    return subprocess.run(
        command, cwd=_CHECKOUT, text=True, stdout=subprocess.PIPE, check=True
    ).stdout


@contextmanager
def _strangers() -> Iterator[subprocess.Popen[str]]:
    """Somebody's bridge with a shaped port, and somebody's Mininet."""
    for command in (
        "ip link add foreign0 type dummy",
        "ip link set foreign0 up",
        "ovs-vsctl add-br foreign",
        "ovs-vsctl add-port foreign foreign0",
        "tc qdisc add dev foreign0 root netem delay 3ms",
    ):
        subprocess.run(command.split(), check=True)
    command = [sys.executable, "-B", "-c", _FOREIGN]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as mininet:
        assert mininet.stdout and mininet.stdout.readline() == "ready\n"
        yield mininet


def _pings(mininet: subprocess.Popen[str]) -> str:
    assert mininet.stdin and mininet.stdout
    mininet.stdin.write("ping\n")
    mininet.stdin.flush()
    return mininet.stdout.readline().strip()


def _machine() -> dict[str, list[str]]:
    """What a native run must leave as it was."""
    commands = {
        "links": "ip -oneline link show",
        "addresses": "ip -oneline address show",
        "qdiscs": "tc qdisc show",
        "namespaces": "lsns --noheadings --output NS,TYPE,PID",
        "bridges": "ovs-vsctl --format=csv --columns=_uuid,name,ports list Bridge",
        "ports": "ovs-vsctl --format=csv --columns=_uuid,name,interfaces,qos list Port",
        "interfaces": "ovs-vsctl --format=csv --columns=_uuid,name,type,ofport list Interface",
    }
    programs = [
        f"{file.parent.name} {text}"
        for file in Path("/proc").glob("[0-9]*/cmdline")
        if (text := _text(file))
    ]
    modules = [line.split()[0] for line in Path("/proc/modules").read_text().splitlines()]
    files = [
        os.path.join(folder, name)
        for top in _WRITABLE
        for folder, folders, names in _walk(top)
        for name in folders + names
    ]
    return {
        **{name: sorted(_lines_of(command)) for name, command in commands.items()},
        "programs": sorted(programs),
        "modules": modules,
        "files": sorted(files),
        "sysctls": sorted(_sysctls()),
    }


def _walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in _OURS]
        yield folder, folders, names


def _lines_of(command: str) -> list[str]:
    """Without our own process and the namespace count of the moment."""
    lines = subprocess.run(
        command.split(), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [" ".join(line.split()) for line in lines]


def _sysctls() -> Iterator[str]:
    for folder, _folders, names in os.walk("/proc/sys"):
        for name in names:
            path = Path(folder, name)
            if not _VOLATILE.search(str(path)) and (text := _text(path)) is not None:
                yield f"{path}: {text.strip()}"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def _difference(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, list[str]]:
    """Lines of one of them only, each with its sign."""
    return {
        name: lines
        for name in before
        if (
            lines := [f"- {line}" for line in before[name] if line not in after[name]]
            + [f"+ {line}" for line in after[name] if line not in before[name]]
        )
    }
