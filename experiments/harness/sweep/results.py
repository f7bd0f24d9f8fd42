"""The results of a sweep, written into its folder: rows.csv, sweep.json, statistics and logs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from analysis.measures.metrics import Row
from experiments.harness.definition.catalogue import part
from experiments.harness.published.points import command, published_with_run, taken
from experiments.harness.published.points import described as target_row
from experiments.harness.published.target import Target, published_study
from experiments.harness.running.report import GOOD
from experiments.harness.sweep.plan import Plan, described
from experiments.harness.sweep.point import Point, Record
from experiments.harness.sweep.table import (
    NETWORK,
    EndedPoints,
    SeedRows,
    counted_verdicts,
    verdict_of,
    write_rows,
    write_series,
)
from experiments.spec import ExperimentSpec

Cell = tuple[ExperimentSpec, Iterable[tuple[int, list[Row]]]]
"""The spec of a combination, and each seed with the rows of its proved run."""


def write_results(
    folder: Path, plan: Plan, ended: EndedPoints, wanted: int, reused: int, facts: dict[str, Any]
) -> None:
    """Write the results of the points that ended, of all `wanted`; `reused` were known before.

    `facts` go into sweep.json. Only a few records are in memory at a time.
    """
    write_rows(folder, plan.factors, ended.proved, plan.sweep.metric)
    write_series(folder, plan.factors, ended.proved)
    _keep_statistics(folder, plan, ended)
    statuses = Counter(ended.statuses.values())
    networks = counted_verdicts(record for _, record in ended)
    content = {
        "format": 1,
        **described(plan),
        **facts,
        "seeds": sorted({point.seed for point in ended.points}),
        "failures": [_failure(folder, plan, *pair) for pair in ended.unproved],
        "warnings": [
            *_warnings_of_networks(ended, networks),
            *_warnings_of_points(ended),
        ],
        NETWORK: networks,
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
    """Write the statistics files of all runs if the study keeps any, with factors in the names."""
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


def _warnings_of_networks(
    points: Iterable[tuple[Point, Record]], counts: Mapping[str, int]
) -> list[str]:
    """Return a sentence if the network of any point is not good, with the worst and its reason.

    `counts` are those of the points' verdicts.
    """
    doubtful = (pair for pair in points if verdict_of(pair[1]) not in (None, GOOD))
    worst = min(doubtful, key=lambda pair: verdict_of(pair[1]) or "", default=None)
    if worst is None:
        return []
    point, record = worst
    others = {verdict: number for verdict, number in counts.items() if verdict != GOOD}
    listed = ", ".join(f"{number:,} {verdict}" for verdict, number in others.items())
    return [
        f"The network of {sum(others.values()):,} of {sum(counts.values()):,} points is not good"
        f" ({listed}): see column {NETWORK} of rows.csv. For example {point.combination}, seed"
        f" {point.seed}: {record[NETWORK]['reasons'][0]}"
    ]


def _warnings_of_points(points: Iterable[tuple[Point, Record]]) -> list[str]:
    """Each warning once, in the order of the points, with how many points give it."""
    givers: dict[str, list[Point]] = defaultdict(list)
    for point, record in points:
        for warning in record["warnings"]:
            # a record's own sentences begin so (experiments.harness.running.seed.judge)
            givers[warning.removeprefix(f"Seed {point.seed}")].append(point)
    return [_warning(warning, of) for warning, of in givers.items()]


def _warning(warning: str, givers: list[Point]) -> str:
    first = f"{givers[0].combination}, seed {givers[0].seed}"
    if len(givers) == 1:
        return f"{first[0].upper()}{first[1:]}{warning}"
    return f"{len(givers):,} points, the first {first}{warning}"


def published_of(cells: Iterable[Cell]) -> dict[str, Any]:
    """Return `published` of sweep.json: the rows of a reproduction, from proved points.

    The rows are of the short forms if no point was run as published. Without a point that has the
    settings of a published number there are no rows.
    """
    measured = list(cells)
    for quick in (False, True):
        rows = [row for row in _rows(measured, quick).values() if row["today"] or row["period"]]
        if rows:
            note = published_study(measured[0][0].name).short_form if quick else ""
            return {"note": note, "rows": rows}
    return {}


def _rows(cells: Iterable[Cell], quick: bool) -> dict[Target, dict[str, Any]]:
    """Return a row for each target; its two times may be of points with different networks."""
    rows: dict[Target, dict[str, Any]] = {}
    for spec, runs in cells:
        matched = [
            (match, rows.setdefault(match.target, _empty(match.target)))
            for match in published_with_run(spec, quick)
        ]
        seeds: set[int] = set()
        for seed, measured in runs if matched else ():
            seeds.add(seed)
            for match, row in matched:
                row["today"] += taken(match.target, match.today, [measured])
                row["period"] += taken(match.target, match.period, [measured])
        for _, row in matched:
            row["seeds"] = sorted({*row["seeds"], *seeds})
    return rows


def _empty(target: Target) -> dict[str, Any]:
    empty = {"today": [], "period": [], "seeds": [], "command": command(target)}
    return target_row(target) | empty
