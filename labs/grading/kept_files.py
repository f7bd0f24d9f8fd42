"""The list of the files that grading wrote: those that belong to nobody any more are removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from topologies.foundation import untrusted
from topologies.foundation.errors import UsageError

FILE = "written.json"


def digest_of(content: bytes) -> str:
    """SHA-256, as the list holds it."""
    return hashlib.sha256(content).hexdigest()


def remove_stale(folder: Path, written: Mapping[str, str]) -> list[str]:
    """Remove what a former grading wrote into `folder` and this one did not.

    Files that somebody has changed since stay, and so do all others. `written` holds this grading's
    files, by their path inside, with their digests. Returns what was removed. Raises UsageError.
    """
    stale = {name: digest for name, digest in _former(folder).items() if name not in written}
    gone = [name for name, digest in stale.items() if _is_ours(folder, name, digest)]
    for name in gone:
        (folder / name).unlink()
        _tidy(folder, (folder / name).parent)
    (folder / FILE).write_text(json.dumps(written, indent=1, sort_keys=True) + "\n")
    return gone


def _former(folder: Path) -> dict[str, str]:
    """The list of the grading before; a folder of an older tcplab has none, and loses nothing."""
    try:
        content = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        remedy = "Delete it: then what former gradings wrote stays."
        raise UsageError(f"{folder / FILE} cannot be read: {error}.", remedy) from None
    listed = content.items() if isinstance(content, dict) else ()
    return {str(name): str(digest) for name, digest in listed}


def _is_ours(folder: Path, name: str, digest: str) -> bool:
    try:
        return untrusted.digest(folder, name) == digest
    except (OSError, untrusted.StrangeFile):
        return False


def _tidy(folder: Path, place: Path) -> None:
    """Remove the folders that are left empty."""
    if place != folder and not any(place.iterdir()):
        place.rmdir()
        _tidy(folder, place.parent)
