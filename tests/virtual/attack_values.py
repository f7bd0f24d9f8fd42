"""The values with which generated attacks make system calls, and the list of all calls.

Descriptors and addresses are those of attacker.c. The numbers are those of x86-64.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass

AREA, AREA_SIZE = 0x200000000, 1 << 16
"""The memory of the attacker that calls get as buffers."""
ITSELF = 0x5E1F5E1F
"""Stands for the process number of who makes the call."""
LAST_CALL = 480
X32 = 0x40000000
_MOST_PAIRS = 3000  # calls with two values changed, for each pair of arguments
_HERE = -100  # AT_FDCWD
_BUFFER = AREA + (1 << 15)

Arguments = tuple[int, ...]


@dataclass(frozen=True)
class AttackCall:
    """A system call with its arguments; `in_kernel` asks for the kernel's own process."""

    number: int
    arguments: Arguments
    in_kernel: bool = False

    def packed(self) -> bytes:
        """The call as attacker.c reads it."""
        filled = (*self.arguments, *(0,) * (6 - len(self.arguments)))
        return struct.pack("=II6Q", self.number, self.in_kernel, *(each % 2**64 for each in filled))


class Image:
    """Memory that is the same before each call: texts and structures at known addresses."""

    def __init__(self) -> None:
        self.content = b""

    def at(self, content: bytes) -> int:
        """The address of this content."""
        address = AREA + len(self.content)
        self.content += content + b"\0" * (-len(content) % 16)
        return address

    def text(self, words: str) -> int:
        """The address of a text with its zero byte."""
        return self.at(words.encode() + b"\0")


def _bits(base: int, highest: int = 32) -> list[int]:
    """`base`, and it with every single bit changed; every bit alone; none and all."""
    single = [1 << bit for bit in range(highest)]
    return [base, *(base ^ bit for bit in single), *single, 0, 2**highest - 1]


_FILES = [10, 0, 11, 12, 13, 15, 16, 17, 8191, 8192, 100, -1, _HERE]
_PLACES = [
    "/lab/out/made",
    "/lab/out",
    "/lab/out/file",
    "/lab/init",
    "/lab/linux",
    "/",
    "/etc/passwd",
    "/lab/out/../../etc/passwd",
    "/proc/self/mem",
    "/proc/1/mem",
    "/proc/cpuinfo",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts/0",
    "/dev/shm",
    "/dev/shm/made",
    "/dev/mqueue",
    "/tmp/made",
    "/sys/kernel",
    "relative",
    "",
]
_MODES = [0o644, 0, 0o600, 0o755, 0o777, 0o666, 0o622, 0o602, 0o4755, 0o2755, 0o1755, 0o40755, -1]
_SIZES = [64, 0, 1, 4096, 1 << 15, 1 << 40, -1]
_ADDRESSES = [_BUFFER, 0, 1, _BUFFER + 1, -4096]
_SIGNALS = [0, 1, 9, 15, 18, 19, 29, 31, 64, 65, -1]
_CLOCKS = [1, *range(-3, 1), *range(2, 13)]
_TERMINAL = [*range(0x5400, 0x5480), 0x80045430, 0x40045431, 0x802C542A, 0x402C542B, 0x402C542D]
_OTHER_IOCTLS = [0, 1, 0x127D, 0x4B32, 0x4B3A, 0x5600, 0x8901, 0x8912, 0x8933, 0xAE01, 0xC0045878]
_OTHER_IOCTLS += [0x400454CA, 0x40086602, 0x40049409, 0x4020940D, 0x40087707, 0x6601, 0x80086601]


