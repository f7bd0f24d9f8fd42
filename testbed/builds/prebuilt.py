"""Entries that come with a checkout, compressed: the lab kernel, its programs, the engine.

Such an entry is used while its recipe's key is the manifest's; a changed source is built instead.
`./tcplab kernel verify` builds the entries again and compares them byte for byte.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.host.naming import CODE

PREBUILT = CODE / "prebuilt"
MANIFEST = "manifest.json"
_COMPRESSED = ".xz"


def manifest_of(name: str, key: str) -> dict[str, Any] | None:
    """Return the manifest of the entry of this key that comes with the code; None without one."""
    file = PREBUILT / name / MANIFEST
    manifest: dict[str, Any] = json.loads(file.read_bytes()) if file.is_file() else {"key": ""}
    return manifest if manifest["key"] == key else None


def unpack(name: str, outputs: Sequence[str], folder: Path) -> None:
    """Write the files of an entry and its manifest to a folder. The caller checks them."""
    shutil.copyfile(PREBUILT / name / MANIFEST, folder / MANIFEST)
    for output in outputs:
        packed = PREBUILT / name / (output + _COMPRESSED)
        with lzma.open(packed) as content, (folder / output).open("wb") as target:
            shutil.copyfileobj(content, target)
        shutil.copymode(packed, folder / output)


def pack(name: str, outputs: Sequence[str], entry: Path) -> None:
    """Replace the entry that comes with the code by one of the cache."""
    place = PREBUILT / name
    shutil.rmtree(place, ignore_errors=not place.exists())
    place.mkdir(parents=True)
    shutil.copyfile(entry / MANIFEST, place / MANIFEST)
    for output in outputs:
        packed = place / (output + _COMPRESSED)
        content = (entry / output).read_bytes()
        packed.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
        shutil.copymode(entry / output, packed)
