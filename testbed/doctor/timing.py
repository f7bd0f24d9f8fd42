"""Checks of this machine's real time: clock, timers, virtualization, other work."""

from __future__ import annotations

import os
import re
import time

from testbed.doctor.machine import CheckSubject, ExaminedMachine, Finding

_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies")
_VENDORS = {  # what the firmware or the kernel calls itself: name, and what is known of its timing
    "virtualbox": (
        "VirtualBox",
        "its timers may be milliseconds late: give the machine 2 processors or more",
    ),
    "vmware": ("VMware", "its clock may jump after a pause of the machine"),
    "parallels": ("Parallels", "its timers may be milliseconds late"),
    "qemu": (
        "QEMU",
        "without KVM everything takes ten times as long: rates above 10 Mbit/s are not reached",
    ),
    "kvm": ("KVM", ""),
    "firecracker": ("Firecracker", ""),
    "xen": ("Xen", ""),
    "microsoft corporation": ("Hyper-V", "its clock may jump after a pause of the machine"),
    "amazon ec2": ("Amazon EC2", ""),
    "google": ("Google Compute Engine", ""),
}
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
    found = CheckSubject("native", "clock")
    if nanoseconds > 1000:
        return found.problem(f"{sentence} netem needs finer timers.", "boot without highres=off")
    if source in _SLOW_CLOCKS:
        sentence += " Reading it takes a microsecond or more, for each packet."
        return found.warning(sentence, f"{_TRUST}; see dmesg for why the kernel gave up tsc")
    return found.ok(sentence)


def virtual_machine(machine: ExaminedMachine) -> Finding:
    """Find the hypervisor below the kernel, and what is known of its timing."""
    firmware = "/sys/class/dmi/id"
    names = machine.text(f"{firmware}/sys_vendor") + " " + machine.text(f"{firmware}/product_name")
    names, found = names.lower(), CheckSubject("native", "virtual machine")
    hypervisor = next((vendor for word, vendor in _VENDORS.items() if word in names), None)
    hidden = "hypervisor" in machine.text("/proc/cpuinfo") or machine.exists("/sys/hypervisor/type")
    if hypervisor is None and not hidden:
        return found.ok("None: the kernel runs on the computer itself.")
    name, trouble = hypervisor or ("a hypervisor without a name", "")
    # Ticks of all processors (proc_stat(5)); the eighth are those that the hypervisor took.
    ticks = [int(word) for word in machine.text("/proc/stat").partition("\n")[0].split()[1:9]]
    stolen = ticks[7] / sum(ticks) if len(ticks) == 8 and any(ticks) else 0.0
    sentence = (
        f"This is a virtual machine ({name}); since its start {100 * stolen:.1f} % of the"
        " processors was stolen."
    )
    if trouble or stolen > _MUCH_STEAL:
        return found.warning(f"{sentence} {trouble}".strip() + ".", _TRUST)
    return found.ok(sentence)


def load(machine: ExaminedMachine) -> Finding:
    """Check for other work: native packets get late by it, virtual runs only take longer."""
    running = float((machine.text("/proc/loadavg").split() or ["0"])[0])
    pressure = re.search(r"some .*avg60=([\d.]+)", machine.text("/proc/pressure/cpu"))
    waited = float(pressure[1]) if pressure else 0.0
    sentence = f"Load {running:g} on {machine.processors} processors"
    sentence += f", {waited:g} % pressure." if pressure else "."
    found = CheckSubject("native", "load")
    if waited > _MUCH_PRESSURE or running > machine.processors:
        return found.warning(f"{sentence} Native packets will be late.", "end other programs")
    return found.ok(sentence)


def available_memory(machine: ExaminedMachine) -> Finding:
    """Check the free memory for a guest and the analysis."""
    match = re.search(r"MemAvailable:\s*(\d+) kB", machine.text("/proc/meminfo"))
    free, found = int(match[1]) // 1024 if match else 0, CheckSubject("both", "memory")
    if free < 1024:
        sentence = f"{free} MiB are free; a run takes up to 1024."
        return found.warning(sentence, "end other programs, or lower --duration")
    return found.ok(f"{free} MiB are free.")


def free_disk(machine: ExaminedMachine, folder: str, needed: int) -> Finding:
    """Check that `needed` bytes are free at `folder`, or at its first parent that exists."""
    place = machine.root / folder.lstrip("/")
    while not place.exists():
        place = place.parent
    stat = os.statvfs(place)
    free = stat.f_bavail * stat.f_frsize
    sentence = f"{free / 1e9:.1f} GB are free at {folder}"
    found = CheckSubject("both", "disk")
    if free < needed:
        remedy = "free some, or set TCPLAB_CACHE to another folder"
        return found.problem(f"{sentence}; {needed / 1e9:.1f} are needed.", remedy)
    return found.ok(f"{sentence}.")
