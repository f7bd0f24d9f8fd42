"""Starts a program behind a seccomp filter like a container's: NAME[,NAME...] PROGRAM...

`container` is what Docker's usual profile refuses of a sandbox's wishes: namespaces, keys, others'
descriptors, fixed addresses. The standard library only.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # bpf(2)'s classic instructions
_NUMBER, _ARGUMENTS = 0, 16  # offsets in struct seccomp_data
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2  # prctl(2)
_NAMESPACES = 0x7E020000  # all CLONE_NEW* of clone(2)


@dataclass(frozen=True)
class Refusal:
    """A system call of x86-64 that fails if a bit of `mask` is set in its argument, or always."""

    number: int
    error: int = errno.EPERM
    argument: int = 0
    mask: int = 0


CALLS = {
    "container": (
        Refusal(272, mask=_NAMESPACES),  # unshare
        Refusal(56, mask=_NAMESPACES),  # clone
        Refusal(435, errno.ENOSYS),  # clone3
        Refusal(165),  # mount
        Refusal(250),  # keyctl
        Refusal(438),  # pidfd_getfd
        Refusal(135, mask=0x0040000),  # personality(ADDR_NO_RANDOMIZE)
    ),
    "landlock": (Refusal(444, errno.ENOSYS),),
    "notifications": (Refusal(317, errno.EBUSY, 1, 1 << 3),),  # seccomp(NEW_LISTENER)
    "filters": (Refusal(317),),  # seccomp
    "executable-memory": (Refusal(319, errno.EINVAL, 1, 0x10),),  # memfd_create(MFD_EXEC)
}


def _instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _refused(refusal: Refusal) -> Iterator[bytes]:
    yield _instruction(_EQUAL, refusal.number, 0, 4 if refusal.mask else 1)
    if refusal.mask:
        yield _instruction(_LOAD, _ARGUMENTS + 8 * refusal.argument)
        yield _instruction(_ANY_BIT, refusal.mask, 0, 1)
    yield _instruction(_RETURN, _ERRNO | refusal.error)
    if refusal.mask:
        yield _instruction(_LOAD, _NUMBER)


def enter_filter(names: list[str]) -> None:
    """Refuse those calls in this process and all that it starts."""
    program = [_instruction(_LOAD, _NUMBER)]
    program += [line for name in names for call in CALLS[name] for line in _refused(call)]
    program.append(_instruction(_RETURN, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, header):
        raise OSError(ctypes.get_errno(), "the filter cannot be entered")


if __name__ == "__main__":
    enter_filter(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
