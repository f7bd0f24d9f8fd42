"""Reads the file from the time slices of the sender's threads (sender.py)."""

import ctypes
import os
import socket
import sys
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


line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", int(sys.argv[1])))
asked, peer = line.recvfrom(99)
first = int.from_bytes(asked, "big")
for _ in range(20):
    line.sendto(os.getpid().to_bytes(4, "big"), peer)
threads, number = [first], first
while len(threads) < THREADS and number < first + 10_000:
    number += 1
    if _libc.syscall(GET, number, ctypes.byref(Attributes()), 48, 0) == 0:
        threads.append(number)
size, done, turn = get(threads[1]), 0, 0
put(0, 80_000_000)
with open(sys.argv[2], "wb", buffering=0) as file:
    while done < size:
        while get(first) != MARK + turn + 1:
            time.sleep(1e-6)
        turn += 1
        slices = b"".join(get(thread).to_bytes(3, "big") for thread in threads[2:])
        done += file.write(slices[: size - done])
        put(0, 80_000_000 + turn)
time.sleep(100)
