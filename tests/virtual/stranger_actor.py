"""A program on one host that does all it may, and tries the rest, while another host observes.

It follows attack_values.py in one file. Steps begin at multiples of STEP after a moment that the
observer learns by a datagram (stranger_observer.py).
"""

import ctypes
import faulthandler
import json
import mmap
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

STEP = 39_063 * 256  # nanoseconds: whole ticks of the clock
_EPERM, _ENOSYS = 1, 38
_libc = ctypes.CDLL(None, use_errno=True)
_kept: list[object] = []
faulthandler.enable(all_threads=False)
_AT_ITSELF = {0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 22, 23, 25, 32, 33, 34, 35, 37, 38, 47, 56, 59}
_AT_ITSELF |= {60, 62, 77, 158, 202, 218, 230, 231, 232, 270, 271, 273, 281, 292, 436, 441}
_AT_ITSELF |= {
    335,
    336,
    45,
    46,
    130,
    128,
    234,
    299,
    302,
    307,
    324,
    334,
    28,
    44,
    76,
    219,
    72,
    19,
    20,
    17,
    18,
    8,
}
"""Allowed calls with which it would stop or end itself, and those that wait."""


def _memory() -> None:
    _kept.append(bytearray(os.urandom(1 << 16) * 1600))


def _files() -> None:
    Path("/tmp/file").write_bytes(bytes(8 << 20))


def _threads() -> None:
    for _ in range(40):
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()


def _descriptors() -> None:
    _kept.extend(socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(40))
    _kept.extend(os.pipe() for _ in range(20))


def _ports() -> None:
    for each in _kept:
        if isinstance(each, socket.socket):
            each.bind(("", 0))


def _image() -> None:
    for file in sorted(Path("/usr/lib/python3.11").glob("*.py"))[:150]:
        file.read_bytes()


def _wake() -> None:
    with open("/usr/bin/python3", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
    where = _address_of(mapped)
    for operation in (1, 10):  # FUTEX_WAKE, FUTEX_WAKE_BITSET
        _libc.syscall(202, ctypes.c_void_p(where), operation, 100, 0, 0, -1)
    _kept.append(mapped)


def _address_of(mapped: mmap.mmap) -> int:
    view = ctypes.py_object(mapped)
    return ctypes.c_void_p.from_address(id(view.value) + 16).value or 0


def _loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        for _ in range(1000):
            line.sendto(b"x", ("127.0.0.1", 9))


def _turns() -> None:
    for _ in range(500):
        os.sched_yield()


def _compute() -> None:
    sum(range(300_000))


def _clocks() -> None:
    for _ in range(400):
        time.monotonic_ns()


def _random() -> None:
    os.urandom(1 << 20)


def _link() -> None:
    line.sendto(bytes(1000), (sys.argv[1], 9))


DEEDS: dict[str, Callable[[], None]] = {
    "nothing": lambda: None,
    "memory of 100 MB": _memory,
    "files of 8 MB": _files,
    "40 threads": _threads,
    "60 descriptors": _descriptors,
    "40 ports": _ports,
    "150 files of the image": _image,
    "futexes of the image": _wake,
    "1000 datagrams to itself": _loopback,
    "500 turns": _turns,
    "a calculation": _compute,
    "random bytes": _random,
    "400 reads of the clock": _clocks,
    "a datagram to the other": _link,
}


def tried(number: int, made: list[AttackCall], memory: mmap.mmap) -> tuple[int, int]:  # noqa: F821
    """Make the calls of a number; return how many were refused, of how many."""
    refused = 0
    for call in made:
        memory[:] = picture
        words = [ctypes.c_long(each - (1 << 64) if each >> 63 else each) for each in call.arguments]
        ctypes.set_errno(0)
        result = _libc.syscall(ctypes.c_long(number), *words)
        refused += result == -1 and ctypes.get_errno() in (_EPERM, _ENOSYS)
    return refused, len(made)


def until(moment: int) -> None:
    """Sleep until a moment of the clock."""
    time.sleep(max(0, moment - time.monotonic_ns()) / 1e9)


known = Dictionary([], [1], [])  # noqa: F821
picture = known.image.content.ljust(AREA_SIZE, b"\0")  # noqa: F821
calls: dict[int, list[AttackCall]] = {}  # noqa: F821
for each in all_calls(known):  # noqa: F821
    if each.number < X32:  # noqa: F821
        calls.setdefault(each.number, []).append(each)
numbers = [number for number in calls if number not in _AT_ITSELF]
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap(ctypes.c_void_p(AREA), ctypes.c_long(AREA_SIZE), 3, 0x32, -1, ctypes.c_long(0))  # noqa: F821
memory = memoryview((ctypes.c_char * AREA_SIZE).from_address(AREA)).cast("B")  # noqa: F821
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent = Path(sys.argv[3]).read_bytes()
begin = (time.monotonic_ns() // 256 + 80_000) * 256
steps = [*DEEDS, *(f"call {number}" for number in numbers)]
line.sendto(json.dumps([begin, len(steps)]).encode(), (sys.argv[1], int(sys.argv[2])))
outcome = {}
for at, name in enumerate(steps):
    until(begin + at * STEP)
    if name in DEEDS:
        DEEDS[name]()
    else:
        number = int(name.split()[1])
        outcome[number] = tried(number, calls[number], memory)
until(begin + (len(steps) + 20) * STEP)
print(json.dumps({"steps": steps, "outcome": outcome, "skipped": sorted(_AT_ITSELF)}), flush=True)
line.sendto(b"end" + sent, (sys.argv[1], int(sys.argv[2])))
