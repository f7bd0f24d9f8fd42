"""Checks of the system around the kernel, and of this machine's real time."""

import os
import re
import time
from functools import partial
from pathlib import Path

from testbed.doctor import NETEM, ExaminedMachine, Finding, has_module, takes_modules
from testbed.host.packages import NATIVE, install_command, of_tools
from testbed.lab.ready import NOT_A_RELEASE
from testbed.virtual.sandbox import SandboxChoice
from topologies.notation import toml_file

_CAP_SYS_ADMIN, _CAP_NET_ADMIN = 21, 12  # capabilities(7)
_NUMPY_NEEDS = ("ssse3", "sse4_1", "sse4_2", "popcnt")
_MARKS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}


def architecture(machine: ExaminedMachine) -> Finding:
    """Check the architecture: the lab kernel is User-Mode Linux, which exists for x86-64."""
    found = partial(Finding, "virtual", "processor")
    if machine.architecture == "x86_64":
        return found("ok", "x86-64.")
    sentence = f"This is {machine.architecture}; the lab kernel exists for x86-64 only. Captures"
    remedy = "sudo ./tcplab run sack --testbed native; on macOS: vagrant up"
    return found("problem", f"{sentence} can be analyzed, and runs can be native.", remedy)


def instructions(machine: ExaminedMachine) -> Finding:
    """Check for x86-64-v2 (since 2009), which NumPy needs: without it captures are not read."""
    found = partial(Finding, "both", "instructions")
    flags = machine.text("/proc/cpuinfo").partition("flags")[2].partition("\n")[0].split()
    missing = [flag for flag in _NUMPY_NEEDS if flag not in flags]
    if machine.architecture != "x86_64" or not flags or not missing:
        return found("ok", "The processor has what the libraries need.")
    sentence = f"The processor has no {', '.join(missing)}: the analysis ends with an illegal"
    sentence += " instruction, and there is no report."
    return found("warning", sentence, "in a virtual machine: give it the host's CPU model")


def tried_sandbox(choice: SandboxChoice) -> Finding:
    """Return the sandbox that guests get, which better ones are refused, and what it lacks."""
    found = partial(Finding, "virtual", "sandbox")
    landlock = f", with Landlock {choice.landlock}" if choice.landlock else ""
    words = [f"{choice.kind.name}{landlock}."]
    words += [f"Not {name} ({' '.join(why.split())})." for name, why in choice.refused]
    said = " ".join([*words, choice.missing]).strip()
    if choice.landlock:
        return found("ok", said)
    return found("warning", said, "start a kernel with Landlock (Debian 12's has it)")


def privileges(machine: ExaminedMachine) -> Finding:
    """Check root's capabilities: in a container, root may lack those that count."""
    found, status = partial(Finding, "native", "root"), machine.text("/proc/self/status")
    held = int((re.search(r"CapEff:\s*([0-9a-f]+)", status) or ["", "0"])[1], 16)
    if machine.user != 0:
        sentence = "You are an ordinary user; native runs need root."
        return found("problem", sentence, "use sudo, or --testbed virtual")
    if all(held >> number & 1 for number in (_CAP_SYS_ADMIN, _CAP_NET_ADMIN)):
        return found("ok", "You are root, with all that is needed.")
    sentence = "You are root without CAP_SYS_ADMIN or CAP_NET_ADMIN: root of a container."
    return found("problem", sentence, "run outside of the container, or start it with --privileged")


def container(machine: ExaminedMachine) -> Finding:
    """Check for a container: it shares its host's kernel, which decides what it has.

    Only a container has files of its host mounted; marks alone may come from a disk made of its
    image.
    """
    found, name = partial(Finding, "native", "container"), machine.text("/run/systemd/container")
    if not name and " /etc/hostname " in machine.text("/proc/self/mountinfo"):
        name = next((name for mark, name in _MARKS.items() if machine.exists(mark)), "")
    if not name:
        return found("ok", "None.")
    sentence = f"This is a container ({name}): the kernel is its host's, and modules cannot be"
    load = "on the host: sudo modprobe -a sch_netem openvswitch"
    remedy = load if takes_modules(machine) else NETEM
    return found("warning", f"{sentence} loaded from here.", remedy)


def windows(machine: ExaminedMachine) -> Finding:
    """Check for WSL: the kernel of WSL 2 comes without netem, and WSL 1 has no kernel."""
    release = machine.text("/proc/sys/kernel/osrelease") or machine.release
    if "microsoft" not in release.lower():
        return Finding("both", "WSL", "ok", "No.")
    if "wsl2" not in release.lower() and "standard" not in release.lower():
        sentence = "This is WSL 1, which has no Linux kernel."
        return Finding("both", "WSL", "problem", sentence, "wsl --set-version NAME 2")
    sentence = "This is WSL 2. Its clock may jump after Windows slept."
    if not has_module(machine, "sch_netem"):
        sentence += " Its kernel has no netem: native runs are not possible."
    return Finding("native", "WSL", "warning", sentence, f"{NETEM}; after sleep: wsl --shutdown")


def tools(machine: ExaminedMachine, brought: bool = False) -> Finding:
    """Return the versions of the packages of native runs, which a release does not install."""
    found = partial(Finding, "native", "network's tools")
    if missing := of_tools(tool for tool in NATIVE if not machine.has(tool)):
        then = "" if brought else " ./tcplab --yes run installs them with --testbed native."
        sentence = f"Not installed: {', '.join(missing)}.{then}"
        return found("problem", sentence, install_command(missing))
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *of_tools(NATIVE)]
    installed = machine.output(query).splitlines() or of_tools(NATIVE)
    return found("ok", f"{', '.join(installed)}.")


