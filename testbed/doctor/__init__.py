"""The examined machine, findings about it, and what its kernel has.

The standard library only: it runs before anything is installed. Checks load no modules: files tell
what a kernel has or could load; where there are none, a trial in a fresh namespace does.
"""

import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from testbed.host.packages import PATH, present
from topologies.disciplines import disciplines


def _printed(command: Sequence[str]) -> str:
    """Return what a program of the distribution prints; empty if that is not to be had."""
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 20}
    options["env"] = {"PATH": PATH, "LC_ALL": "C"}
    with suppress(OSError, subprocess.SubprocessError):
        return str(subprocess.run(command, check=True, **options).stdout)
    return ""


@dataclass(frozen=True)
class ExaminedMachine:
    """This machine, or a made-up one; `output` is empty for a command that failed."""

    root: Path = Path("/")
    release: str = field(default_factory=platform.release)
    architecture: str = field(default_factory=platform.machine)
    user: int = field(default_factory=os.geteuid)
    processors: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    has: Callable[[str], bool] = present
    output: Callable[[Sequence[str]], str] = _printed

    def text(self, path: str) -> str:
        """Return a file's stripped text; empty if it is absent or unreadable."""
        content = b""
        with suppress(OSError):
            content = (self.root / path.lstrip("/")).read_bytes()
        return content.decode(errors="replace").strip(" \n\t")

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()


State = Literal["ok", "warning", "problem"]
Testbed = Literal["virtual", "native", "both"]


@dataclass(frozen=True)
class Finding:
    """The result of one check, with the fields of `doctor --json`.

    `said` is a sentence, `remedy` a command or what else to do. A `warning` should be known before
    a result is trusted; a `problem` keeps its testbed from running.
    """

    testbed: Testbed
    what: str
    state: State
    said: str
    remedy: str = ""


NETEM = "use --testbed virtual, or a kernel that has it (Debian's linux-image-amd64)"
ADD = "tc qdisc add dev lo root"
# What native runs need: module to (what it makes, a trial of it in a namespace of its own).
MODULES = {
    "sch_netem": ("delay, jitter and loss", f"{ADD} netem delay 1ms"),
    "sch_tbf": ("the rate of a link", f"{ADD} tbf rate 1mbit burst 10k limit 10k"),
    "veth": ("cables", "ip link add tcplab0 type veth peer tcplab1"),
    "openvswitch": ("switches", "genl ctrl get name ovs_datapath"),
}
# What single experiments need: those of channels, and prio of hosts that reorder.
QUEUES = {each.module: f"{ADD} {each.trial}" for each in disciplines().values() if each.trial} | {
    "sch_prio": f"{ADD} prio"
}
ALGORITHMS = ("reno", "cubic", "bbr")
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def has_module(machine: ExaminedMachine, name: str, trial: str = "") -> bool:
    """Check for a module of the kernel: built in, loaded or as a file."""
    folder = f"/lib/modules/{machine.release}"
    if machine.exists(f"/sys/module/{name}"):
        return True
    if machine.exists(f"{folder}/modules.dep"):
        names = ("modules.builtin", "modules.dep")
        listed = "\n".join(machine.text(f"{folder}/{name}") for name in names)
        return re.search(rf"/{name.replace('_', '[-_]')}\.ko", listed) is not None
    namespace = ["unshare", "--net", *(() if machine.user == 0 else ("--user", "--map-root-user"))]
    return bool(trial) and machine.output([*namespace, "sh", "-c", f"{trial} && echo yes"]) != ""


def takes_modules(machine: ExaminedMachine) -> bool:
    """Return whether the kernel loads modules (proc_modules(5), modules_disabled of sysctl)."""
    disabled = machine.text("/proc/sys/kernel/modules_disabled") == "1"
    return machine.exists("/proc/modules") and not disabled


def modules(machine: ExaminedMachine) -> Iterator[Finding]:
    """Check for netem, tbf, veth and Open vSwitch's datapath."""
    loads = takes_modules(machine)
    for name, (makes, trial) in MODULES.items():
        module = partial(Finding, "native", name)
        if has_module(machine, name, trial):
            yield module("ok", f"The kernel has it ({makes}).")
        else:
            remedy = f"sudo modprobe {name}; if that fails, {NETEM}" if loads else NETEM
            yield module("problem", f"This kernel has no {name}: {makes}.", remedy)


def queues(machine: ExaminedMachine) -> Finding:
    """Check for the queueing disciplines that single experiments choose."""
    found = partial(Finding, "native", "queues")
    missing = [name for name, trial in QUEUES.items() if not has_module(machine, name, trial)]
    if not missing:
        return found("ok", f"{', '.join(name.removeprefix('sch_') for name in QUEUES)}.")
    sentence = f"This kernel has no {', '.join(missing)}: experiments with these queues run"
    remedy = "sudo apt-get install linux-image-amd64, and start it"
    return found("warning", f"{sentence} virtually only.", remedy)


def congestion_controls(machine: ExaminedMachine) -> Finding:
    """Check for the congestion controls that experiments name, loaded or to be loaded."""
    found = partial(Finding, "native", "congestion controls")
    loaded = machine.text("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    absent = (name for name in ALGORITHMS if name not in loaded)
    missing = [name for name in absent if not has_module(machine, f"tcp_{name}")]
    if not missing:
        return found("ok", f"{', '.join(ALGORITHMS)}.")
    remedy = f"sudo modprobe tcp_{missing[0]}" if takes_modules(machine) else "--testbed virtual"
    return found("warning", f"This kernel has no {', '.join(missing)}.", remedy)


def open_vswitch(machine: ExaminedMachine) -> Finding:
    """Check Open vSwitch's programs, its module and the machine's daemon, which runs do not use."""
    line = machine.output(["ovs-vswitchd", "--version"]).partition("\n")[0]
    found = partial(Finding, "native", "Open vSwitch")
    if not line:
        remedy = "sudo apt-get install openvswitch-switch"
        return found("problem", "Its programs are not installed.", remedy)
    runs = machine.exists("/run/openvswitch/db.sock")
    daemon = "runs too, and is left alone" if runs else "does not run"
    sentence = (
        f"{line.rpartition(' ')[2]} with Linux {machine.release}. Runs start their own; the"
        f" machine's own {daemon}."
    )
    foreign = machine.output(["modinfo", "--field", "filename", "openvswitch"]).strip()
    if re.search(r"/(extra|updates)/", foreign):
        sentence += f" Its module is not the kernel's own: {foreign}."
        sentence += " Versions that do not fit lose packets."
        return found("warning", sentence, "remove openvswitch-datapath-dkms, then restart")
    return found("ok", sentence)


def module_signatures(machine: ExaminedMachine) -> Finding:
    """Check if the kernel, Secure Boot or lockdown refuses a user's own congestion control."""
    virtually = "./tcplab run custom_cc --testbed virtual"
    if not takes_modules(machine):
        sentence = "This kernel takes no modules, so no congestion control of your own."
        return Finding("native", "own modules", "warning", sentence, virtually)
    found = partial(Finding, "native", "Secure Boot")
    lockdown = machine.text("/sys/kernel/security/lockdown")
    is_locked = "[integrity]" in lockdown or "[confidentiality]" in lockdown
    if machine.text(_SECURE_BOOT)[-1:] != "\1" and not is_locked:
        return found("ok", "Off: this kernel takes unsigned modules.")
    sentence = "On: this kernel refuses a congestion control of your own"
    return found("warning", f"{sentence} (--load-module-into-this-kernel).", virtually)
