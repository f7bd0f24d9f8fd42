"""The results of a sweep, written into its folder: rows.csv, sweep.json, statistics and logs.

Finished points of a sweep, and their table rows.csv: a row for each flow, run and condition.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from analysis.measures.metrics import Row, columns
from analysis.measures.results import value_of
from analysis.measures.sweep_folder import BINS, GROUP, ROWS, SERIES, SERIES_HEAD, SERIES_VERSION
from experiments.run.report import GOOD
from experiments.spec import ExperimentSpec
from experiments.study.catalogue import part
from experiments.study.grid import Combination, Factor
from experiments.study.points import command, published_with_run
from experiments.study.points import described as target_row
from experiments.study.published import Target, published_study
from experiments.sweep.definition import Plan, described
from experiments.sweep.point import Point, Record
from experiments.sweep.store import PointStore

NETWORK = "network"
"""The column of rows.csv with the verdict, and the place of verdicts in sweep.json and records."""
_AT_ONCE = 200  # records in memory


@dataclass(frozen=True)
class EndedPoints:
    """Points in the order of a sweep's table. Their records stay on the disk until each pass.

    A point that another command removed from the store meanwhile is left out.
    """

    memory: PointStore
    points: Sequence[Point]

    def __iter__(self) -> Iterator[tuple[Point, Record]]:
        return self._read(self.memory.records)

    @property
    def series(self) -> Iterator[tuple[Point, Record]]:
        """The series of the points that have any of this version."""
        kept = self._read(self.memory.series)
        return (pair for pair in kept if pair[1]["version"] == SERIES_VERSION)

    def _read(
        self, read: Callable[[Iterable[str]], dict[str, Record]]
    ) -> Iterator[tuple[Point, Record]]:
        for first in range(0, len(self.points), _AT_ONCE):
            chosen = self.points[first : first + _AT_ONCE]
            records = read(point.key for point in chosen)
            yield from ((point, records[point.key]) for point in chosen if point.key in records)

    @cached_property
    def statuses(self) -> dict[str, str]:
        """The status of each point by its key."""
        return self.memory.statuses(point.key for point in self.points)

    @cached_property
    def usage(self) -> Counter[str]:
        """The sums over all points of clock_seconds, cpu_seconds and the like."""
        total: Counter[str] = Counter()
        for _, record in self:
            total.update(record.get("usage", {}))
        return total

    @property
    def proved(self) -> EndedPoints:
        """The points whose conditions are known to have held: only they have results."""
        return self._having(lambda point: self.statuses.get(point.key) == "complete")

    @property
    def unproved(self) -> EndedPoints:
        """The other points: they failed, or do not show that their conditions held."""
        return self._having(lambda point: self.statuses.get(point.key) != "complete")

    def by_combination(self) -> Iterator[tuple[Combination, EndedPoints]]:
        """Return the points of each combination that has any."""
        for _, group in groupby(self.points, key=lambda point: id(point.combination)):
            points = list(group)
            yield points[0].combination, EndedPoints(self.memory, points)

    def _having(self, wanted: Callable[[Point], bool]) -> EndedPoints:
        return EndedPoints(self.memory, list(filter(wanted, self.points)))


@dataclass(frozen=True)
class SeedRows:
    """Each point's seed and rows; every pass reads them again."""

    points: EndedPoints

    def __iter__(self) -> Iterator[tuple[int, list[Row]]]:
        return ((point.seed, record["rows"]) for point, record in self.points)


def verdict_of(record: Record) -> str | None:
    """Return the verdict on a point's network; None for a point that was not judged."""
    verdict: str | None = record.get(NETWORK, {}).get("verdict")
    return verdict


def counted_verdicts(records: Iterable[Record]) -> dict[str, int]:
    """Count the points with each verdict on their network."""
    return Counter(verdict for record in records if (verdict := verdict_of(record)))


def write_rows(
    folder: Path, factors: Sequence[Factor], points: Iterable[tuple[Point, Record]], metric: str
) -> None:
    """Write the rows of proved points, in the order of `points`. A missing value is empty.

    The last column is that of `metric` if it is an expression.
    """
    kinds: dict[str, type] = {"point": str}
    for factor in factors:  # a quantity has a column for its text and one for its amount
        kinds |= {factor.name: str} | ({factor.column: float} if _is_quantity(factor) else {})
    kinds |= {"condition": str, "flow": str, GROUP: str, "seed": int, NETWORK: str}
    kinds |= dict.fromkeys([*columns(), metric], float)
    with (folder / ROWS).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kinds)
        for row in _table_rows(factors, points):
            cells = ((row.get(name), kind) for name, kind in kinds.items())
            writer.writerow([None if value is None else kind(value) for value, kind in cells])


def write_series(folder: Path, factors: Sequence[Factor], points: EndedPoints) -> None:
    """Write the flows of proved points over time: a row for each line and quantity."""
    names = [factor.name for factor in factors]
    with (folder / SERIES).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["point", *names, "seed", *SERIES_HEAD, *range(1, BINS + 1)])
        for point, record in points.series:
            values = dict(point.combination.values)
            head = [point.key, *(values[name] for name in names), point.seed]
            writer.writerows([*head, *row] for row in record["rows"])


def _table_rows(
    factors: Sequence[Factor], points: Iterable[tuple[Point, Record]]
) -> Iterator[dict[str, Any]]:
    amounts = {
        factor.column: (factor.name, {value: factor.number(value) for value in factor.values})
        for factor in factors
        if _is_quantity(factor)
    }
    for point, record in points:
        values = dict(point.combination.values)
        own = {"point": point.key, "seed": point.seed, NETWORK: verdict_of(record)}
        own |= {factor.name: values[factor.name] for factor in factors}
        own |= {column: of[values[name]] for column, (name, of) in amounts.items()}
        yield from ({**own, **row} for row in record["rows"])


def _is_quantity(factor: Factor) -> bool:
    return factor.column != factor.name


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
            # a record's own sentences begin so (experiments.run.seed.judge)
            givers[warning.removeprefix(f"Seed {point.seed}")].append(point)
    return [_warning(warning, of) for warning, of in givers.items()]


def _warning(warning: str, givers: list[Point]) -> str:
    first = f"{givers[0].combination}, seed {givers[0].seed}"
    if len(givers) == 1:
        return f"{first[0].upper()}{first[1:]}{warning}"
    return f"{len(givers):,} points, the first {first}{warning}"


def taken(target: Target, condition: str | None, runs: Iterable[Iterable[Row]]) -> list[float]:
    """Return a value of each run's rows under this condition, in the target's unit.

    Runs without a value are left out.
    """
    chosen = ([row for row in rows if row["condition"] == condition] for rows in runs)
    values = (value_of(rows, target.metric, target.flow, target.among) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]


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
