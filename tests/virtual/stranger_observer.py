"""A program on one host that observes all it can, while a program on another acts.

It prints a line of JSON for each observation that changed: the step, its name, before and after.
"""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

STEP = 39_063 * 256  # nanoseconds: whole ticks of the clock
DEEDS = 16  # the first steps, at which the room on its disk is measured: 16 MB each
_libc = ctypes.CDLL(None, use_errno=True)
_buffer = ctypes.create_string_buffer(4096)
_WAITING = {0, 7, 9, 10, 11, 12, 13, 14, 15, 22, 23, 24, 25, 32, 33, 34, 35, 37, 38, 45, 47, 56, 59}
_WAITING |= {60, 61, 335, 336}
_WAITING |= {
    3,
    4,
    5,
    6,
    19,
    20,
    1,
    8,
    17,
    18,
    41,
    53,
    46,
    44,
    62,
    76,
    77,
    72,
    28,
    43,
    49,
    50,
    42,
    48,
}
_WAITING |= {
    130,
    158,
    202,
    218,
    230,
    231,
    232,
    270,
    271,
    273,
    281,
    283,
    284,
    286,
    288,
    289,
    290,
    291,
}
_WAITING |= {292, 293, 299, 307, 324, 334, 436}
_WAITING |= {441, 219, 128, 234, 302, 213, 233, 257, 2, 318, 157, 201, 96, 228, 287}
"""Allowed calls that change it or wait, tell time, or draw random numbers."""


def _refused(observe: Callable[[], object]) -> object:
    try:
        return observe()
    except OSError as error:
        return f"{type(error).__name__} {error.errno}"


def _status(path: "str | int") -> list[int]:
    found = os.stat(path)
    return [
        found.st_dev,
        found.st_ino,
        found.st_nlink,
        found.st_size,
        found.st_mtime_ns,
        found.st_atime_ns,
    ]


def _numbers() -> list[int]:
    """Inodes of a new socket and a new pipe, apart from those of the last time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        inode = os.fstat(made.fileno()).st_ino
    ends = os.pipe()
    pipe = os.fstat(ends[0]).st_ino
    for end in ends:
        os.close(end)
    grown = [inode - _inodes[0], pipe - _inodes[1]]
    _inodes[:] = [inode, pipe]
    return grown


_inodes = [0, 0]


def _calls() -> Iterator[tuple[str, object]]:
    for number in range(480):
        if number in _WAITING:
            continue
        for first in (0, 2):
            ctypes.memset(_buffer, 0, len(_buffer))
            ctypes.set_errno(0)
            result = _libc.syscall(
                ctypes.c_long(number), ctypes.c_long(first), _buffer, 64, _buffer, 0, 0
            )
            yield f"call {number}", [result, ctypes.get_errno(), _buffer.raw.hex().rstrip("0")]


def _listing(folder: str) -> list[object]:
    return [(entry.name, entry.stat(follow_symlinks=False).st_size) for entry in os.scandir(folder)]


def _lock() -> object:
    with open("/usr/bin/python3", "rb") as file:
        return fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def _room() -> int:
    """Bytes that can still be written to its folder."""
    room = 0
    with open("/tmp/room", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            room += file.write(bytes(1 << 20))
    os.unlink("/tmp/room")
    return room


PROC = "meminfo loadavg stat self/status net/dev uptime sys/fs/file-nr sys/kernel/ns_last_pid"
FILES = [*(f"/proc/{name}" for name in PROC.split()), "/sys/class/net", "/dev/kmsg"]
OBSERVED: dict[str, Callable[[], object]] = {
    "inodes": _numbers,
    "free space": lambda: os.statvfs("/tmp"),
    "usage": lambda: list(resource.getrusage(resource.RUSAGE_SELF)),
    "times": lambda: os.times().elapsed > 0,
    "null": lambda: _status("/dev/null"),
    "input": lambda: _status(0),
    "interpreter": lambda: _status("/usr/bin/python3.11"),
    "lock": _lock,
    "root": lambda: _listing("/"),
    "folder": lambda: _listing("/tmp"),
    "cookie": lambda: line.getsockopt(socket.SOL_SOCKET, 57, 8).hex(),
    "memory": lambda: mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE) is not None,
    "machine": lambda: list(os.uname()),
    "datagram": lambda: line.recv(2000).hex(),
    "error": lambda: line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
    **{file: lambda file=file: Path(file).read_text() for file in FILES},
    **{f"process {n}": lambda n=n: os.kill(n, 0) for n in (2, 3, 50, 100)},
}


def _wait_for_wake() -> None:
    with open("/usr/bin/python3", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
    where = ctypes.c_void_p.from_address(id(mapped) + 16)
    value = int.from_bytes(mapped[:4], "little")
    _libc.syscall(202, where, 0, value, 0, 0, 0)
    woken.append(time.monotonic_ns())


def snapshot(at: int) -> dict[str, object]:
    """Return all that can be observed now, by name."""
    seen = {name: json.dumps(_refused(observe)) for name, observe in OBSERVED.items()}
    for name, value in _calls():
        seen[name] = seen.get(name, "") + json.dumps(value)
    seen["woken"] = json.dumps(len(woken))
    if at < DEEDS:
        seen["room"] = json.dumps(_room())
    return seen


def until(moment: int) -> None:
    """Sleep until a moment of the clock."""
    time.sleep(max(0, moment - time.monotonic_ns()) / 1e9)


woken: list[int] = []
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", int(sys.argv[1])))
begin, steps = json.loads(line.recv(100))
line.setblocking(False)
threading.Thread(target=_wait_for_wake, daemon=True).start()
snapshot(0)
snapshot(0)
before = snapshot(0)
for at in range(steps):
    until(begin + at * STEP + 1024)
    lateness = time.monotonic_ns() - (begin + at * STEP + 1024)
    until(begin + at * STEP + STEP // 2)
    now = {**snapshot(at), "clock": json.dumps(lateness // 256)}
    for name, value in now.items():
        if value != before.get(name, value):
            print(json.dumps([at, name, before[name][:300], value[:300]]), flush=True)
    before = now
line.setblocking(True)
while not (packet := line.recv(60_000)).startswith(b"end"):
    pass
with open(sys.argv[2], "wb", buffering=0) as file:
    file.write(packet[3:])
time.sleep(100)
