"""Programs of a few bytes, for tests on computers without a compiler."""

import struct

READ = bytes.fromhex("480fc7f0 73fa")  # rdrand %rax until the carry says that it has a number
_PRINT = bytes.fromhex("50 b801000000 bf01000000 4889e6 ba08000000 0f05")
_EXIT = bytes.fromhex("b83c000000 31ff 0f05")
_PLACE, _HEADERS = 0x400000, 64 + 56
RUN, RUN_AND_READ, READ_ONLY = 1, 5, 4  # elf(5): flags of a segment


def program(code: bytes, flags: int = RUN_AND_READ, rest: bytes = b"") -> bytes:
    """Return an executable with one segment, and `rest` behind it."""
    size = _HEADERS + len(code)
    kinds = (2, 62, 1, _PLACE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", *kinds)
    segment = struct.pack("<IIQQQQQQ", 1, flags, 0, _PLACE, _PLACE, size, size, 0x1000)
    return header + segment + code + rest


PRINTS_RANDOM = program(READ + _PRINT + _EXIT)
"""It prints eight bytes of the processor's random numbers."""
