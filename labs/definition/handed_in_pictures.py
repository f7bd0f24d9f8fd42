"""Pictures that are handed in: PNG or JPEG by their first bytes.

Nothing that can hold a program is accepted.
"""

from __future__ import annotations

from pathlib import Path

from topologies.foundation import untrusted

LARGEST = 5_000_000  # bytes
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def picture_kind(file: Path) -> str | None:
    """`png` or `jpeg`; None if the file is neither, is too large or is missing."""
    try:
        beginning = untrusted.content(file.parent, file.name, LARGEST)[:8]
    except (OSError, untrusted.StrangeFile):
        return None
    return next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
