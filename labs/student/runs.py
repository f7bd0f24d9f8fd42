"""`tcplab lab run`: the runs of an assignment, each into the assignment's folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from analysis.records.json_reader import Problems, UnreadableJson, read_object
from analysis.records.run_directory import read_run
from experiments.harness.running.lab import ready_lab
from experiments.harness.running.request import RunRequest, choose, default_limits, refuse_kernel
from experiments.harness.running.session import carry_out
from experiments.spec import ExperimentSpec
from labs.definition.answers import OwnParts, chosen_in, parts_of, read_sheet, record
from labs.definition.assignment import ANSWERS, Assignment
from labs.definition.runs import FOLDER, MODULE, combination_of, run_folder, seeds_of
from labs.definition.spec import LabRun
from testbed.modules.module_build import build_all
from topologies.foundation.data import from_data
from topologies.foundation.errors import UsageError


def runs_to_make(assignment: Assignment, again: bool = False) -> Iterator[LabRun]:
    """Yield the runs that are not there yet, or all, each as soon as what it needs is written.

    What was predicted of a run is recorded before it is handed out. Raises UsageError at the first
    run that waits for a prediction or for settings.
    """
    for run in assignment.lab.runs:
        if again or not is_there(assignment, run):
            answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
            chosen_in(assignment.lab, run, answers)
            record(assignment.folder, assignment.lab, run, answers)
            yield run


def is_there(assignment: Assignment, run: LabRun) -> bool:
    """Return whether the run is there, with the settings that are chosen now."""
    folder = run_folder(assignment.folder, run.name)
    if folder is None or not run.chosen:
        return folder is not None
    try:
        return is_of(folder, combination_of(run, assignment.variant, own_parts(assignment)).spec)
    except UsageError:
        return False


def own_parts(assignment: Assignment) -> OwnParts:
    """Return the module in the assignment's folder, and the settings that its answers choose."""
    answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
    return parts_of(assignment.lab, answers, assignment.folder / MODULE, assignment.folder)


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
    combination = combination_of(run, assignment.variant, own_parts(assignment))
    kind, why_virtual = choose(testbed)
    if kind == "native":
        refuse_kernel(combination.spec)
    request = RunRequest(
        combination.spec,
        combination.parameters,
        seeds_of(run, assignment.variant),
        kind,
        assignment.folder / FOLDER / run.name,
        default_limits(combination.spec, kind),
        why_virtual=why_virtual,
    )
    print(f"{run.name}: {run.experiment}. {request.place}", file=sys.stderr)
    lab = ready_lab([combination.spec.kernel]) if kind == "virtual" else None
    if lab:
        build_all(combination.spec.modules, lab)
    return carry_out(request, lab, judged=_judged)


def _judged(run: Path) -> dict[str, Any]:
    """Return the verdict on the network, as the manifest keeps it."""
    from analysis.network.verdict import judge_network  # NumPy takes its time

    return judge_network(read_run(run, Problems())).as_data()
