"""Pictures that are handed in: PNG or JPEG by their first bytes, never anything that can hold a program."""

from __future__ import annotations

from pathlib import Path

LARGEST = 5_000_000  # bytes
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def picture_kind(file: Path) -> str | None:
    """`png` or `jpeg`; None for what is neither, too large or not there."""
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST:
            return None
        with file.open("rb") as stream:
            beginning = stream.read(8)
    except OSError:
        return None
    return next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