def lab(absent: list[str], release: str) -> Finding:
    """Check the lab: `absent` are its missing parts; `release` names it if there are none."""
    found = partial(Finding, "virtual", "lab")
    if absent:
        sentence = f"The first run makes what is missing: {', '.join(absent)}."
        return found("warning", sentence, "./tcplab image build, or ./tcplab image import FILE")
    if release != NOT_A_RELEASE:
        return found("ok", f"Kernel, first process and image of {release}.")
    sentence = "Kernel, first process and image are there, but are not those of the release:"
    sentence += " another lab may give other packets for the same seed."
    return found("warning", sentence, "./tcplab image import RELEASE")


def leftovers(journals: int, folders: int) -> Finding:
    """Report journals and folders that killed runs left behind."""
    found = partial(Finding, "both", "leftovers")
    if not journals + folders:
        return found("ok", "None.")
    sentence = f"Killed runs left {journals} journals of changes and {folders} folders"
    remedy = f"{'sudo ' if journals else ''}./tcplab clean"
    return found("warning", f"{sentence} of temporary files.", remedy)


_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies")
_VENDORS: dict[str, list[str]] = toml_file(Path(__file__).with_name("vendors.toml"))
"""What a virtual machine calls itself: its name, and what is known of its timing."""
_TRUST = "trust virtual runs, or compare only what runs side by side"
_MUCH_STEAL = 0.02
_MUCH_PRESSURE = 20.0  # percent of the last minute in which something waited for a processor


def clock(machine: ExaminedMachine) -> Finding:
    """Check the kernel's clock source and the resolution of its timers."""
    source = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    resolution = re.search(r"\.resolution:\s*(\d+) nsecs", machine.text("/proc/timer_list"))
    nanoseconds = (
        int(resolution[1]) if resolution else round(1e9 * time.clock_getres(time.CLOCK_MONOTONIC))
    )
    sentence = f"Clock source {source or 'unknown'}, timers to {nanoseconds} ns."
    found = partial(Finding, "native", "clock")
    if nanoseconds > 1000:
        return found("problem", f"{sentence} netem needs finer timers.", "boot without highres=off")
    if source in _SLOW_CLOCKS:
        sentence += " Reading it takes a microsecond or more, for each packet."
        return found("warning", sentence, f"{_TRUST}; see dmesg for why the kernel gave up tsc")
    return found("ok", sentence)


def virtual_machine(machine: ExaminedMachine) -> Finding:
    """Find the hypervisor below the kernel, and what is known of its timing."""
    firmware = "/sys/class/dmi/id"
    names = machine.text(f"{firmware}/sys_vendor") + " " + machine.text(f"{firmware}/product_name")
    names, found = names.lower(), partial(Finding, "native", "virtual machine")
    hypervisor = next((vendor for word, vendor in _VENDORS.items() if word in names), None)
    hidden = "hypervisor" in machine.text("/proc/cpuinfo") or machine.exists("/sys/hypervisor/type")
    if hypervisor is None and not hidden:
        return found("ok", "None: the kernel runs on the computer itself.")
    name, trouble = hypervisor or ("a hypervisor without a name", "")
    # Ticks of all processors (proc_stat(5)); the eighth are those that the hypervisor took.
    ticks = [int(word) for word in machine.text("/proc/stat").partition("\n")[0].split()[1:9]]
    stolen = ticks[7] / sum(ticks) if len(ticks) == 8 and any(ticks) else 0.0
    sentence = (
        f"This is a virtual machine ({name}); since its start {100 * stolen:.1f} % of the"
        " processors was stolen."
    )
    if trouble or stolen > _MUCH_STEAL:
        return found("warning", f"{sentence} {trouble}".strip() + ".", _TRUST)
    return found("ok", sentence)


def load(machine: ExaminedMachine) -> Finding:
    """Check for other work: native packets get late by it, virtual runs only take longer."""
    running = float((machine.text("/proc/loadavg").split() or ["0"])[0])
    pressure = re.search(r"some .*avg60=([\d.]+)", machine.text("/proc/pressure/cpu"))
    waited = float(pressure[1]) if pressure else 0.0
    sentence = f"Load {running:g} on {machine.processors} processors"
    sentence += f", {waited:g} % pressure." if pressure else "."
    found = partial(Finding, "native", "load")
    if waited > _MUCH_PRESSURE or running > machine.processors:
        return found("warning", f"{sentence} Native packets will be late.", "end other programs")
    return found("ok", sentence)


def available_memory(machine: ExaminedMachine) -> Finding:
    """Check the free memory for a guest and the analysis."""
    match = re.search(r"MemAvailable:\s*(\d+) kB", machine.text("/proc/meminfo"))
    free, found = int(match[1]) // 1024 if match else 0, partial(Finding, "both", "memory")
    if free < 1024:
        sentence = f"{free} MiB are free; a run takes up to 1024."
        return found("warning", sentence, "end other programs, or lower --duration")
    return found("ok", f"{free} MiB are free.")


def free_disk(machine: ExaminedMachine, folder: str, needed: int) -> Finding:
    """Check that `needed` bytes are free at `folder`, or at its first parent that exists."""
    path = machine.root / folder.lstrip("/")
    while not path.exists():
        path = path.parent
    stat = os.statvfs(path)
    free = stat.f_bavail * stat.f_frsize
    sentence = f"{free / 1e9:.1f} GB are free at {folder}"
    found = partial(Finding, "both", "disk")
    if free < needed:
        remedy = "free some, or set TCPLAB_CACHE to another folder"
        return found("problem", f"{sentence}; {needed / 1e9:.1f} are needed.", remedy)
    return found("ok", f"{sentence}.")
