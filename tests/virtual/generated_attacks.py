"""Every system call with many values of its arguments, made from inside of each sandbox.

A small program (attacker.c) takes the place of the lab kernel, so it may do what a module may. What
the filter lets through is compared with a table that people have read (generated_attacks.txt), and
this computer with what it was before.

    python -m tests.virtual.generated_attacks            # print the table of this machine
    python -m tests.virtual.generated_attacks --update   # keep it, to be read and committed
"""

import argparse
import errno
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from testbed.host.job_archive import job_file
from testbed.host.packages import COMPILER, install_missing
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits, started
from testbed.lab.ready import Lab, lab
from testbed.virtual.processes import GuestProcesses
from testbed.virtual.sandbox import Bubblewrap, Sandbox, Supervised, ordinary_user
from tests.virtual.attack_values import (
    AREA,
    AREA_SIZE,
    ITSELF,
    NAMES,
    AttackCall,
    Dictionary,
    all_calls,
)
from tests.virtual.host_observables import held, open_to_others, targets

HERE = Path(__file__).resolve().parent
TABLE = HERE / "generated_attacks.txt"
DONE, OPENED, SIGNALLED, BLOCKED, TRAPPED, LOST = 0, 251, 252, 253, 254, 255
"""Outcomes as attacker.c writes them; the others are errnos."""
_EVERYWHERE = "in every seal"
HOARDED = 40  # times that a call is made which gives something
_MEMORY = 256  # MiB
_PATIENCE = 900.0  # seconds, on a busy machine too
_MOST_ENDS = 50  # guests that may end by a call of theirs
_GIVING = {"openat", "socketpair", "mmap", "memfd_create", "epoll_create1", "signalfd4"}
_REFUSED = {"chmod": 1, "fchmod": 1, "kill": 0, "ptrace": 0}
"""Calls that the filter may answer with EPERM, and the argument for whose value it does."""
_COMMANDS = {"fcntl": 1, "prctl": 0, "ptrace": 0, "seccomp": 0}
"""Calls with the argument that says what they do."""
_UNFILTERED = {335, 336}
"""Linux 6.14 asks no filter about uretprobe and uprobe, which end who calls them by SIGILL."""


@dataclass(frozen=True)
class Seal:
    """A sandbox with one of the two ways in which lab kernels rule their processes."""

    kind: type[Sandbox]
    way: str

    @property
    def name(self) -> str:
        return f"{self.kind.name} {self.way}"


SEALS = tuple(Seal(kind, way) for way in ("seccomp", "ptrace") for kind in (Bubblewrap, Supervised))


@dataclass
class Attacked:
    """What came of all calls in one seal."""

    calls: Sequence[AttackCall]
    outcomes: bytes
    before: dict[str, Any]
    after: dict[str, Any]
    left: list[str]  # what is in the guest's folder that nobody else may find there
    held: set[str]
    seconds: float
    outsider: int = 0  # the number of a process outside of the guest
    ends: list[AttackCall] = field(default_factory=list)  # calls at which the attacker itself ended

    def let_through(self) -> Iterator[tuple[AttackCall, int]]:
        """The calls that the filter does not end, with their outcomes."""
        for call, outcome in zip(self.calls, self.outcomes, strict=True):
            if outcome != TRAPPED and call.number not in _UNFILTERED:
                yield call, outcome

    def table(self) -> list[str]:
        """A line for each call or command of it: how many passed, and with which values alone."""
        tried, through = Counter(map(_command, self.calls)), Counter[str]()
        values: dict[str, list[AttackCall]] = {}
        for call, outcome in self.let_through():
            through[_command(call)] += 1
            refused = outcome == errno.EPERM and NAMES.get(call.number) in _REFUSED
            values.setdefault(_command(call), []).extend([] if refused else [call])
        return [
            f"{command}: {through[command]} of {tried[command]}"
            + "".join(self._values(command, calls))
            for command, calls in values.items()
        ]

    def _values(self, command: str, passed: Sequence[AttackCall]) -> Iterator[str]:
        """The values of those arguments of which some value is never let through."""
        every = [call for call in self.calls if _command(call) == command]
        name = NAMES.get(every[0].number)
        places = range(len(every[0].arguments)) if name else ()
        for at in (_REFUSED[name],) if name in _REFUSED else places:
            found = {call.arguments[at] for call in passed}
            if found != {call.arguments[at] for call in every}:
                yield f"; {at}: {self._words(found)}"

    def _words(self, values: set[int]) -> str:
        """Values as they are on every machine."""
        names = {ITSELF: "itself", self.outsider: "outsider", -self.outsider: "-outsider"}
        memory = {value: "address" for value in values if AREA <= value < AREA + AREA_SIZE}
        words = {names.get(value) or memory.get(value) or f"{value:#x}" for value in values}
        return " ".join(sorted(words, key=lambda word: (len(word), word))) or "none"

    def counts(self) -> dict[str, int]:
        """How the calls ended, for a person."""
        names = {TRAPPED: "ended by the filter", DONE: "done", BLOCKED: "waited", LOST: "lost"}
        names[OPENED] = "opened to others"
        refused = (errno.EPERM, errno.EACCES)
        kinds = Counter(
            names.get(outcome, "refused" if outcome in refused else "failed")
            for outcome in self.outcomes
        )
        return {"calls": len(self.calls), **kinds}


