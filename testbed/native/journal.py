"""What native runs change of the machine itself, noted beforehand: a killed run cannot undo it.

Each run that changes something has a file in /run/tcplab, a line for each change, and holds a
lock on it (flock(2)) that goes with the process. A file whose lock is free is stale: the next
run, or `tcplab clean`, undoes what it says. /run is emptied when the machine starts, as are the
changes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Literal

from testbed.host import scratch
from topologies.errors import TcplabError

FOLDER = Path("/run/tcplab")
_SUFFIX = ".journal"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Change:
    """One change of the shared kernel.

    `module`: a module was loaded. `algorithm`: a congestion control was allowed to every
    namespace. `identity` tells this load of the module from a later one of the same name; None
    if its loader died before it could look.
    """

    kind: Literal["module", "algorithm"]
    name: str
    identity: int | None = None

    def is_of(self, other: Change) -> bool:
        return (self.kind, self.name) == (other.kind, other.name)


@dataclass
class Journal:
    """One run's changes that are not undone. Its lock is held as long as `file` is open."""

    path: Path
    file: IO[str]
    changes: list[Change] = field(default_factory=list)

    def beside(self, name: str) -> Path:
        """Return the path of a file that goes with the journal."""
        return self.path.with_suffix(f".{name}")

    def note(self, change: Change) -> None:
        """Add a change, or what is known of it now; on the disk before this returns."""
        self._append("change", change)
        self.changes = [noted for noted in self.changes if not noted.is_of(change)] + [change]

    def forget(self, change: Change) -> None:
        """Take a change out: it was undone, or was never made."""
        self._append("undone", change)
        self.changes = [noted for noted in self.changes if not noted.is_of(change)]

    def _append(self, event: str, change: Change) -> None:
        """Append a line: after a kill, all lines before the last one are whole."""
        self.file.write(json.dumps({event: asdict(change)}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


@contextmanager
def new_journal() -> Iterator[Journal]:
    """Provide a new locked journal; remove it at the end if all its changes were undone."""
    with gate():
        try:
            FOLDER.mkdir(mode=0o755, exist_ok=True)
            descriptor, name = tempfile.mkstemp(suffix=_SUFFIX, dir=FOLDER)
        except OSError as error:
            problem = f"{FOLDER} cannot be written: {error.strerror}."
            raise TcplabError(problem, "Use sudo.") from error
        os.fchmod(descriptor, 0o644)
        file = os.fdopen(descriptor, "a")
        scratch.lock(file)
        file.write(json.dumps({"boot": _boot()}) + "\n")
        made = Journal(Path(name), file)
    with file:
        try:
            yield made
        finally:
            _put_away(made)


def _put_away(journal: Journal) -> None:
    """Remove an empty journal, its files, and with the last of them the folder."""
    if journal.changes:
        return
    with gate():
        for path in FOLDER.glob(f"{journal.path.stem}.*"):
            path.unlink()
        with suppress(OSError):  # others are there
            FOLDER.rmdir()


@contextmanager
def gate() -> Iterator[None]:
    """Hold a lock, on /run, behind which changes are made, undone or counted."""
    with scratch.gate(FOLDER.parent):
        yield


def others_made(change: Change, mine: Journal) -> bool:
    """Return whether another journal holds the same change. Only behind the gate."""
    others = (path for path in _paths() if path != mine.path)
    return any(noted.is_of(change) for path in others for noted in _read(path))


@contextmanager
def taken_over() -> Iterator[list[Journal]]:
    """Provide the locked journals of dead runs; remove those that are empty at the end."""
    journals: list[Journal] = []
    try:
        for path in _paths():
            if file := scratch.adopted(path, "a"):  # else its run lives, or another process has it
                journals.append(Journal(path, file, _read(path)))
        yield journals
    finally:
        for journal in journals:
            _put_away(journal)
            journal.file.close()


def stale() -> list[Path]:
    """Return the files of runs that died, unchanged; needs no root."""
    return [path for path in _paths() if not scratch.is_held(path)]


def _paths() -> list[Path]:
    return sorted(FOLDER.glob(f"*{_SUFFIX}"))


def _read(path: Path) -> list[Change]:
    """Return the changes of a journal, none of an earlier boot, without a broken last line."""
    try:
        first, *events = [json.loads(line) for line in path.read_text().split("\n")[:-1]] or [{}]
    except FileNotFoundError:
        return []
    changes: list[Change] = []
    for event in events if first.get("boot") == _boot() else []:
        ((event_name, fields),) = event.items()
        change = Change(**fields)
        changes = [noted for noted in changes if not noted.is_of(change)]
        changes += [change] if event_name == "change" else []
    return changes


def _boot() -> str:
    return _BOOT.read_text().strip()
