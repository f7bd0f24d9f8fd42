"""`tcplab lab run` and `tcplab lab shell`: the runs of an assignment, commands typed into hosts.

typed.json records each command with what it printed. Programs are the image's, and virtual time
stands still while a student thinks, so grading repeats the commands and compares."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from analysis.records.json_reader import Problems, UnreadableJson, read_object
from analysis.records.run_directory import read_run
from experiments.cli.shell import TypedCommands
from experiments.programs.start import NetworkOptions, started
from experiments.run.request import RunRequest, choose, default_limits, refuse_kernel
from experiments.run.session import carry_out, ready_lab
from experiments.spec import ExperimentSpec
from experiments.study.grid import Combination
from labs.definition import runs
from labs.definition.answers import OwnParts, chosen_in, parts_of, read_sheet, record
from labs.definition.assignment import ANSWERS, Assignment
from labs.definition.spec import LabRun
from testbed.modules import build_all
from topologies import untrusted
from topologies.data import from_data
from topologies.errors import UsageError
from topologies.notation import json_value


def runs_to_make(assignment: Assignment, again: bool = False) -> Iterator[LabRun]:
    """Yield runs to do, each with its predictions recorded. Raises UsageError at one that waits."""
    for run in assignment.lab.runs:
        if again or not is_there(assignment, run):
            answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
            chosen_in(assignment.lab, run, answers)
            record(assignment.folder, assignment.lab, run, answers)
            yield run


def is_there(assignment: Assignment, run: LabRun) -> bool:
    """Return whether the run is there, with the settings that are chosen now."""
    folder = runs.run_folder(assignment.folder, run.name)
    if folder is None or not run.chosen:
        return folder is not None
    try:
        wanted = runs.combination_of(run, assignment.variant, own_parts(assignment))
        return is_of(folder, wanted.spec)
    except UsageError:
        return False


def own_parts(assignment: Assignment) -> OwnParts:
    answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
    return parts_of(assignment.lab, answers, assignment.folder / runs.MODULE, assignment.folder)


def is_of(folder: Path, wanted: ExperimentSpec) -> bool:
    """Return whether the run in `folder` is of that spec; spec.json has further fields."""
    try:
        content = read_object(folder / "spec.json")
    except UnreadableJson:
        return False  # which read_run tells
    given = {field.name: content.get(field.name) for field in fields(ExperimentSpec)}
    return bool(from_data(ExperimentSpec, given, "spec.json") == wanted)


def carry_out_run(assignment: Assignment, run: LabRun, testbed: str) -> Path:
    """Carry one run out and return its directory. Raises TcplabError; measured files are kept."""
    combination = runs.combination_of(run, assignment.variant, own_parts(assignment))
    kind, why_virtual = choose(testbed)
    if kind == "native":
        refuse_kernel(combination.spec)
    request = RunRequest(
        combination.spec,
        combination.parameters,
        runs.seeds_of(run, assignment.variant),
        kind,
        assignment.folder / runs.FOLDER / run.name,
        default_limits(combination.spec, kind),
        why_virtual=why_virtual,
    )
    print(f"{run.name}: {run.experiment}. {request.place}", file=sys.stderr)
    lab = ready_lab([combination.spec.kernel]) if kind == "virtual" else None
    if lab:
        build_all(combination.spec.modules, lab)

    def judged(run: Path) -> dict[str, Any]:
        from analysis.network.verdict import judge_network  # NumPy takes its time

        return judge_network(read_run(run, Problems())).as_data()

    return carry_out(request, lab, judged=judged)


LARGEST = 1 << 20  # bytes
_MOST_SESSIONS = 20


@dataclass
class TypedSession:
    """Lines that were typed into the network of a run, each with what it printed."""

    run: str
    lines: list[tuple[str, str]] = field(default_factory=list)


def network_of(assignment: Assignment, name: str) -> Combination:
    """Return the combination of a run, by default the first. Raises UsageError."""
    known = {run.name: run for run in assignment.lab.runs}
    run = known.get(name or assignment.lab.runs[0].name)
    if run is None:
        raise UsageError(f"There is no run '{name[:40]}'.", f"There are: {', '.join(known)}.")
    own = own_parts(assignment)
    if not runs.is_possible(run, own):
        raise UsageError(f"The run {run.name} needs your settings.", "Write them first.")
    return runs.combination_of(run, assignment.variant, own)


def open_shell(
    assignment: Assignment, name: str, lines: Iterable[str], show: Callable[[str], None]
) -> int:
    """Obey lines in the network of a run, and record them; return their number."""
    sessions = read_sessions(assignment.folder)
    if len(sessions) >= _MOST_SESSIONS:
        problem = f"{runs.TYPED} holds {len(sessions)} sessions."
        raise UsageError(problem, "Delete the file to begin again.")
    session = TypedSession(name or assignment.lab.runs[0].name)
    try:
        for told in obeyed(assignment, session.run, lines, show):
            session.lines.append(told)
    finally:
        if session.lines:
            content = msgspec.to_builtins([*sessions, session])
            (assignment.folder / runs.TYPED).write_text(json.dumps(content, indent=1) + "\n")
    return len(session.lines)


def obeyed(
    assignment: Assignment, name: str, lines: Iterable[str], show: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    spec = network_of(assignment, name).spec
    sysctls = dict(spec.conditions[0].sysctls)
    options = NetworkOptions(project="/tmp", image=True, kernel=spec.kernel, sysctls=sysctls)
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
        content = untrusted.content(folder, runs.TYPED, LARGEST)
    except FileNotFoundError:
        return []
    except (OSError, untrusted.StrangeFile) as error:
        raise UsageError(f"{runs.TYPED} cannot be read ({error}).", "Delete it.") from None
    try:
        return msgspec.convert(json_value(content), list[TypedSession])[:_MOST_SESSIONS]
    except ValueError as error:
        raise UsageError(f"{runs.TYPED} is no record ({error}).", "Delete it.") from None


def typed_differences(assignment: Assignment, _tell: object = None) -> list[str]:
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
