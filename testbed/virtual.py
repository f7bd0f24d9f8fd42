"""The virtual testbed: a job inside the lab kernel, sandboxed, in virtual time, repeatable from its seed.

bubblewrap gives the kernel namespaces of its own, in which every path, the environment and the command line are
always the same, nothing of the host is seen but one folder, and everything dies with this process. The options of
the kernel are those of Documentation/virt/uml and of the design's measurements.
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from testbed.archive import job_archive
from testbed.lab import Lab
from testbed.inside.room import EVENTS, LOG, RESULT
from testbed.usage import cpu_and_memory
from topologies.errors import TcplabError

CONSOLE = "console.log"
_EPOCH = 1_700_000_000_000_000_000  # nanoseconds since 1970 at which every guest starts
_SANDBOX_USER = 1000
_NOBODY = 65534
_POLL = 0.05  # seconds between two looks at a running guest

Progress = Callable[[str, float], None]
"""Called with what is being done and the seconds of virtual time that have passed."""


@dataclass(frozen=True)
class Usage:
    """What a run took: virtual and wall seconds, CPU seconds of this machine, and peak memory in bytes."""

    virtual_seconds: float
    wall_seconds: float
    cpu_seconds: float
    memory: int


@dataclass(frozen=True)
class Limits:
    """`wall_seconds` is counted outside: a program that spins freezes virtual time, and its own time-outs with it."""

    wall_seconds: float = 600.0
    memory_mib: int = 1024


def run_in_guest(
    lab: Lab, module: str, data: Any, seed: int, out: Path, progress: Progress, limits: Limits | None = None
) -> Usage:
    """Run `perform(data, room)` of `module` in a fresh guest; its results are in the empty folder `out` afterwards.

    Raises TcplabError with the guest's own message where it fails, is stopped or dies; what it had delivered by
    then stays in `out`.
    """
    limits = limits or Limits()
    user = _ordinary_user()
    started = time.monotonic()
    with _owned_by(out, user), _job_file(job_archive(module, data)) as job, (out / CONSOLE).open("wb") as console:
        command = _sandbox(lab, out, job, user) + _kernel(lab, seed, limits, user)
        with _started(command, console, job) as process:
            cpu, memory = _watch(process, out, progress, started + limits.wall_seconds)
    return Usage(_verdict(out, process.returncode), time.monotonic() - started, cpu, memory)


def _ordinary_user() -> tuple[int, int] | None:
    """Who the guest runs as where the caller is root: who typed sudo, or nobody. None: the caller, who is not root."""
    if os.geteuid() != 0:
        return None
    user = int(os.environ.get("SUDO_UID", _NOBODY))
    return (user, pwd.getpwuid(user).pw_gid) if user else (_NOBODY, _NOBODY)


@contextmanager
def _owned_by(folder: Path, user: tuple[int, int] | None) -> Iterator[None]:
    """The folder handed to the guest's user, and with all that is in it back to ours."""
    if user is None:
        yield
        return
    os.chown(folder, *user)
    try:
        yield
    finally:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


@contextmanager
def _job_file(archive: bytes) -> Iterator[IO[bytes]]:
    """The archive as an open file without a name: bubblewrap copies it into the sandbox."""
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.flush()
        file.seek(0)
        yield file


def _sandbox(lab: Lab, out: Path, job: IO[bytes], user: tuple[int, int] | None) -> list[str]:
    """bwrap(1): as an ordinary user in a user namespace; as root without one, then the kernel changes user."""
    identity = ["--unshare-user", "--uid", str(_SANDBOX_USER), "--gid", str(_SANDBOX_USER)]
    privileges = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    namespaces = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "lab"]
    writable = [option for folder in ("/dev/shm", "/tmp") for option in ("--perms", "1777", "--tmpfs", folder)]
    files = {lab.kernel: "/lab/linux", lab.init: "/lab/init", lab.image: "/lab/image.squashfs"}
    binds = [option for file, place in files.items() for option in ("--ro-bind", str(file), place)]
    return [
        "bwrap", "--die-with-parent", "--new-session", "--clearenv", *namespaces, *(privileges if user else identity),
        "--proc", "/proc", "--dev", "/dev", *writable, "--dir", "/lab/dev", "--dir", "/lab/root", *binds,
        "--perms", "0444", "--ro-bind-data", str(job.fileno()), "/lab/job.pyz", "--bind", str(out), "/lab/out",
        "--setenv", "TMPDIR", "/dev/shm", "--setenv", "HOME", "/", "--setenv", "PATH", "/lab", "--chdir", "/",
    ]  # fmt: skip


