"""Changes of the shared kernel for the time of a native run: noted first, made, then undone.

Modules that the kernel loads on demand stay. A run that changes something has a journal in
/run/tcplab, a line for each change, locked while it lives (flock(2)). A journal whose lock is free
is stale: the next run, or `tcplab clean`, undoes exactly what it says. The standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Literal

from testbed.guest.kernel_modules import insert, remove
from testbed.guest.namespaces import (
    allow_algorithms,
    allowed_algorithms,
    available_algorithms,
    default_algorithm,
)
from testbed.host import scratch
from topologies.errors import TcplabError
from topologies.notation import json_value

FOLDER = Path("/run/tcplab")
_SUFFIX = ".journal"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Change:
    """A loaded module, or a congestion control that was allowed to every namespace.

    `identity` tells this load from a later one of that name; None if its loader died first.
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

    def note(self, change: Change, event: Literal["change", "undone"] = "change") -> None:
        """Add a change, or what is known of it now, or take it out; on the disk on return."""
        self.changes = _after(self.changes, event, change)
        self.file.write(json.dumps({event: asdict(change)}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def _after(changes: list[Change], event: str, change: Change) -> list[Change]:
    others = [noted for noted in changes if not noted.is_of(change)]
    return [*others, change] if event == "change" else others


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
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps({"boot": _BOOT.read_text().strip()}) + "\n")
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


def gate() -> AbstractContextManager[None]:
    """Return a lock, on /run, behind which changes are made, undone or counted."""
    return scratch.gate(FOLDER.parent)


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
        first, *events = [json_value(line) for line in path.read_text().split("\n")[:-1]] or [{}]
    except FileNotFoundError:
        return []
    changes: list[Change] = []
    for line in events if first.get("boot") == _BOOT.read_text().strip() else []:
        ((event, fields),) = line.items()
        changes = _after(changes, event, Change(**fields))
    return changes


# Seconds. Connections of a killed run stay in the kernel until it has tried often enough to end
# them (tcp(7), tcp_orphan_retries), and use their congestion control until then.
_PATIENCE = 600.0
_LOADED = Path("/sys/module")


@dataclass(frozen=True)
class KernelNeeds:
    """Needs of a run from the shared kernel: modules (name to content), congestion controls."""

    modules: Mapping[str, bytes] = field(default_factory=dict)
    algorithms: Sequence[str] = ()


@contextmanager
def changed(needs: KernelNeeds) -> Iterator[None]:
    """Provide the kernel with what is needed. First undoes what killed runs left."""
    undo_stale(needs.modules)
    if not needs.modules and not needs.algorithms:
        yield
        return
    with new_journal() as journal:
        try:
            for name, content in needs.modules.items():
                _load(journal, name, content)
            for algorithm in needs.algorithms:
                _allow(journal, algorithm)
            yield
        except BaseException as error:
            problems = _undo(journal)  # what cannot be undone stays noted, for the next run
            if isinstance(error, TcplabError):
                words = [error.remedy, *(str(problem) for _, problem in problems)]
                error.remedy = " ".join(words).strip()
            raise
        _report([error for _, error in _undo(journal)])


def undo_stale(needed: Container[str] | None = None) -> list[str]:
    """Undo what killed runs noted, and return a sentence for each change.

    Only modules `needed` gone now are waited for, or all if None. Raises TcplabError.
    """
    with taken_over() as journals:
        before = [change for journal in journals for change in journal.changes]
        problems = [problem for journal in journals for problem in _undo(journal, needed)]
        left = [change for journal in journals for change in journal.changes]
    _report([error for change, error in problems if needed is None or change.name in needed])
    return [_UNDONE[change.kind].format(change.name) for change in before if change not in left]


def _undo(
    journal: Journal, needed: Container[str] | None = None
) -> list[tuple[Change, TcplabError]]:
    """Undo all changes, the last first, each even if another failed; failures stay noted."""
    problems: list[tuple[Change, TcplabError]] = []
    for change in reversed(journal.changes):
        try:
            patience = _PATIENCE if needed is None or change.name in needed else 0
            if change.kind == "module":
                _unload(change, patience)
            else:
                _restrict(journal, change)
            journal.note(change, "undone")
        except TcplabError as error:
            problems.append((change, error))
    return problems


def _report(problems: list[TcplabError]) -> None:
    if problems:
        raise TcplabError("\n".join(error.problem for error in problems), problems[0].remedy)


def _load(journal: Journal, name: str, content: bytes) -> None:
    with gate():
        change = Change("module", name)
        if (_LOADED / name).exists():
            owner, remedy = "somebody else", f"If it is not needed: sudo rmmod {name}"
            if others_made(change, journal):
                owner, remedy = "another run", "Wait for it to end."
            problem = f"A module {name} is in this kernel already, loaded by {owner}."
            raise TcplabError(problem, remedy)
        file = journal.path.with_suffix(f".{name}.ko")  # it goes with the journal
        file.write_bytes(content)
        journal.note(change)
        insert(name, file)
        journal.note(Change("module", name, _identity(name)))


def _unload(change: Change, patience: float) -> None:
    """Unload a module, unless it is another load of that name by now."""
    if (identity := _identity(change.name)) is not None and change.identity in (identity, None):
        try:
            remove(change.name, patience)
        except TcplabError as error:
            held = "Connections of a killed run hold it for some minutes"
            error.remedy = f"{held}; then type: sudo ./tcplab clean"
            raise


def _identity(module: str) -> int | None:
    """Return the inode of its folder in sysfs, which no later load gets; None if unloaded."""
    try:
        return os.stat(_LOADED / module).st_ino
    except FileNotFoundError:
        return None


def _allow(journal: Journal, algorithm: str) -> None:
    """Let hosts choose a congestion control: namespaces may do so only if it is not restricted."""
    change = Change("algorithm", algorithm)
    with gate():
        if algorithm in allowed_algorithms() and not others_made(change, journal):
            return  # the machine allowed it before
        if algorithm not in available_algorithms():
            # As the kernel itself would; the next check reports a failure.
            with suppress(OSError):
                subprocess.run(["modprobe", "--quiet", f"tcp_{algorithm}"], check=False)
        if algorithm not in available_algorithms():
            remedy = f"This kernel may have no such module (modprobe tcp_{algorithm})."
            raise TcplabError(f"This kernel has no congestion control '{algorithm}'.", remedy)
        journal.note(change)
        allow_algorithms([*allowed_algorithms(), algorithm])


def _restrict(journal: Journal, change: Change) -> None:
    """Restrict it again, unless another run needs it or it has become the machine's default."""
    with gate():
        is_default = change.name == default_algorithm()
        if not is_default and not others_made(change, journal):
            allow_algorithms(name for name in allowed_algorithms() if name != change.name)


_UNDONE = {
    "module": "The module {} is unloaded.",
    "algorithm": "The congestion control {} is restricted to this machine's own programs again.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Clean up and print what was done; the exit status."""
    about = (__doc__ or "").partition("\n")[0]
    argparse.ArgumentParser(prog="tcplab clean", description=about).parse_args(arguments)
    try:
        if (left := stale()) and os.geteuid() != 0:
            problem = f"Killed runs have left changes of this machine: {left[0]}."
            raise TcplabError(problem, "sudo ./tcplab clean")
        if left:
            text = "Undoing what killed runs left; their connections may hold a module for some"
            print(f"{text} minutes.", file=sys.stderr)
        sentences = undo_stale() if left else []
        sentences += [f"{place} is removed." for place in scratch.remove_orphans()]
    except TcplabError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    print("\n".join(sentences) or "Killed runs left no changes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
