"""Text files as editors save them, and pictures that are handed in.

Texts are UTF-8 with or without a byte order mark, or UTF-16 from Windows' Notepad and Excel.
Pictures are PNG or JPEG by their first bytes: neither format can hold a program.
"""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

from analysis.records.json_reader import printable
from topologies.foundation import untrusted

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark begins it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks (The Unicode Standard, section 23.8) and the encodings that they announce."""


def byte_order_mark(content: bytes) -> tuple[bytes, str]:
    """The byte order mark of a file, empty if it has none, and its encoding, UTF-8 without one."""
    marks = ((mark, encoding) for mark, encoding in _MARKS if content.startswith(mark))
    return next(marks, (b"", "utf-8"))


def decoded(content: bytes) -> str:
    """The text of a file, without its byte order mark. Raises ValueError with a reason for people.

    UTF-16 without a mark is known by its zero bytes, which no text in UTF-8 has (RFC 4627, section
    3).
    """
    mark, encoding = byte_order_mark(content)
    if not mark and b"\0" in content[:2]:
        encoding = "utf-16-be" if content[:1] == b"\0" else "utf-16-le"
    return _strict(content.removeprefix(mark), encoding)


def as_json(value: Any) -> str:
    """Return the text of a JSON file."""
    return json.dumps(value, indent=1) + "\n"


def displayable(name: str) -> str:
    """A file's name as pages, tables and terminals can show it: on a disk it may hold anything."""
    text = printable(name.encode(errors="replace").decode())
    return text.replace("\n", "\N{REPLACEMENT CHARACTER}")


def _strict(content: bytes, encoding: str) -> str:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = f"line {line} is no text in {encoding.upper()}; save it as UTF-8"
        raise ValueError(problem) from None
    if "\0" in text:
        raise ValueError("it holds zero bytes, so it is no text; save it as UTF-8")
    return text


LARGEST_PICTURE = 5_000_000  # bytes
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def picture_kind(file: Path) -> str | None:
    """`png` or `jpeg`; None if the file is neither, is too large or is missing."""
    try:
        beginning = untrusted.content(file.parent, file.name, LARGEST_PICTURE)[:8]
    except (OSError, untrusted.StrangeFile):
        return None
    return next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
