"""Programs and threads that a `with` block starts, waits for and ends; a tc(8) that is kept."""

import errno
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from topologies.errors import CommandError, TcplabError, is_absent

READY = 10.0  # seconds a server or capture may take to be ready
_GRACE = 10.0  # seconds between asking a program to end and killing it
_LOOK = 0.05  # seconds between two looks whether a program has ended, if nothing tells


def run(
    command: Sequence[str | Path],
    text: str = "",
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    umask: int = -1,
) -> str:
    """Return the output of a command that must succeed. Raises CommandError, TcplabError."""
    options: dict[str, Any] = {"text": True, "capture_output": True, "check": False}
    options |= {"cwd": folder, "env": os.environ | environment, "umask": umask}
    try:
        done = subprocess.run(command, input=text, **options)
    except OSError as error:
        if not is_absent(error):
            raise
        raise not_installed(str(command[0])) from None
    if done.returncode != 0:
        printed = done.stderr + done.stdout
        raise CommandError(" ".join(map(str, command)), done.returncode, printed)
    return str(done.stdout)


def not_installed(program: str) -> TcplabError:
    problem = f"{program} is not installed."
    return TcplabError(problem, f"Install it: sudo apt-get install {program}")


def wait_for(what: str, ready: Callable[[], bool], timeout: float, interval: float = 0.01) -> None:
    """Return as soon as `ready()` holds. Raises TcplabError after `timeout` seconds."""
    if not waited_for(ready, timeout, interval):
        problem = f"Waited {timeout:g} s for {what} without success."
        raise TcplabError(problem, "The run's folder has the program's output.")


def printed(file: Path, text: str) -> bool:
    """Return whether a program has printed that, as tcpdump when it misses no packet any more."""
    return text in file.read_text(errors="replace")


def waited_for(ready: Callable[[], bool], timeout: float, interval: float) -> bool:
    """Return whether `ready()` held within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval)
    return True


def wait_until_ended(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Return whether the process ended within `timeout` seconds. Polls only before Linux 5.3."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:  # it has been waited for
        return True
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return waited_for(lambda: process.poll() is not None, timeout, _LOOK)
    try:
        watched = select.poll()  # select(2) refuses descriptors above 1023
        watched.register(descriptor, select.POLLIN)
        watched.poll(timeout * 1000)
    finally:
        os.close(descriptor)
    return process.poll() is not None


@contextmanager
def all_ended_afterwards() -> Iterator[list[subprocess.Popen[bytes]]]:
    """A list for the programs of the block, which SIGINT ends, or SIGKILL if need be."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in started:
            if process.poll() is None and not wait_until_ended(process, _GRACE):
                process.kill()
            process.wait()


def tail(file: Path, lines: int = 5) -> str:
    """Return the end of a program's output, for a message."""
    text = file.read_text(errors="replace") if file.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


class Stop:
    """A signal for work to end: a pipe, as threading.Event takes nine system calls of a guest."""

    def __init__(self) -> None:
        self._heard, self._told = os.pipe()
        self._watched = select.poll()
        self._watched.register(self._heard, select.POLLHUP)

    def wait(self, seconds: float) -> bool:
        """Return whether the work has to end; waits for that as long as `seconds`."""
        return bool(self._watched.poll(1000 * seconds))

    def set(self) -> None:
        """The work has to end now."""
        os.close(self._told)

    def close(self) -> None:
        """Close the end that waits."""
        os.close(self._heard)


@contextmanager
def in_background(name: str, work: Callable[[Stop], None]) -> Iterator[None]:
    """Run `work(stop)` in a thread during the block, and raise at the end what it raised."""
    stop = Stop()
    failures: list[Exception] = []

    def guarded() -> None:
        try:
            work(stop)
        except Exception as error:  # raised again below: a thread's own error would go unseen
            failures.append(error)

    thread = threading.Thread(target=guarded, name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        stop.close()
    if failures:
        raise failures[0]


_END = "]\n"  # of a list that tc prints as JSON


class QdiscReader:
    """A tc of the calling thread's network namespace, with options. Raises TcplabError."""

    def __init__(self, options: Sequence[str]) -> None:
        self._command = ["tc", *options, "-j", "-batch", "-"]
        pipe = subprocess.PIPE
        try:
            self._tc = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
            )
        except OSError as error:
            if not is_absent(error):
                raise
            raise not_installed("tc") from None

    def show(self) -> str:
        """Return what `tc qdisc show` prints. Raises CommandError."""
        asked, answers = self._tc.stdin, self._tc.stdout
        assert asked and answers
        asked.write("qdisc show\n")
        asked.flush()
        text = ""
        while not text.endswith(_END):
            if not (line := answers.readline()):
                raise CommandError(" ".join(self._command), self._tc.wait(), text)
            text += line
        return text

    def close(self) -> None:
        self._tc.communicate()