class Dictionary:
    """The values of each kind of argument. `places` are paths of the host to try as well."""

    def __init__(self, places: list[str], processes: list[int], sockets: list[bytes]) -> None:
        self.image = image = Image()
        paths = [image.text(path) for path in [*_PLACES, *places]]
        timespec = image.at(struct.pack("=qq", 0, 0))
        vector = image.at(struct.pack("=QQ", image.text("message"), 8))
        header = struct.Struct("=QIxxxxQQQQixxxx")
        names = [(image.at(name), len(name)) for name in sockets]
        messages = [image.at(header.pack(0, 0, vector, 1, 0, 0, 0))]
        messages += [image.at(header.pack(*name, vector, 1, 0, 0, 0)) for name in names]
        filters = struct.pack("=HBBIHBBI", 6, 0, 0, 0x7FFF0000, 6, 0, 0, 0x7FFF0000)
        program = image.at(struct.pack("=HxxxxxxQ", 2, image.at(filters)))
        limits = image.at(struct.pack("=QQ", 8000, 8000))
        empty = image.text("")
        self.values: dict[str, list[int]] = {
            "any": [0, 1, -1, _BUFFER],
            "file": _FILES,
            "path": [*paths, 0, 1],
            "mode": _MODES,
            "open": [*_bits(0o102, 24), *(0o2 | 1 << bit for bit in range(24)), 0o20200002],
            "size": _SIZES,
            "address": _ADDRESSES,
            "bits": _bits(0),
            "one": _bits(1),
            "access": _bits(4, 16),
            "signal": _SIGNALS,
            "process": [ITSELF, 0, 1, 2**22, -1, 2**31, *processes, *(-each for each in processes)],
            "clock": _CLOCKS,
            "time": [timespec, 0],
            "message": messages,
            "family": list(range(46)),
            "type": [
                kind | flags for flags in (0, 0x800, 0x80000, 0x80800, 0x1000) for kind in range(16)
            ],
            "protocol": [0, 1, 2, 6, 17, 255, -1],
            "prot": _bits(3),
            "map": [0x22, *_bits(0x22), *_bits(0x2), *_bits(0x1), *_bits(0x21), *_bits(0x11)],
            "advice": [4, *range(-1, 26), *range(100, 104)],
            "command": [1, *range(17), *range(1024, 1045)],
            "status": [*_bits(0o2), *_SIGNALS, ITSELF, *processes],
            "ioctl": [0x5401, *_TERMINAL, *_OTHER_IOCTLS],
            "prctl": [15, *range(82), 0x59616D61, 0x53564D41],
            "control": [9, 0, 1, 2, 3, 15, 19, -1],
            "seccomp": list(range(5)),
            "program": [program, 0],
            "arch": [0x1002, *range(0x1000, 0x1026), *range(0x2000, 0x2005), 0x3001, 0x5005, 0],
            "clone": [0, 17, *_bits(0x4111), *_bits(0x411), 0x1200011, 0x8411, 0x10F00],
            "futex": [1, *(kind | flags for kind in range(16) for flags in (0, 128, 256, 512))],
            "epoll": [1, *range(6), -1],
            "memfd": _bits(3),
            "ptrace": [0, *range(64), *range(0x4200, 0x4213)],
            "persona": [0x40000, *_bits(0x40000), 0, 8, -1],
            "stub": [8191, 8192, 10, 11, 3, -1, _HERE],
            "empty": [empty, *paths[:3]],
            "limit": list(range(17)),
            "limits": [limits, 0],
            "short": [0, 1, 5],
        }
        self.generic = [0, 1, 10, ITSELF, -1, _BUFFER, paths[0]]


