"""The part in the guest: packetdrill scripts, one after the other, each in a network of its own.

A script runs commands and Python. Output and virtual time are limited here, all else by the guest.
A confined one sees no folder of the host, and has a network administrator's rights only.
"""

import ctypes
import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from typing import Any

from testbed.guest.job_entry import JobContext
from testbed.guest.kernel_modules import load_tunnel
from testbed.guest.programs import all_ended_afterwards, printed, wait_for

OUTCOMES, PROGRAM = "outcomes.jsonl", "packetdrill"
_KEPT = 16_000  # bytes from the end of what a script prints: packetdrill's message is its last
_MOST = 64 << 20  # bytes that a script may print
_LOOK = 0.5  # seconds between two looks whether a script has ended
_LONGEST = "256"  # bytes of a packet that are captured: all headers
_BLOCK = 1.2  # seconds after which the kernel has handed over every packet (libpcap)
_CLONE_NEWNET = 0x40000000  # include/uapi/linux/sched.h
_libc = ctypes.CDLL(None, use_errno=True)
_SETTINGS = Path("/proc/sys")
_RIGHTS = "-all,+net_admin,+net_raw,+ipc_lock"
"""Capabilities of packetdrill: its tunnel, its packet socket, its locked memory. Without
sys_ptrace, /proc shows it no folder or descriptor of a process that has more."""
_CONFINE = f'umount --lazy "$0" && exec setpriv --bounding-set={_RIGHTS} "$@"'


def perform(data: Any, job: JobContext) -> None:
    """Run data["cases"], each for data["seconds"] at most; each outcome is on the disk at once."""
    folder = job.work / "scripts"  # with the scripts and what they call
    folder.mkdir()
    for place, name in [(job.work, PROGRAM), *((folder, name) for name in data["files"])]:
        (place / name).write_bytes(job.attached(name))
        (place / name).chmod(0o755)
    start = []
    if data["confined"]:  # without the host's folders and most rights
        start = ["unshare", "--mount", "sh", "-c", _CONFINE, str(job.delivery.parent)]
    load_tunnel(job)
    for case in data["cases"]:
        job.enter(case["name"])
        job.line.network()
        if _libc.unshare(_CLONE_NEWNET) != 0:  # a new network, also of what is started then
            number = ctypes.get_errno()
            raise OSError(number, f"unshare: {os.strerror(number)}")
        with _settings(case["settings"]), _captured(case["capture"], job):
            job.start_flows()
            outcome = _run(case, folder, start, data["seconds"])
        with (job.delivery / OUTCOMES).open("a") as outcomes:
            outcomes.write(json.dumps({"name": case["name"], **outcome}) + "\n")
            outcomes.flush()
            os.fsync(outcomes.fileno())


@contextmanager
def _settings(settings: list[str]) -> Iterator[None]:
    """Set sysctls, NAME=VALUE, for the block; a bare NAME is set to the value that it has."""
    found = []
    for setting in settings:
        name, _, value = setting.partition("=")
        file = _SETTINGS / name.replace(".", "/")
        found.append((file, file.read_text()))
        file.write_text(value or found[-1][1])
    yield
    for file, value in found:
        file.write_text(value)


@contextmanager
def _captured(name: str, job: JobContext) -> Iterator[None]:
    """Capture packets of all interfaces during the block, if the capture has a name."""
    if not name:
        yield
        return
    words = job.work / "tcpdump.txt"
    with all_ended_afterwards() as programs, words.open("wb") as output:
        command = ["tcpdump", "-Z", "root", "-n", "-s", _LONGEST, "-i", "any"]
        programs.append(Popen([*command, "-w", str(job.work / name)], stderr=output))
        wait_for("tcpdump", lambda: printed(words, "listening on"), 10.0)
        yield
        time.sleep(_BLOCK)
    job.deliver(name)


def _run(case: dict[str, Any], folder: Path, start: list[str], seconds: float) -> dict[str, Any]:
    """Return status (None at a `limit`), the output's end and virtual seconds."""
    begun = time.monotonic()
    command = [*start, str(folder.parent / PROGRAM), *case["arguments"], case["script"]]
    streams: dict[str, Any] = {"stdin": DEVNULL, "stdout": PIPE, "stderr": STDOUT}
    process = Popen(command, cwd=folder, start_new_session=True, **streams)
    output, limit = _read(process, begun + seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # with what the script left in the background
    outcome = {"status": None if limit else process.wait(), "limit": limit}
    seconds = time.monotonic() - begun
    return outcome | {"output": output.decode(errors="replace"), "seconds": seconds}


def _read(process: Popen[bytes], deadline: float) -> tuple[bytes, str]:
    """Return the end of what is printed until the process ends; which limit was reached, if any."""
    assert process.stdout
    kept, size = b"", 0
    with process.stdout as stream:
        while True:
            ended = process.poll() is not None
            ready = select.select([stream], [], [], 0.0 if ended else _LOOK)[0]
            block = os.read(stream.fileno(), 1 << 16) if ready else b""
            kept, size = (kept + block)[-_KEPT:], size + len(block)
            if ended and not block:
                return kept, ""
            if size > _MOST or time.monotonic() > deadline:
                return kept, "output" if size > _MOST else "time"
            if ready and not block:  # it has closed its output, and goes on
                time.sleep(_LOOK)
