"""Programs that read the processor's random numbers, which no seed repeats.

A guest cannot forbid the instructions rdrand and rdseed. The environment of programs keeps some
libraries from them. Other programs are recognised by their files. Their libraries are not searched:
these hold the instructions whether the program calls them or not.
"""

from __future__ import annotations

import mmap
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = {
    "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",  # without RDRAND and RDSEED
    "SYSTEMD_RDRAND": "0",
    "QT_NO_CPU_FEATURE": "rdrand rdrnd rdseed",  # rdrnd since Qt 5.14
}
"""Variables that keep OpenSSL, BoringSSL, systemd and Qt from the instructions."""
_HONOURS = b"OPENSSL_ia32cap"
_RANDOM_DEVICE = b"\0_ZNSt13random_device7_M_init"  # in a table of symbols
_OPCODE = b"\x0f\xc7"
_INSTRUCTION = re.compile(
    rb"(?<![\xe8\xe9])\x0f\xc7[\xf0-\xff]"  # no distance of a call or jump
    # Compilers may put the store of the number and constants before the use of the carry.
    rb"(?:[\x40-\x4f\x66]?\x89.{1,3}?|[\xb8-\xbf]\x01\0\0\0){0,3}"
    # jc, jnc; cmov, jump or set by the carry; adc, sbb of a register and itself; adc $0.
    rb"(?:[\x72\x73]|[\x40-\x4f]?\x0f[\x42\x43\x82\x83\x92\x93]"
    rb"|[\x40-\x4f]?[\x11\x19][\xc0\xc9\xd2\xdb\xf6\xff]|\x83[\xd0-\xd7]\0)",
    re.DOTALL,
)
_ELF = b"\x7fELF\x02\x01"  # 64 bits, little endian
_LOAD, _EXECUTABLE = 1, 1  # elf(5): PT_LOAD, PF_X


def doubt(word: str, path: str, folder: Path) -> str:
    """Return why a run with a program may not repeat, in words; empty without a reason.

    `word` is the program as it is typed, `path` the variable PATH, `folder` where it starts.
    """
    for file in _files(word, path, folder):
        try:
            with file.open("rb") as opened:
                content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            reason = _reason(content)
        except (OSError, ValueError, struct.error):  # unreadable, empty, cut
            continue
        if reason:
            return f"{file} can read the processor's random numbers ({reason})"
    return ""


def _files(word: str, path: str, folder: Path) -> Iterator[Path]:
    """Yield the file of a program, and the interpreter of a script."""
    found = folder / word if "/" in word else shutil.which(word, path=path)
    if not found or not Path(found).is_file():
        return
    yield Path(found)
    with Path(found).open("rb") as file:
        start = file.readline(256)
    words = start.removeprefix(b"#!").decode(errors="replace").split()
    if not start.startswith(b"#!") or not words:
        return
    if words[0].endswith("/env"):
        words = [each for each in words[1:] if each[0] != "-" and "=" not in each]
    if interpreter := shutil.which(words[0], path=path):
        yield Path(interpreter)


def _reason(content: mmap.mmap) -> str:
    segments = list(_segments(content)) if content[: len(_ELF)] == _ELF else []
    # Names of dynamic symbols come before the code, or in its segment.
    if any(content.find(_RANDOM_DEVICE, 0, end) >= 0 for _, end in segments[:1]):
        return "std::random_device"
    if any(_holds(content, *each) for each in segments) and content.find(_HONOURS) < 0:
        return "rdrand or rdseed"
    return ""


def _segments(content: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield where executable segments begin and end, elf(5)."""
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for number in range(count):
        kind, flags, begin, _, _, length = struct.unpack_from(
            "<IIQQQQ", content, table + number * size
        )
        if kind == _LOAD and flags & _EXECUTABLE:
            yield begin, begin + length


def _holds(content: mmap.mmap, begin: int, end: int) -> bool:
    """Search by the opcode first, which is 20 times as fast as the expression alone."""
    while (begin := content.find(_OPCODE, begin, end)) >= 0:
        if _INSTRUCTION.match(content, begin):
            return True
        begin += 1
    return False
