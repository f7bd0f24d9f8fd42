"""Two kernels compared: what is not known is run, and the result gets a folder of the store."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import testbed
from experiments.kernels.compared_scripts import compare_scripts
from experiments.kernels.kernel_comparison import (
    KernelComparison,
    KernelPair,
    described,
    points,
    runnable,
)
from experiments.kernels.standing_set import KernelCase
from experiments.running.session import hand_over, lab_facts
from experiments.running.store import new_run
from experiments.sweep.point import origin
from experiments.sweep.point_store import results
from experiments.sweep.running_points import PointRunner, Watch, run_points
from testbed.lab.kernel.kernel_choice import chosen
from testbed.lab.ready import built_lab
from topologies.errors import TcplabError, UsageError

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
    begun, status = time.monotonic(), "interrupted"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with results(out) as memory, new_run(out / FOLDER, "compare") as run:
        try:
            wanted = points(comparison, origin(way.lab))
            known = memory.done(wanted)
            watch.wanted(len(wanted), len(known))
            for key, record in known.items():
                point, place = wanted[key]
                comparison.records[place, point.seed] = record
            missing = [point for key, (point, _) in wanted.items() if key not in known]
            for point, record in run_points(missing, way, memory, watch):
                comparison.records[wanted[point.key][1], point.seed] = record
            scripts = _scripts(kernels, program, watch, left_out)
            status = "complete"
        finally:
            content = {
                "id": run.identifier,
                "tcplab": testbed.VERSION,
                "started": started,
                "status": status,
                "wall_seconds": round(time.monotonic() - begun, 3),
                **described(comparison, facts, left_out),
                "scripts": scripts,
            }
            (run.folder / FILE).write_text(json.dumps(content, indent=1) + "\n")
            manifest = {"kind": "kernels", "experiment": "compare", "status": status}
            folder = run.finish(manifest | lab_facts(way.lab) | {"started": started})
            hand_over(folder)
    return folder


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
