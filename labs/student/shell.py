"""`tcplab lab shell`: commands typed into the hosts of a student's network.

typed.json records each with what it printed. Programs are the image's, and virtual time stands
still while a student thinks, so grading repeats the commands and compares what they print.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from experiments.harness.definition.grid import Combination
from experiments.programs.start import NetworkOptions, started
from experiments.programs.typed import TypedCommands
from labs.definition.assignment import Assignment
from labs.definition.runs import TYPED, combination_of, is_possible
from labs.student.runs import own_parts
from topologies.foundation import untrusted
from topologies.foundation.errors import UsageError

LARGEST = 1 << 20  # bytes
_MOST_SESSIONS = 20


@dataclass
class TypedSession:
    """Lines that were typed into the network of a run, each with what it printed."""

    run: str
    lines: list[tuple[str, str]] = field(default_factory=list)


def network_of(assignment: Assignment, name: str) -> Combination:
    """Return the combination of a run, by default the first. Raises UsageError."""
    runs = {run.name: run for run in assignment.lab.runs}
    run = runs.get(name or assignment.lab.runs[0].name)
    if run is None:
        raise UsageError(f"There is no run '{name[:40]}'.", f"There are: {', '.join(runs)}.")
    own = own_parts(assignment)
    if not is_possible(run, own):
        raise UsageError(f"The run {run.name} needs your settings.", "Write them first.")
    return combination_of(run, assignment.variant, own)


def open_shell(
    assignment: Assignment, name: str, lines: Iterable[str], show: Callable[[str], None]
) -> int:
    """Obey lines in the network of a run, and record them; return their number."""
    sessions = read_sessions(assignment.folder)
    if len(sessions) >= _MOST_SESSIONS:
        problem = f"{TYPED} holds {len(sessions)} sessions."
        raise UsageError(problem, "Delete the file to begin again.")
    session = TypedSession(name or assignment.lab.runs[0].name)
    try:
        for told in obeyed(assignment, session.run, lines, show):
            session.lines.append(told)
    finally:
        if session.lines:
            content = msgspec.to_builtins([*sessions, session])
            (assignment.folder / TYPED).write_text(json.dumps(content, indent=1) + "\n")
    return len(session.lines)


def obeyed(
    assignment: Assignment, name: str, lines: Iterable[str], show: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    """Obey lines in a new network of a run, and yield each with what it printed."""
    spec = network_of(assignment, name).spec
    options = NetworkOptions(
        project="/tmp", image=True, kernel=spec.kernel, sysctls=dict(spec.conditions[0].sysctls)
    )
    printed: list[str] = []

    def hear(text: str) -> None:
        printed.append(text)
        show(text)

    with started(spec.topology, assignment.variant.seed, None, options) as network:
        commands = TypedCommands(network, hear)
        for line in filter(None, map(str.strip, lines)):
            printed.clear()
            commands.obey_all([line])
            yield line, "".join(printed)
            if network.over or line in ("exit", "quit"):
                return


def read_sessions(folder: Path) -> list[TypedSession]:
    """Return what was recorded; none if there is no record. Raises UsageError for a broken one."""
    try:
        content = untrusted.content(folder, TYPED, LARGEST)
    except FileNotFoundError:
        return []
    except (OSError, untrusted.StrangeFile) as error:
        raise UsageError(f"{TYPED} cannot be read ({error}).", "Delete it.") from None
    try:
        return msgspec.json.decode(content, type=list[TypedSession])[:_MOST_SESSIONS]
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{TYPED} is no record ({error}).", "Delete it.") from None


def differences(assignment: Assignment, _tell: object = None) -> list[str]:
    """Repeat what was typed, and return a sentence for each line that prints something else."""
    found: list[str] = []
    for session in read_sessions(assignment.folder):
        typed = [line for line, _ in session.lines]
        repeated = obeyed(assignment, session.run, typed, lambda _: None)
        for (line, before), (_, now) in zip(session.lines, repeated, strict=False):
            if before != now:
                found.append(f"'{line[:60]}' in {session.run} prints something else when repeated.")
                break
    return found
