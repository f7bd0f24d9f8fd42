"""The results of a sweep, written into its folder: rows.csv, sweep.json, statistics and logs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.harness.definition.catalogue import part
from experiments.harness.sweep import network_verdicts, point_warnings, row_table
from experiments.harness.sweep.ended_points import EndedPoints, SeedRows
from experiments.harness.sweep.plan import Plan, described
from experiments.harness.sweep.point import Point, Record
from experiments.harness.sweep.published_values import published_of


def write_results(
    folder: Path, plan: Plan, ended: EndedPoints, wanted: int, reused: int, facts: dict[str, Any]
) -> None:
    """Write what these points gave, of so many that were wanted and so many that were known.

    `facts` go into sweep.json. Only a few records are in memory at a time.
    """
    row_table.write(folder, plan.factors, ended.proved)
    _keep_statistics(folder, plan, ended)
    statuses = Counter(ended.statuses.values())
    networks = network_verdicts.counted(record for _, record in ended)
    content = {
        "format": 1,
        **described(plan),
        **facts,
        "seeds": sorted({point.seed for point in ended.points}),
        "failures": [_failure(folder, plan, *pair) for pair in ended.unproved],
        "warnings": [
            *network_verdicts.warnings(ended, networks),
            *point_warnings.warnings(ended),
        ],
        network_verdicts.NETWORK: networks,
        "points": {
            "wanted": wanted,
            "done": statuses["complete"],
            "reused": reused,
            "failed": statuses["failed"],
            "unproved": statuses["unproved"],
        },
        "virtual_seconds": round(ended.usage["clock_seconds"], 3),
        "cpu_seconds": round(ended.usage["cpu_seconds"], 2),
        "published": published_of(
            (combination.spec, SeedRows(points))
            for combination, points in ended.proved.by_combination()
        ),
    }
    (folder / "sweep.json").write_text(json.dumps(content, indent=1) + "\n")


def _keep_statistics(folder: Path, plan: Plan, ended: EndedPoints) -> None:
    """The statistics files of all runs if the study keeps any. The names say what is varied."""
    module = part(plan.named.name, "statistics_file")
    if module is None:
        return
    for point, record in ended:
        values = dict(point.combination.values)
        varied = {factor.name: values[factor.name] for factor in plan.factors}
        for condition, content in record.get("statistics", {}).items():
            file = folder / module.file_name(condition, varied, point.seed)
            file.parent.mkdir(exist_ok=True)
            file.write_text(content)


def _failure(folder: Path, plan: Plan, point: Point, record: Record) -> dict[str, Any]:
    log = f"failures/{point.key[:16]}.log"
    (folder / log).parent.mkdir(exist_ok=True)
    (folder / log).write_text(f"{record['problem']}\n\n{record['log']}\n")
    return {
        "factors": dict(point.combination.values),
        "seed": point.seed,
        "problem": record["problem"],
        "log": log,
        "repeat": plan.repeat(point.combination, point.seed),
    }