def attacker(folder: Path) -> Path:
    """The compiled program, for every user to run."""
    install_missing(COMPILER)
    program = folder / "attacker"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-static-pie", "-o", str(program)]
    subprocess.run([*command, str(HERE / "attacker.c")], check=True)
    return program


def attacked(seal: Seal, confine: Path) -> Attacked:
    """Make all calls in this seal, then hoard what some of them give."""
    user = (ordinary_user() or (os.geteuid(), os.getegid()))[0]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder, out = Path(name), Path(name) / "out"
        folder.chmod(0o755)
        for inner in (out, folder / "targets", folder / "lab"):
            inner.mkdir()
        os.chown(out, user, -1)
        files = _LabFiles(folder / "lab", attacker(folder / "lab"), confine, user)
        taken = set().union(*Dictionary([], [], []).values.values())
        with targets(folder / "targets", out, user, taken) as outside:
            known = Dictionary([*outside.paths], [outside.process.pid], outside.names())
            calls = all_calls(known)
            files.write(known, [])
            before = {**outside.observed(), "lab": files.observed()}
            outcomes, ends = _all_outcomes(seal, files, out, known, calls)
            done = Attacked(calls, outcomes, before, {}, [], set(), 0.0, outside.process.pid, ends)
            giving = [
                call
                for call, outcome in done.let_through()
                if outcome == DONE and NAMES.get(call.number) in _GIVING
            ]
            done.held = _hoarded(seal, files, out, known, giving)
            done.after = {**outside.observed(), "lab": files.observed()}
            out.chmod(0o755)
            done.left = open_to_others(out)
    done.seconds = time.monotonic() - begun
    return done


@dataclass(frozen=True)
class _LabFiles:
    """The files that a guest reads, here the attacker's; they belong to the guest's user."""

    folder: Path
    program: Path
    confine: Path
    user: int

    def write(self, known: Dictionary, calls: Sequence[AttackCall]) -> None:
        image = known.image.content
        packed = b"".join(call.packed() for call in calls)
        (self.folder / "list").write_bytes(
            struct.pack("=II", len(calls), len(image)) + image + packed
        )
        (self.folder / "init").write_bytes(b"read only")
        (self.folder / "init").chmod(0o644)
        for path in self.folder.iterdir():
            os.chown(path, self.user, -1)

    def observed(self) -> list[tuple[Any, ...]]:
        """All but the list, which is written again and again."""
        files = [self.program, self.folder / "init"]
        states = [file.stat() for file in files if file.exists()]
        return [(state.st_mode, state.st_size, state.st_uid) for state in states]

    def lab(self, seal: Seal) -> Lab:
        files = {"kernel": self.program, "init": self.folder / "init", "image": self.confine}
        way = seal.way == "seccomp"
        return cast("Lab", SimpleNamespace(seccomp=way, confine=self.confine, **files))


