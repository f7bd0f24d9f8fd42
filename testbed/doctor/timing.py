"""Whether real time can be trusted on this machine: clock, timers, virtualization, other work."""

from __future__ import annotations

import os
import re
import time

from testbed.doctor.machine import ExaminedMachine, Finding

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
    """Return the clock source (the kernel's own choice) and the resolution of timers in
    nanoseconds.
    """
    source = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    resolution = re.search(r"\.resolution:\s*(\d+) nsecs", machine.text("/proc/timer_list"))
    nanoseconds = (
        int(resolution[1]) if resolution else round(1e9 * time.clock_getres(time.CLOCK_MONOTONIC))
    )
    sentence = f"Clock source {source or 'unknown'}, timers to {nanoseconds} ns."
    if nanoseconds > 1000:
        return Finding(
            "native",
            "clock",
            "problem",
            f"{sentence} netem needs finer timers.",
            "boot without highres=off",
        )
    if source in _SLOW_CLOCKS:
        sentence += " Reading it takes a microsecond or more, for each packet."
        return Finding(
            "native",
            "clock",
            "warning",
            sentence,
            f"{_TRUST}; see dmesg for why the kernel gave up tsc",
        )
    return Finding("native", "clock", "ok", sentence)


def virtual_machine(machine: ExaminedMachine) -> Finding:
    """Return the hypervisor below the kernel, if any, and what is known of its timing."""
    names = " ".join(
        machine.text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")
    ).lower()
    hypervisor = next((vendor for word, vendor in _VENDORS.items() if word in names), None)
    hidden = "hypervisor" in machine.text("/proc/cpuinfo") or machine.exists("/sys/hypervisor/type")
    if hypervisor is None and not hidden:
        return Finding(
            "native", "virtual machine", "ok", "None: the kernel runs on the computer itself."
        )
    name, trouble = hypervisor or ("a hypervisor without a name", "")
    stolen = _stolen(machine.text("/proc/stat"))
    sentence = (
        f"This is a virtual machine ({name}); since its start {100 * stolen:.1f} % of the"
        " processors was stolen."
    )
    if trouble or stolen > _MUCH_STEAL:
        return Finding(
            "native", "virtual machine", "warning", f"{sentence} {trouble}".strip() + ".", _TRUST
        )
    return Finding("native", "virtual machine", "ok", sentence)


def _stolen(stat: str) -> float:
    """Return the share of all processor time that the hypervisor gave to others, from
    proc_stat(5).
    """
    ticks = [int(word) for word in stat.partition("\n")[0].split()[1:9]]
    return ticks[7] / sum(ticks) if len(ticks) == 8 and any(ticks) else 0.0


def load(machine: ExaminedMachine) -> Finding:
    """Other work now: natively it makes packets late; virtually it only makes a run take longer."""
    running = float((machine.text("/proc/loadavg").split() or ["0"])[0])
    pressure = re.search(r"some .*avg60=([\d.]+)", machine.text("/proc/pressure/cpu"))
    waited = float(pressure[1]) if pressure else 0.0
    sentence = f"Load {running:g} on {machine.processors} processors" + (
        f", {waited:g} % pressure." if pressure else "."
    )
    if waited > _MUCH_PRESSURE or running > machine.processors:
        return Finding(
            "native",
            "load",
            "warning",
            f"{sentence} Native packets will be late.",
            "end other programs",
        )
    return Finding("native", "load", "ok", sentence)


def available_memory(machine: ExaminedMachine) -> Finding:
    """Memory for a guest and the analysis."""
    match = re.search(r"MemAvailable:\s*(\d+) kB", machine.text("/proc/meminfo"))
    free = int(match[1]) // 1024 if match else 0
    if free < 1024:
        sentence = f"{free} MiB are free; a run takes up to 1024."
        return Finding(
            "both", "memory", "warning", sentence, "end other programs, or lower --duration"
        )
    return Finding("both", "memory", "ok", f"{free} MiB are free.")


def free_disk(machine: ExaminedMachine, folder: str, needed: int) -> Finding:
    """Return whether `needed` bytes are free at `folder`, or at the first folder above it that
    exists.
    """
    place = machine.root / folder.lstrip("/")
    while not place.exists():
        place = place.parent
    stat = os.statvfs(place)
    free = stat.f_bavail * stat.f_frsize
    sentence = f"{free / 1e9:.1f} GB are free at {folder}"
    if free < needed:
        sentence += f"; {needed / 1e9:.1f} are needed."
        return Finding(
            "both", "disk", "problem", sentence, "free some, or set TCPLAB_CACHE to another folder"
        )
    return Finding("both", "disk", "ok", f"{sentence}.")
