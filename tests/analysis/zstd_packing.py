"""Files as zstd packs them, in one frame."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PARAMETER = zstd.CompressionParameter


def zstd_packed(content: bytes, checksum: bool = True, level: int = 3) -> bytes:
    options = {PARAMETER.compression_level: level, PARAMETER.checksum_flag: int(checksum)}
    return zstd.compress(content, options=options)
