"""The examined machine, and checks of its kernel, of the system around, and of its real time.

The standard library only: it runs before anything is installed. Checks load no modules: files tell
what a kernel has or could load; where there are none, a trial in a fresh namespace does.
"""

import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from testbed.host.packages import NATIVE, PATH, install_command, of_tools, present
from testbed.lab.ready import NOT_A_RELEASE
from testbed.virtual.sandbox import SandboxChoice
from topologies.disciplines import disciplines
from topologies.notation import toml_file


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


@dataclass(frozen=True)
class Finding:
    """The result of one check, with the fields of `doctor --json`; `remedy` may be a command."""

    testbed: Literal["virtual", "native", "both"]
    what: str
    state: Literal["ok", "warning", "problem"]
    said: str
    remedy: str = ""


_TEXTS: dict[str, Any] = toml_file(Path(__file__).with_name("findings.toml"))


def found(what: str, case: str = "ok", **values: object) -> Finding:
    """Return a finding of findings.toml with values in its sentences."""
    state, *sentences = _TEXTS[what][case]
    return Finding(_TEXTS[what]["testbed"], what, state, *(s.format(**values) for s in sentences))


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
        case = "ok" if has_module(machine, name, trial) else "missing"
        remedy = f"sudo modprobe {name}; if that fails, {NETEM}" if loads else NETEM
        yield replace(found("module", case, name=name, makes=makes, remedy=remedy), what=name)


def queues(machine: ExaminedMachine) -> Finding:
    """Check for the queueing disciplines that single experiments choose."""
    if missing := [name for name, trial in QUEUES.items() if not has_module(machine, name, trial)]:
        return found("queues", "missing", missing=", ".join(missing))
    return found("queues", names=", ".join(name.removeprefix("sch_") for name in QUEUES))


def congestion_controls(machine: ExaminedMachine) -> Finding:
    """Check for the congestion controls that experiments name, loaded or to be loaded."""
    loaded = machine.text("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    absent = (name for name in ALGORITHMS if name not in loaded)
    missing = [name for name in absent if not has_module(machine, f"tcp_{name}")]
    if not missing:
        return found("congestion controls", names=", ".join(ALGORITHMS))
    remedy = f"sudo modprobe tcp_{missing[0]}" if takes_modules(machine) else "--testbed virtual"
    return found("congestion controls", "missing", missing=", ".join(missing), remedy=remedy)


def open_vswitch(machine: ExaminedMachine) -> Finding:
    """Check Open vSwitch's programs, its module and the machine's daemon, which runs do not use."""
    line = machine.output(["ovs-vswitchd", "--version"]).partition("\n")[0]
    if not line:
        return found("Open vSwitch", "missing")
    runs = machine.exists("/run/openvswitch/db.sock")
    daemon = "runs too, and is left alone" if runs else "does not run"
    known = {"version": line.rpartition(" ")[2], "release": machine.release, "daemon": daemon}
    module = machine.output(["modinfo", "--field", "filename", "openvswitch"]).strip()
    case = "foreign" if re.search(r"/(extra|updates)/", module) else "ok"
    return found("Open vSwitch", case, **known, module=module)


def module_signatures(machine: ExaminedMachine) -> Finding:
    """Check if the kernel, Secure Boot or lockdown refuses a user's own congestion control."""
    if not takes_modules(machine):
        return found("own modules", "none")
    lockdown = machine.text("/sys/kernel/security/lockdown")
    is_locked = "[integrity]" in lockdown or "[confidentiality]" in lockdown
    is_on = machine.text(_SECURE_BOOT)[-1:] == "\1" or is_locked
    return found("Secure Boot", "on" if is_on else "ok")


_CAP_SYS_ADMIN, _CAP_NET_ADMIN = 21, 12  # capabilities(7)
_NUMPY_NEEDS = ("ssse3", "sse4_1", "sse4_2", "popcnt")
_MARKS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}


def architecture(machine: ExaminedMachine) -> Finding:
    """Check the architecture: the lab kernel is User-Mode Linux, which exists for x86-64."""
    case = "ok" if machine.architecture == "x86_64" else "other"
    return found("processor", case, architecture=machine.architecture)


def instructions(machine: ExaminedMachine) -> Finding:
    """Check for x86-64-v2 (since 2009), which NumPy needs: without it captures are not read."""
    flags = machine.text("/proc/cpuinfo").partition("flags")[2].partition("\n")[0].split()
    missing = [flag for flag in _NUMPY_NEEDS if flag not in flags]
    is_old = machine.architecture == "x86_64" and flags and missing
    return found("instructions", "old" if is_old else "ok", missing=", ".join(missing))


def tried_sandbox(choice: SandboxChoice) -> Finding:
    """Return the sandbox that guests get, which better ones are refused, and what it lacks."""
    landlock = f", with Landlock {choice.landlock}" if choice.landlock else ""
    refused = [f"Not {name} ({' '.join(why.split())})." for name, why in choice.refused]
    words = " ".join([f"{choice.kind.name}{landlock}.", *refused, choice.missing]).strip()
    return found("sandbox", "ok" if choice.landlock else "bare", words=words)


def privileges(machine: ExaminedMachine) -> Finding:
    """Check root's capabilities: in a container, root may lack those that count."""
    status = machine.text("/proc/self/status")
    held = int((re.search(r"CapEff:\s*([0-9a-f]+)", status) or ["", "0"])[1], 16)
    if machine.user != 0:
        return found("root", "user")
    has_all = all(held >> number & 1 for number in (_CAP_SYS_ADMIN, _CAP_NET_ADMIN))
    return found("root", "ok" if has_all else "restricted")


