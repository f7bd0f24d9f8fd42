"""The native testbed: the same job as root on the kernel that is running, in real time.

It has network, mount, PID, IPC and UTS namespaces and an Open vSwitch of its own, which vanish with
this process. What must change in the shared kernel is noted first (testbed.native.changes).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from testbed import doctor
from testbed.host.job_archive import job_archive, job_file
from testbed.host.packages import NATIVE, install_missing
from testbed.host.supervise import CONSOLE, FollowedJob, Limits, Progress, Usage, started
from testbed.native.changes import KernelNeeds, changed
from testbed.native.realtime import watched
from topologies.errors import TcplabError

PYTHON = "/usr/bin/python3"  # the distribution's: Mininet is a package of it
# Open vSwitch's files in /run and the new namespace's sysctls in /sys are our own. Without -n,
# mount(8) would leave a folder in the machine's /run.
_WITH_OWN_MOUNTS = (
    'mount -n -t tmpfs tmpfs /run && mount -n -t sysfs sysfs /sys && ip link set lo up && exec "$@"'
)


def run_natively(
    module: str,
    data: Any,
    out: Path,
    progress: Progress,
    limits: Limits | None = None,
    files: Mapping[str, bytes] | None = None,
    needs: KernelNeeds | None = None,
) -> Usage:
    """Run `perform(data, job)` of `module` on this kernel, with its results in the empty `out`.

    `files` go along, by name; the kernel has what the run `needs` meanwhile. What killed runs left
    is undone first. Raises TcplabError.
    """
    install_missing(NATIVE)
    for obstacle in obstacles():
        raise obstacle
    with (
        changed(needs or KernelNeeds()),
        job_file(job_archive(module, data, files)) as job,
        (out / CONSOLE).open("wb") as console,
        started(_command(job, out), console, [job.fileno()]) as process,
        watched(process.pid, out),
    ):
        followed = FollowedJob(process, out, limits or Limits())
        for _ in followed.looks():
            progress(followed.phase, followed.elapsed)
        progress(followed.phase, followed.elapsed)
    return followed.usage(out)


def _command(job: IO[bytes], out: Path) -> list[str]:
    """Return the command: setpriv(1) ends the first process with us, unshare(1) all others."""
    namespaces = "--net --mount --pid --ipc --uts --fork --kill-child=KILL --mount-proc"
    start = ["setpriv", "--pdeathsig", "KILL", "unshare", *namespaces.split(), "--"]
    archive, folder = f"/proc/self/fd/{job.fileno()}", str(out.resolve())
    python = [PYTHON, "-B", archive, archive, folder, folder, "native"]
    return [*start, "sh", "-c", _WITH_OWN_MOUNTS, "sh", *python]


def obstacles() -> list[TcplabError]:
    """Return each obstacle to native runs on this machine with its remedy."""
    machine = doctor.ExaminedMachine()
    findings = (doctor.privileges(machine), doctor.tools(machine), *doctor.modules(machine))
    return [TcplabError(each.said, each.remedy) for each in findings if each.state == "problem"]