def _kernel(lab: Lab, seed: int, limits: Limits, user: tuple[int, int] | None) -> list[str]:
    """The lab kernel's command line. It is mixed into the kernel's random pool: nothing in it but the seed varies."""
    become = ["/lab/init", str(user[0]), str(user[1])] if user else []
    return [
        *become, "/lab/linux", f"mem={limits.memory_mib}M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro",
        "init=/init", "hostfs=/lab", f"seed={seed}", "time-travel=inf-cpu", f"time-travel-start={_EPOCH}",
        "norandmaps", *(["seccomp=on"] if lab.seccomp else []), "uml_dir=/tmp/", "umid=lab", "con=null", "con0=null",
        "console=stderr0", "stderr=1", "quiet",
    ]  # fmt: skip


def _processor() -> int:
    """The allowed processor that did least in the last moments."""
    before = _busy_ticks()
    time.sleep(0.02)
    after = _busy_ticks()
    return min(os.sched_getaffinity(0), key=lambda number: after[number] - before[number])


def _busy_ticks() -> dict[int, int]:
    """Processor number to its clock ticks that were not idle, from proc_stat(5)."""
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line[:3] == "cpu" and line[3] != " "]
    return {int(row[0][3:]): sum(int(ticks) for ticks in row[1:4] + row[6:9]) for row in rows}


@contextmanager
def _started(command: list[str], console: IO[bytes], job: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The guest in a process group and on a processor of its own, killed as a whole at the end, whatever happens."""
    # The kernel and its programs take turns; on one processor a turn is a third cheaper and never waits for a wake-up.
    pinned = ["taskset", "--cpu-list", str(_processor())]
    try:
        process = subprocess.Popen(
            pinned + command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, pass_fds=[job.fileno()],
            start_new_session=True, cwd="/",
        )  # fmt: skip
    except FileNotFoundError:
        raise TcplabError("bubblewrap is not installed.", "Install it: sudo apt-get install bubblewrap") from None
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _watch(process: subprocess.Popen[bytes], out: Path, progress: Progress, deadline: float) -> tuple[float, int]:
    """Follow a guest to its end; CPU seconds and peak memory in bytes. Raises TcplabError at the wall-clock limit."""
    offset, cpu, memory = 0, 0.0, 0
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise TcplabError(
                "The guest was stopped at its wall-clock limit: perhaps a program in it spins, which freezes virtual time.",
                "Look at job.log in the run's folder; raise the limit with --limit.",
            )
        offset = _tell(out / EVENTS, offset, progress)
        latest = cpu_and_memory(process.pid)
        cpu, memory = max(cpu, latest[0]), max(memory, latest[1])
        time.sleep(_POLL)
    _tell(out / EVENTS, offset, progress)
    return cpu, memory


def _tell(events: Path, offset: int, progress: Progress) -> int:
    """Hand the complete new lines of the guest's events on and return how far was read."""
    if not events.exists():
        return offset
    with events.open("rb") as file:
        file.seek(offset)
        text = file.read()
    complete = text[: text.rfind(b"\n") + 1]
    for line in complete.splitlines()[-1:]:
        event = json.loads(line)
        progress(str(event["phase"]), float(event["elapsed"]))
    return offset + len(complete)


def _verdict(out: Path, status: int) -> float:
    """The virtual seconds of a job that ended well. Raises TcplabError with its message where it did not."""
    result_file = out / RESULT
    if not result_file.exists():
        ending = "\n".join((out / CONSOLE).read_text(errors="replace").splitlines()[-12:])
        said = (out / LOG).read_text(errors="replace")[-2000:] if (out / LOG).exists() else ""
        raise TcplabError(
            f"The guest ended without a result (status {status}). Its last words:\n{ending}\n{said}".strip(),
            "If bubblewrap complains about namespaces, allow them: sudo sysctl -w kernel.unprivileged_userns_clone=1.",
        )
    result = json.loads(result_file.read_text())
    if not result["ok"]:
        raise TcplabError(str(result["problem"]), str(result["remedy"]))
    return float(result["elapsed"])