def container(machine: ExaminedMachine) -> Finding:
    """Check for a container: only there a file of the host is mounted. It has its host's kernel."""
    name = machine.text("/run/systemd/container")
    if not name and " /etc/hostname " in machine.text("/proc/self/mountinfo"):
        name = next((name for mark, name in _MARKS.items() if machine.exists(mark)), "")
    load = "on the host: sudo modprobe -a sch_netem openvswitch"
    remedy = load if takes_modules(machine) else NETEM
    return found("container", "inside" if name else "ok", name=name, remedy=remedy)


def windows(machine: ExaminedMachine) -> Finding:
    """Check for WSL: the kernel of WSL 2 comes without netem, and WSL 1 has no kernel."""
    release = (machine.text("/proc/sys/kernel/osrelease") or machine.release).lower()
    if "microsoft" not in release:
        return found("WSL")
    if "wsl2" not in release and "standard" not in release:
        return found("WSL", "first")
    lacks = not has_module(machine, "sch_netem")
    netem = " Its kernel has no netem: native runs are not possible." if lacks else ""
    return replace(found("WSL", "second", netem=netem, remedy=NETEM), testbed="native")


def tools(machine: ExaminedMachine, brought: bool = False) -> Finding:
    """Return the versions of the packages of native runs, which a release does not install."""
    if missing := of_tools(tool for tool in NATIVE if not machine.has(tool)):
        then = "" if brought else " ./tcplab --yes run installs them with --testbed native."
        texts = {"missing": ", ".join(missing), "then": then, "remedy": install_command(missing)}
        return found("network's tools", "missing", **texts)
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *of_tools(NATIVE)]
    installed = machine.output(query).splitlines() or of_tools(NATIVE)
    return found("network's tools", installed=", ".join(installed))


def lab(absent: list[str], release: str) -> Finding:
    """Check the lab: `absent` are its missing parts; `release` names it if there are none."""
    if absent:
        return found("lab", "absent", absent=", ".join(absent))
    return found("lab", "other" if release == NOT_A_RELEASE else "ok", release=release)


def leftovers(journals: int, folders: int) -> Finding:
    """Report journals and folders that killed runs left behind."""
    counts = {"journals": journals, "folders": folders, "sudo": "sudo " if journals else ""}
    return found("leftovers", "some" if journals + folders else "ok", **counts)


_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies")
_VENDORS: dict[str, list[str]] = toml_file(Path(__file__).with_name("vendors.toml"))
"""What a virtual machine calls itself: its name, and what is known of its timing."""
_MUCH_STEAL = 0.02
_MUCH_PRESSURE = 20.0  # percent of the last minute in which something waited for a processor


def clock(machine: ExaminedMachine) -> Finding:
    """Check the kernel's clock source and the resolution of its timers."""
    source = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    resolution = re.search(r"\.resolution:\s*(\d+) nsecs", machine.text("/proc/timer_list"))
    nanoseconds = (
        int(resolution[1]) if resolution else round(1e9 * time.clock_getres(time.CLOCK_MONOTONIC))
    )
    case = "coarse" if nanoseconds > 1000 else "slow" if source in _SLOW_CLOCKS else "ok"
    return found("clock", case, source=source or "unknown", nanoseconds=nanoseconds)


def virtual_machine(machine: ExaminedMachine) -> Finding:
    """Find the hypervisor below the kernel, and what is known of its timing."""
    names = "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"
    firmware = " ".join(map(machine.text, names)).lower()
    hypervisor = next((vendor for word, vendor in _VENDORS.items() if word in firmware), None)
    hidden = "hypervisor" in machine.text("/proc/cpuinfo") or machine.exists("/sys/hypervisor/type")
    if hypervisor is None and not hidden:
        return found("virtual machine", "none")
    name, trouble = hypervisor or ("a hypervisor without a name", "")
    # Ticks of all processors (proc_stat(5)); the eighth are those that the hypervisor took.
    ticks = [int(word) for word in machine.text("/proc/stat").partition("\n")[0].split()[1:9]]
    stolen = ticks[7] / sum(ticks) if len(ticks) == 8 and any(ticks) else 0.0
    known = {"name": name, "stolen": 100 * stolen, "trouble": f" {trouble}." if trouble else ""}
    case = "doubtful" if trouble or stolen > _MUCH_STEAL else "ok"
    return found("virtual machine", case, **known)


def load(machine: ExaminedMachine) -> Finding:
    """Check for other work: native packets get late by it, virtual runs only take longer."""
    running = float((machine.text("/proc/loadavg").split() or ["0"])[0])
    pressure = re.search(r"some .*avg60=([\d.]+)", machine.text("/proc/pressure/cpu"))
    waited = float(pressure[1]) if pressure else 0.0
    case = "busy" if waited > _MUCH_PRESSURE or running > machine.processors else "ok"
    words = f", {waited:g} % pressure" if pressure else ""
    return found("load", case, running=running, processors=machine.processors, pressure=words)


def available_memory(machine: ExaminedMachine) -> Finding:
    """Check the free memory for a guest and the analysis."""
    match = re.search(r"MemAvailable:\s*(\d+) kB", machine.text("/proc/meminfo"))
    free = int(match[1]) // 1024 if match else 0
    return found("memory", "little" if free < 1024 else "ok", free=free)


def free_disk(machine: ExaminedMachine, folder: str, needed: int) -> Finding:
    """Check that `needed` bytes are free at `folder`, or at its first parent that exists."""
    path = machine.root / folder.lstrip("/")
    while not path.exists():
        path = path.parent
    stat = os.statvfs(path)
    free = stat.f_bavail * stat.f_frsize
    case = "full" if free < needed else "ok"
    return found("disk", case, free=free / 1e9, needed=needed / 1e9, folder=folder)