_PATHS = "path", "mode"
SIGNATURES: dict[str, tuple[int, tuple[str, ...]]] = {
    "read": (0, ("file", "address", "size")),
    "write": (1, ("file", "address", "size")),
    "close": (3, ("file",)),
    "fstat": (5, ("file", "address")),
    "poll": (7, ("address", "short", "short")),
    "lseek": (8, ("file", "size", "short")),
    "mmap": (9, ("address", "size", "prot", "map", "file", "short")),
    "mprotect": (10, ("address", "size", "prot")),
    "munmap": (11, ("address", "size")),
    "brk": (12, ("any",)),
    "rt_sigaction": (13, ("signal", "any", "any", "size")),
    "rt_sigprocmask": (14, ("short", "any", "any", "size")),
    "ioctl": (16, ("file", "ioctl", "any")),
    "pread64": (17, ("file", "address", "size", "size")),
    "pwrite64": (18, ("file", "address", "size", "short")),
    "access": (21, ("path", "access")),
    "madvise": (28, ("address", "size", "advice")),
    "dup2": (33, ("file", "file")),
    "socket": (41, ("family", "type", "protocol")),
    "sendmsg": (46, ("file", "message", "bits")),
    "recvmsg": (47, ("file", "any", "bits")),
    "socketpair": (53, ("family", "type", "protocol", "address")),
    "clone": (56, ("clone", "any", "any", "any", "any")),
    "wait4": (61, ("process", "any", "one", "any")),
    "kill": (62, ("process", "signal")),
    "fcntl": (72, ("file", "command", "status")),
    "ftruncate": (77, ("file", "size")),
    "rename": (82, ("path", "path")),
    "mkdir": (83, _PATHS),
    "rmdir": (84, ("path",)),
    "unlink": (87, ("path",)),
    "readlink": (89, ("path", "address", "size")),
    "chmod": (90, _PATHS),
    "fchmod": (91, ("file", "mode")),
    "ptrace": (101, ("ptrace", "process", "any", "short")),
    "sigaltstack": (131, ("any", "any")),
    "personality": (135, ("persona",)),
    "statfs": (137, ("path", "address")),
    "prctl": (157, ("prctl", "control", "program", "any", "any")),
    "arch_prctl": (158, ("arch", "any")),
    "futex": (202, ("address", "futex", "short", "time")),
    "getdents64": (217, ("file", "address", "size")),
    "timer_create": (222, ("clock", "any", "address")),
    "clock_nanosleep": (230, ("clock", "short", "time", "any")),
    "epoll_ctl": (233, ("file", "epoll", "file", "address")),
    "tgkill": (234, ("process", "process", "signal")),
    "openat": (257, ("file", "path", "open", "mode")),
    "newfstatat": (262, ("file", "path", "address", "bits")),
    "readlinkat": (267, ("file", "path", "address", "size")),
    "utimensat": (280, ("file", "path", "time", "bits")),
    "signalfd4": (289, ("file", "address", "size", "bits")),
    "epoll_create1": (291, ("bits",)),
    "dup3": (292, ("file", "file", "bits")),
    "prlimit64": (302, ("process", "limit", "limits", "any")),
    "renameat2": (316, ("file", "path", "file", "path", "bits")),
    "seccomp": (317, ("seccomp", "bits", "program")),
    "getrandom": (318, ("address", "size", "bits")),
    "memfd_create": (319, ("empty", "memfd")),
    "execveat": (322, ("stub", "empty", "any", "any", "one")),
    "statx": (332, ("file", "path", "bits", "short", "address")),
    "close_range": (436, ("file", "size", "bits")),
    "faccessat2": (439, ("file", "path", "access", "bits")),
}
"""The kinds of the arguments of calls whose values matter."""
_USUAL = {  # what an honest guest passes, in the places where it is not the first of its kind
    "openat": {0: _HERE},
    "readlinkat": {0: _HERE},
    "faccessat2": {0: _HERE},
    "renameat2": {0: _HERE, 2: _HERE},
    "epoll_create1": {0: 0},
    "prlimit64": {0: 0},
    "execveat": {4: 0x1000},
    "socketpair": {0: 1, 1: 1},
    "seccomp": {0: 1},
    "sendmsg": {0: 13},
    "recvmsg": {0: 0},
    "clone": {0: 0x4111},
    "signalfd4": {0: -1, 2: 8},
    "statx": {2: 0x100},
    "ptrace": {3: 1},
}
_OF_THE_KERNEL = {
    *("access", "rename", "mkdir", "rmdir", "unlink", "readlink", "chmod", "fchmod", "statfs"),
    *("openat", "newfstatat", "readlinkat", "utimensat", "renameat2", "statx", "faccessat2"),
    "memfd_create",
}
"""The calls that a supervisor answers to the kernel's process only."""
NAMES = {number: name for name, (number, _) in SIGNATURES.items()}
_WITHOUT = {15, 34, 60, 231}  # rt_sigreturn, pause, exit, exit_group: see `_plain`


def all_calls(dictionary: Dictionary) -> list[AttackCall]:
    """Every call number with its values: those of its signature, or generic ones."""
    calls: list[AttackCall] = []
    for number in range(LAST_CALL):
        if name := NAMES.get(number):
            calls += _signed(name, dictionary)
        else:
            calls += _plain(number, dictionary)
    calls += [AttackCall(X32 + number, (0, 0, 0)) for number in range(LAST_CALL + 70)]
    calls += [AttackCall(number, (0, 0, 0)) for number in (-1 % 2**32, 2**31, 2**16)]
    return calls


def _signed(name: str, dictionary: Dictionary) -> Iterator[AttackCall]:
    number, kinds = SIGNATURES[name]
    values = [dictionary.values[kind] for kind in kinds]
    usual = tuple(_USUAL.get(name, {}).get(at, each[0]) for at, each in enumerate(values))
    found = {usual: None}
    for pair in itertools.combinations_with_replacement(range(len(kinds)), 2):
        for chosen in _sample(number, [values[at] for at in pair]):
            changed = list(usual)
            for at, value in zip(pair, chosen, strict=True):
                changed[at] = value
            found[tuple(changed)] = None
    for arguments in found:
        yield AttackCall(number, arguments, name in _OF_THE_KERNEL)


def _sample(number: int, values: list[list[int]]) -> list[Arguments]:
    """All combinations, or as many as are tried of them: the same each time."""
    everything = list(itertools.product(*values))
    if len(everything) <= _MOST_PAIRS:
        return everything
    return random.Random(number).sample(everything, _MOST_PAIRS)


def _plain(number: int, dictionary: Dictionary) -> Iterator[AttackCall]:
    if number in _WITHOUT:
        yield AttackCall(number, (0,))
        return
    for arguments in itertools.product(dictionary.generic, dictionary.generic, (0, _BUFFER)):
        yield AttackCall(number, (*arguments, 0, 0, 0))
