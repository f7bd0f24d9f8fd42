"""Two kernels compared: what is not known is run, and the result gets a folder of the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.harness.kernels.compared_scripts import compare_scripts
from experiments.harness.kernels.kernel_comparison import (
    KernelComparison,
    KernelPair,
    described,
    points,
    runnable,
)
from experiments.harness.kernels.standing_set import KernelCase
from experiments.harness.running.result_folder import Facts, result_folder
from experiments.harness.running.session import lab_facts
from experiments.harness.running.store import RunFolder
from experiments.harness.sweep.point import origin
from experiments.harness.sweep.point_store import PointStore, results
from experiments.harness.sweep.running_points import PointRunner, Watch, known_and_run
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.ready import built_lab
from topologies.foundation.errors import TcplabError, UsageError

FOLDER = "kernels"
FILE = "comparison.json"


def carry_out(
    kernels: KernelPair,
    cases: Sequence[KernelCase],
    seeds: Sequence[int],
    out: Path,
    way: PointRunner,
    watch: Watch,
    program: Path | None = None,
) -> Path:
    """Run what is not known yet, and return the finished folder with comparison.json.

    With packetdrill's `program` the kernels' own scripts are run as well. What was run is kept in
    any case: the same call goes on. Raises UsageError if the kernels are
    the same, byte for byte.
    """
    facts = {kernel: _facts(kernel) for kernel in kernels}
    _require_two(kernels, facts)
    kept, left_out = runnable(cases, kernels)
    comparison, scripts = KernelComparison(kernels, kept, seeds), dict[str, Any]()

    def write(run: RunFolder, timing: Facts) -> dict[str, Any]:
        content = {
            "id": run.identifier,
            **timing,
            **described(comparison, facts, left_out),
            "scripts": scripts,
        }
        (run.folder / FILE).write_text(json.dumps(content, indent=1) + "\n")
        return {"kind": "kernels", "experiment": "compare", **lab_facts(way.lab), **timing}

    with (
        results(out) as memory,
        result_folder(out / FOLDER, "compare", write) as run,
    ):
        _fill(comparison, way, memory, watch)
        scripts |= _scripts(kernels, program, watch, left_out)
    return run.place


def _fill(comparison: KernelComparison, way: PointRunner, memory: PointStore, watch: Watch) -> None:
    """Run the points that are not known."""
    wanted = points(comparison, origin(way.lab))
    asked = [point for point, _ in wanted.values()]
    for point, record in known_and_run(asked, way, memory, watch):
        comparison.records[wanted[point.key][1], point.seed] = record


def _scripts(
    kernels: KernelPair, program: Path | None, watch: Watch, left_out: list[str]
) -> dict[str, Any]:
    """What became of the kernels' own scripts; nothing if they cannot be run."""
    if program is None:
        return {}
    try:
        return compare_scripts(tuple(kernels), program, watch.note).data()
    except TcplabError as error:
        left_out.append(f"The kernels' own packetdrill scripts are left out: {error.problem}")
        return {}


def _facts(kernel: str) -> dict[str, Any]:
    """What a page says of a kernel."""
    ready = built_lab(kernel)
    return {
        "name": chosen(kernel).name,
        "release": ready.kernel_release,
        "digest": ready.digests["kernel"],
    }


def _require_two(kernels: KernelPair, facts: dict[str, dict[str, Any]]) -> None:
    if facts[kernels.old]["digest"] == facts[kernels.new]["digest"]:
        raise UsageError(
            f"{facts[kernels.old]['name']} and {facts[kernels.new]['name']} are the same kernel,"
            " byte for byte.",
            "Compare it with another; a patch that changes no code changes nothing.",
        )
