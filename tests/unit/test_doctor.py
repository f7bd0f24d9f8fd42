"""Each finding of the doctor on made-up machines; on the real one it answers without libraries."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from testbed import doctor
from testbed.doctor import ExaminedMachine, Finding
from testbed.doctor.__main__ import as_data, as_text, verdict
from testbed.virtual.sandbox import Bubblewrap, SandboxChoice, Supervised

ROOT = Path(__file__).resolve().parents[2]
MODULES = "lib/modules/6.1/modules.dep"
ALL_CAPABILITIES = "CapEff:\t000001ffffffffff"


@pytest.fixture
def machine_with(tmp_path: Path) -> Callable[..., ExaminedMachine]:
    """`machine_with({path: text}, **more)`: two x86-64 processors with these files, for root."""

    def make(files: dict[str, str] | None = None, **more: object) -> ExaminedMachine:
        for name, text in {"proc/modules": "", **(files or {})}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        usual = {
            "release": "6.1",
            "architecture": "x86_64",
            "user": 0,
            "processors": 2,
            "has": lambda tool: True,
            "output": lambda command: "",
        }
        return ExaminedMachine(tmp_path, **(usual | more))  # type: ignore[arg-type]

    return make


def states(findings: Sequence[Finding]) -> dict[str, str]:
    return {finding.what: finding.state for finding in findings}


def test_modules_are_found_loaded_in_the_kernel_as_files_and_by_trial(machine_with) -> None:
    assert set(states(list(doctor.modules(machine_with()))).values()) == {"problem"}
    files = {
        MODULES: "kernel/net/sched/sch_netem.ko.xz:\n",
        "lib/modules/6.1/modules.builtin": "kernel/x/sch_tbf.ko\n",
    }
    by_name = states(
        list(doctor.modules(machine_with({**files, "sys/module/openvswitch/refcnt": "0"})))
    )
    assert by_name == {"sch_netem": "ok", "sch_tbf": "ok", "veth": "problem", "openvswitch": "ok"}


def test_without_lists_of_modules_a_trial_in_an_own_namespace_decides(machine_with) -> None:
    commands: list[Sequence[str]] = []

    def output(command: Sequence[str]) -> str:
        commands.append(command)
        return "yes\n" if "netem" in command[-1] else ""

    by_name = states(list(doctor.modules(machine_with(output=output, user=1000))))
    assert by_name["sch_netem"] == "ok" and by_name["veth"] == "problem"
    assert all(
        command[:4] == ["unshare", "--net", "--user", "--map-root-user"] for command in commands
    )


def test_queues_and_congestion_controls_that_are_missing_are_named(machine_with) -> None:
    available = {"proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic"}
    machine = machine_with({MODULES: "sch_sfq.ko sch-fq.ko", **available})
    assert "sch_cake" in doctor.queues(machine).said and doctor.queues(machine).state == "warning"
    assert doctor.congestion_controls(machine).said == "This kernel has no bbr."


def test_open_vswitch_with_a_module_of_somebody_else_is_a_warning(machine_with) -> None:
    def says(filename: str) -> Callable[[Sequence[str]], str]:
        return lambda command: (
            "ovs-vswitchd (Open vSwitch) 3.1.0\n" if "--version" in command else filename
        )

    assert doctor.open_vswitch(machine_with()).state == "problem"
    good = doctor.open_vswitch(
        machine_with(output=says("/lib/modules/6.1/kernel/net/openvswitch/openvswitch.ko"))
    )
    assert (
        good.state == "ok" and "3.1.0 with Linux 6.1" in good.said and "does not run" in good.said
    )
    assert (
        doctor.open_vswitch(
            machine_with(output=says("/lib/modules/6.1/updates/dkms/openvswitch.ko"))
        ).state
        == "warning"
    )
    assert (
        "left alone"
        in doctor.open_vswitch(machine_with({"run/openvswitch/db.sock": ""}, output=says(""))).said
    )


CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
TIMERS, LOAD, FREE = "proc/timer_list", "proc/loadavg", "proc/meminfo"
STAT, VENDOR, STATUS = "proc/stat", "sys/class/dmi/id/sys_vendor", "proc/self/status"
PRODUCT, RELEASE = "sys/class/dmi/id/product_name", "proc/sys/kernel/osrelease"
SECURE_BOOT, LOCKDOWN = doctor._SECURE_BOOT.lstrip("/"), "sys/kernel/security/lockdown"
PRESSURE = {
    LOAD: "1 1 1 1/9 9",
    "proc/pressure/cpu": "some avg10=1.00 avg60=44.00 avg300=1.00 total=1",
}


def resolution(nanoseconds: int) -> str:
    return f" .resolution:     {nanoseconds} nsecs\n"


@pytest.mark.parametrize(
    ("check", "files", "state", "said"),
    [
        (doctor.module_signatures, {SECURE_BOOT: "\6\0\0\0\1"}, "warning", "refuses"),
        (doctor.module_signatures, {SECURE_BOOT: "\6\0\0\0\0"}, "ok", ""),
        (doctor.module_signatures, {LOCKDOWN: "none [integrity] confidentiality"}, "warning", ""),
        (doctor.module_signatures, {LOCKDOWN: "[none] integrity confidentiality"}, "ok", ""),
        (doctor.clock, {CLOCK: "tsc", TIMERS: resolution(1)}, "ok", "tsc, timers to 1 ns."),
        (doctor.clock, {CLOCK: "hpet", TIMERS: resolution(1)}, "warning", ""),
        (doctor.clock, {CLOCK: "tsc", TIMERS: resolution(4_000_000)}, "problem", "finer"),
        (doctor.virtual_machine, {}, "ok", "None"),
        (doctor.virtual_machine, {VENDOR: "Xen", STAT: "cpu 50 0 25 25 0 0 0 0 0 0\n"}, "ok", ""),
        (
            doctor.virtual_machine,
            {VENDOR: "Xen", STAT: "cpu 50 0 25 20 0 0 0 5 0 0\n"},
            "warning",
            "since its start 5.0 % of the processors was stolen.",
        ),
        (doctor.virtual_machine, {PRODUCT: "VirtualBox"}, "warning", "milliseconds late"),
        (doctor.load, {LOAD: "0.5 1 1 1/9 9"}, "ok", "Load 0.5 on 2 processors."),
        (doctor.load, {LOAD: "2.5 1 1 1/9 9"}, "warning", ""),
        (doctor.load, PRESSURE, "warning", ", 44 % pressure. Native"),
        (doctor.available_memory, {FREE: "MemAvailable:  4000000 kB"}, "ok", ""),
        (doctor.available_memory, {FREE: "MemAvailable:  400000 kB"}, "warning", "390 MiB"),
        (doctor.privileges, {STATUS: "CapEff:\t00000000a80425fb"}, "problem", "container"),
        (doctor.privileges, {STATUS: ALL_CAPABILITIES}, "ok", ""),
        (doctor.container, {}, "ok", "None."),
        (doctor.windows, {RELEASE: "6.1.0-56-amd64\n"}, "ok", ""),
        (doctor.windows, {RELEASE: "4.4.0-19041-Microsoft\n"}, "problem", "WSL 1"),
        (doctor.windows, {RELEASE: "5.15.90.1-microsoft-standard-WSL2\n"}, "warning", "no netem"),
    ],
)
def test_a_check_reads_files(machine_with, check, files, state: str, said: str) -> None:
    finding = check(machine_with(files))
    assert finding.state == state and said in finding.said


def test_disks_users_and_processors(machine_with) -> None:
    assert doctor.free_disk(machine_with(), "/not/there/yet", 1).state == "ok"
    assert doctor.free_disk(machine_with(), "/not/there/yet", 2**62).state == "problem"
    assert doctor.privileges(machine_with(user=1000)).state == "problem"
    other = doctor.architecture(machine_with(architecture="aarch64"))
    assert other.state == "problem" and "Captures can be analyzed" in other.said
    assert "vagrant up" in other.remedy


def test_a_mark_of_docker_alone_makes_no_container(machine_with) -> None:
    marked = {".dockerenv": "", "proc/self/mountinfo": "24 1 254:0 / / rw - ext4 /dev/vda rw\n"}
    assert doctor.container(machine_with(marked)).state == "ok"
    mounted = "31 30 254:1 /x/hostname /etc/hostname rw - ext4 /dev/vda rw\n"
    finding = doctor.container(machine_with({**marked, "proc/self/mountinfo": mounted}))
    assert finding.state == "warning" and "Docker" in finding.said


def test_a_kernel_without_modules_is_not_told_to_load_some(machine_with) -> None:
    machine = machine_with()
    (machine.root / "proc/modules").unlink()
    (machine.root / "run/systemd").mkdir(parents=True)
    (machine.root / "run/systemd/container").write_text("docker")
    findings = [
        doctor.container(machine),
        *doctor.modules(machine),
        doctor.congestion_controls(machine),
        doctor.module_signatures(machine),
    ]
    assert not [finding for finding in findings if "modprobe" in finding.remedy]
    assert "takes no modules" in findings[-1].said and findings[-1].state == "warning"
    disabled = machine_with({"proc/modules": "", "proc/sys/kernel/modules_disabled": "1\n"})
    assert not doctor.takes_modules(disabled)


def test_the_sandbox_is_named_with_what_it_lacks() -> None:
    full = doctor.tried_sandbox(SandboxChoice(Bubblewrap, (), 6))
    assert (full.state, full.said) == ("ok", "bubblewrap, with Landlock 6.")
    refused = (("bubblewrap", "not installed"),)
    without = doctor.tried_sandbox(SandboxChoice(Supervised, refused, 0))
    assert without.state == "warning" and "Landlock" in without.remedy
    assert "supervisor" in without.said and "Not bubblewrap (not installed)" in without.said


def test_a_processor_that_is_too_old_for_the_libraries(machine_with) -> None:
    flags = "flags\t\t: fpu sse2 ssse3 sse4_1 sse4_2 popcnt\n"
    assert doctor.instructions(machine_with({"proc/cpuinfo": flags})).state == "ok"
    old = machine_with({"proc/cpuinfo": "flags\t\t: fpu sse2 ssse3\nbugs: sse4_2\n"})
    finding = doctor.instructions(old)
    assert finding.state == "warning" and "no sse4_1, sse4_2, popcnt:" in finding.said


def test_tools_with_their_versions_or_the_command_that_installs_them(machine_with) -> None:
    versions = machine_with(output=lambda command: "\n".join(f"{name} 1.2" for name in command[4:]))
    found = doctor.tools(versions)
    assert found.state == "ok" and "iperf 1.2" in found.said
    without = doctor.tools(machine_with(has=lambda tool: tool != "iperf"))
    assert without.state == "problem" and without.remedy.endswith("iperf")
    assert "--yes" in without.said
    assert "--yes" not in doctor.tools(machine_with(has=lambda tool: False), brought=True).said


def test_the_lab_and_what_was_left(machine_with) -> None:
    assert doctor.lab([], "tcplab 1.2").state == doctor.leftovers(0, 0).state == "ok"
    assert "kernel, image" in doctor.lab(["kernel", "image"], "").said
    assert (
        doctor.leftovers(0, 1).remedy == "./tcplab clean"
        and doctor.leftovers(1, 0).remedy == "sudo ./tcplab clean"
    )


def test_problems_count_for_their_testbed_and_are_shown_with_their_remedies() -> None:
    findings = [
        Finding("native", "netem", "problem", "None.", "modprobe it"),
        Finding("both", "disk", "ok", "Enough."),
    ]
    assert verdict(findings, "native") == findings[:1] and verdict(findings, "virtual") == []
    assert as_data(findings)["virtual"] and not as_data(findings)["native"]
    text = as_text(findings, 80)
    assert "Remedy: modprobe it" in text and "(--testbed native) cannot be used yet: netem." in text


def test_it_runs_with_the_standard_library_alone() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from testbed.doctor.__main__ import main;"
        " main(['--json'])"
    )
    command = ["/usr/bin/python3", "-I", "-S", "-B", "-c", program, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert {finding["state"] for finding in answer["findings"]} <= {"ok", "warning", "problem"}
    assert all(finding["remedy"] for finding in answer["findings"] if finding["state"] != "ok")
