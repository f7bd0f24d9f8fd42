"""Where the octets of a growing capture come from: a file, standard input, a network interface."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from topologies.foundation.errors import TcplabError, UsageError

_PIECE = 1 << 20
_POLL = 0.1
"""Seconds between two looks at a file, which does not tell when it grows."""
_HEADERS = 256
"""Octets of each packet that are captured: all headers, also in tunnels."""
_INTERFACES = Path("/sys/class/net")


class GrowingSource(Protocol):
    """Octets that come."""

    def read(self, seconds: float) -> bytes | None:
        """The next octets; empty if none come within so many seconds, None at the end."""

    def stop(self) -> None:
        """Asks for no more than what is on its way."""


class GrowingFile:
    """A file that another program appends to. It has no end until it is stopped."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._is_stopped = False

    def read(self, seconds: float) -> bytes | None:
        """As GrowingSource says. Raises TcplabError if the file is no more the one it was."""
        if octets := self._file.read(_PIECE):
            return octets
        if self._is_stopped:
            return None
        self._check()
        time.sleep(min(seconds, _POLL))
        return b""

    def stop(self) -> None:
        self._is_stopped = True

    def _check(self) -> None:
        """What tail -F finds out too: whether the path still is what is read."""
        opened = os.fstat(self._file.fileno())
        try:
            present = self._path.stat()
        except FileNotFoundError:
            raise TcplabError(f"{self._path} was removed.", _FOLLOW_AGAIN) from None
        if (present.st_dev, present.st_ino) != (opened.st_dev, opened.st_ino):
            raise TcplabError(f"{self._path} was replaced by another file.", _FOLLOW_AGAIN)
        if opened.st_size < self._file.tell():
            raise TcplabError(f"{self._path} was truncated.", _FOLLOW_AGAIN)


_FOLLOW_AGAIN = "The tables above show what came before; start again to follow what is there now."


class GrowingPipe:
    """A pipe, until its writer closes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._watched = select.poll()  # select(2) refuses descriptors above 1023
        self._watched.register(descriptor, select.POLLIN)

    def read(self, seconds: float) -> bytes | None:
        is_ready = self._watched.poll(1000 * seconds)
        return os.read(self._descriptor, _PIECE) or None if is_ready else b""

    def stop(self) -> None:
        """Its writer, on the same terminal, is stopped by the same Ctrl-C."""


class TcpdumpPipe(GrowingPipe):
    """The packets of an interface, from a tcpdump of our own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        super().__init__(process.stdout.fileno())
        self._process = process

    def read(self, seconds: float) -> bytes | None:
        octets = super().read(seconds)
        if octets is None:
            self._process.wait()
        return octets

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)


@contextmanager
def growing_source(name: str) -> Iterator[GrowingSource]:
    """What `name` means: - is standard input, else a file, a pipe, or a network interface.

    Raises TcplabError for what is none of them, or cannot be read.
    """
    path = Path(name)
    if name == "-":
        if sys.stdin.isatty():
            raise UsageError(
                "- reads standard input, and that is this terminal.",
                "For example: sudo tcpdump -U -w - | ./tcplab analyze --live -",
            )
        yield GrowingPipe(sys.stdin.fileno())
    elif path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name the file that grows in it.")
    elif path.exists():
        with _opened(path) as file:
            yield GrowingFile(path, file) if path.is_file() else GrowingPipe(file.fileno())
    elif name == "any" or name in os.listdir(_INTERFACES):
        with _tcpdump(name) as source:
            yield source
    else:
        interfaces = ", ".join(sorted(os.listdir(_INTERFACES)))
        raise UsageError(
            f"There is no file and no network interface {name}.",
            f"The interfaces are any, {interfaces}.",
        )


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb", buffering=0)
    except OSError as error:
        raise TcplabError(
            f"{path} cannot be read ({error.strerror}).", "Check the path."
        ) from error


@contextmanager
def _tcpdump(interface: str) -> Iterator[GrowingSource]:
    """tcpdump on the interface, ended whatever happens."""
    program = shutil.which("tcpdump")
    if not program:
        raise UsageError(
            "Capturing on an interface needs tcpdump, which is not installed.",
            "Install tcpdump, or follow a file that another host captures.",
        )
    command = [program, "-i", interface, "-U", "-s", str(_HEADERS), "-w", "-"]
    with tempfile.TemporaryFile() as said:
        # A session of its own: Ctrl-C on this terminal reaches it by `stop` alone.
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, start_new_session=True
        )
        try:
            yield TcpdumpPipe(process)
        finally:
            process.terminate()
            process.wait()
            assert process.stdout
            process.stdout.close()
        said.seek(0)
        _check_ending(interface, process.returncode, said.read().decode(errors="replace"))


def _check_ending(interface: str, status: int, said: str) -> None:
    """Raises TcplabError if tcpdump failed, and tells which packets it lost."""
    if status not in (0, -signal.SIGTERM, -signal.SIGINT):
        raise TcplabError(
            f"tcpdump cannot capture on {interface}: {said.strip()}.",
            f"sudo tcpdump -i {interface} -U -w - | ./tcplab analyze --live -",
        )
    for line in said.splitlines():
        if "dropped" in line and not line.startswith("0 "):
            print(f"tcpdump: {line}", file=sys.stderr)