@contextmanager
def _guest(
    seal: Seal, files: _LabFiles, out: Path, words: Sequence[str], told: Path
) -> Iterator[Any]:
    """The attacker in its sandbox, with its standard output in the file `told`."""
    with (
        scratch() as folder,
        job_file(b"") as job,
        told.open("wb") as console,
        GuestProcesses(seal.kind.end) as processes,
    ):
        limits = Limits(_PATIENCE, _MEMORY)
        code = files.folder / "list"
        place = seal.kind(
            files.lab(seal),
            out,
            code,
            job.fileno(),
            processes.report,
            ordinary_user(),
            limits,
            folder,
        )
        command = [*place.command(), "/lab/linux", seal.way, *words]
        descriptors = [job.fileno(), processes.report]
        with started(command, console, descriptors) as process, processes.ended():
            processes.started()
            yield SimpleNamespace(process=process, processes=processes)


def _all_outcomes(
    seal: Seal, files: _LabFiles, out: Path, known: Dictionary, calls: Sequence[AttackCall]
) -> tuple[bytes, list[AttackCall]]:
    """One byte for each call. A guest that ends by a call of its own is started again behind it."""
    files.write(known, calls)
    told, outcomes, ends = files.folder.parent / "told", b"", []
    while len(outcomes) < len(calls):
        with _guest(seal, files, out, [str(len(outcomes))], told) as guest:
            guest.process.wait(_PATIENCE)
        heard = told.read_bytes()
        outcomes += heard
        if len(outcomes) < len(calls):
            ends.append(calls[len(outcomes)])
            outcomes += bytes([SIGNALLED])
            assert len(ends) < _MOST_ENDS, (seal.name, heard[-300:], ends)
    return outcomes[: len(calls)], ends


def _hoarded(
    seal: Seal, files: _LabFiles, out: Path, known: Dictionary, calls: Sequence[AttackCall]
) -> set[str]:
    """What the guest holds when it has made each call again and again."""
    files.write(known, calls)
    told = files.folder.parent / "told"
    with _guest(seal, files, out, ["0", str(HOARDED)], told) as guest:
        deadline = time.monotonic() + _PATIENCE
        while told.read_bytes() != b"h":
            assert guest.process.poll() is None and time.monotonic() < deadline, told.read_bytes()
            time.sleep(0.05)
        guest.processes.listen()
        return held(guest.processes.pid)


def report(done: dict[str, Attacked]) -> str:
    """The counts of each seal, with its run time."""
    lines = [
        f"{name}: {json.dumps(each.counts())}, {each.seconds:.0f} s" for name, each in done.items()
    ]
    return "\n".join(lines)


def golden(done: dict[str, Attacked]) -> str:
    """What each seal lets through; equal lines once, with the names of their seals."""
    seals: dict[str, list[str]] = {}
    for name, each in done.items():
        for line in each.table():
            seals.setdefault(line, []).append(name)
    everywhere = [line for line, names in seals.items() if len(names) == len(done)]
    lines = [f"# {_EVERYWHERE}", *everywhere]
    for name in done:
        own = [line for line, names in seals.items() if name in names and line not in everywhere]
        lines += [f"# {name}", *own]
    return "\n".join(lines) + "\n"


def expected(seal: Seal) -> set[str]:
    """The lines of the table that people have read, for this seal."""
    parts = re.split(r"^# (.*)\n", TABLE.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {line for name in (_EVERYWHERE, seal.name) for line in sections[name].splitlines()}


def _command(call: AttackCall) -> str:
    """The call's name, with the word for what it does if it has commands."""
    name = NAMES.get(call.number, f"call {call.number}")
    return f"{name} {call.arguments[_COMMANDS[name]]:#x}" if name in _COMMANDS else name


def main(words: Sequence[str]) -> None:
    """Attack all seals; print the counts and the table, or keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--update", action="store_true", help="Write the table.")
    chosen = parser.parse_args(words)
    confine = lab().confine
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        copy = Path(shutil.copy(confine, name))
        done = {seal.name: attacked(seal, copy) for seal in SEALS}
    print(report(done))
    if chosen.update:
        TABLE.write_text(golden(done))
    else:
        print(golden(done))


if __name__ == "__main__":
    main(sys.argv[1:])
