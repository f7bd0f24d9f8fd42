"""`tcplab lab run`: the runs of an assignment, each into the assignment's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from analysis.records.problems import Problems
from analysis.records.run_directory import read_run
from experiments.running.run_options import refuse_kernel
from experiments.running.seed import limits_for
from experiments.running.session import RunRequest, carry_out, choose
from labs.definition.assignment import Assignment
from labs.definition.lab_runs import FOLDER, MODULE, combination_of, run_folder, seeds_of
from labs.definition.lab_spec import LabRun
from testbed.lab.ready import Lab
from testbed.modules.module_build import build_all

_WALL_SECONDS = 600.0


def missing_runs(assignment: Assignment) -> list[LabRun]:
    """The runs that are not done yet."""
    return [run for run in assignment.lab.runs if run_folder(assignment.folder, run.name) is None]


def carry_out_run(
    assignment: Assignment, run: LabRun, testbed: str, ready: Callable[[Iterable[str]], Lab]
) -> Path:
    """Carry one run out and return its directory.

    `ready` gives the lab with the kernels that specs name.
    Raises TcplabError, with what was measured kept.
    """
    module = assignment.folder / MODULE if run.module else None
    combination = combination_of(run, assignment.variant, module)
    testbed_kind = choose(testbed)
    if testbed_kind == "native":
        refuse_kernel(combination.spec)
    lab = ready([combination.spec.kernel]) if testbed_kind == "virtual" else None
    if lab:
        build_all(combination.spec.modules, lab)
    out = assignment.folder / FOLDER / run.name
    request = RunRequest(
        combination.spec,
        combination.parameters,
        seeds_of(run, assignment.variant),
        testbed_kind,
        out,
    )
    wall = max(_WALL_SECONDS, 2 * request.expected_seconds() if testbed_kind == "native" else 0.0)
    request = RunRequest(
        combination.spec,
        combination.parameters,
        request.seeds,
        testbed_kind,
        out,
        limits_for(combination.spec, wall),
    )
    return carry_out(request, lab, lambda _index: lambda _phase, _elapsed: None, _judged)


def _judged(run: Path) -> dict[str, Any]:
    """The verdict on the network, as the manifest keeps it."""
    from analysis.network.network_verdict import judge_network  # polars: a quarter of a second

    return judge_network(read_run(run, Problems())).as_data()
