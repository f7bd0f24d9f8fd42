"""The archive of a bundle: the same bytes for the same run."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from experiments.harness.bundle.contents import Bundle, require_new

_PROGRAMS = ("repeat.sh",)


def pack(folder: Path, out: Path | None = None) -> Path:
    """Write the bundle of a run or sweep, by default into the current folder, and return its path.

    Raises UsageError for a folder that cannot be packed, TcplabError for a file that exists.
    """
    bundle = Bundle.of(folder)
    place = out or Path(f"{bundle.name}.tar.gz")
    require_new(place)
    partial = place.with_name(f"{place.name}.partial")
    try:
        with (
            partial.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name, content in bundle.files():
                archive.addfile(_entry(f"{bundle.name}/{name}", content), io.BytesIO(content))
        partial.replace(place)
    finally:
        partial.unlink(missing_ok=True)
    return place


def _entry(name: str, content: bytes) -> tarfile.TarInfo:
    """Return an entry without what differs from machine to machine."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o755 if name.endswith(_PROGRAMS) else 0o644
    return entry
