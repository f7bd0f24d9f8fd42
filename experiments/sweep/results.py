"""A sweep over a grid: which seeds it needs, the files of its folder, and sweeps from Python."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from analysis.measures import sweep_folder
from analysis.measures.metrics import Row, columns
from analysis.measures.selection import standing
from analysis.records.json_reader import Problems
from analysis.statistics.paired_tests import precision
from analysis.table import ColumnTable
from experiments.run.report import GOOD
from experiments.study.grid import Combination, Factor
from experiments.sweep import run
from experiments.sweep.definition import Plan, SweepDefinition, described, from_mapping, plan
from experiments.sweep.point import Point, Record
from experiments.sweep.reproduce import published_of
from experiments.sweep.store import take_known
from testbed.lab.ready import lab_for

if TYPE_CHECKING:
    import polars

_BATCH = 10  # seeds between two looks at the intervals, if --until decides


@dataclass(frozen=True)
class GridSweep:
    """The preset of a sweep over a grid (experiments.sweep.run.Preset)."""

    plan: Plan
    kind: ClassVar[str] = "sweep"
    shelf: ClassVar[str] = "sweeps"
    file: ClassVar[str] = "sweep.json"

    @property
    def label(self) -> str:
        return self.plan.named.name

    def about(self, runs: run.PointRuns) -> dict[str, Any]:
        seeds = sorted({point.seed for point in runs.points.values()})
        return {"experiment": self.label, "claim": self.plan.named.claim, "seeds": seeds}

    def fill(self, runs: run.PointRuns) -> None:
        """Run batches of seeds until no combination needs another seed."""
        sweep, seeds = self.plan.sweep, iter(self.plan.sweep.seeds)
        source = self.plan.origin(runs.runner.lab)
        widths, missing = _IntervalWidths(sweep), list(self.plan.combinations)
        batch = _BATCH if sweep.until else len(sweep.seeds)
        while missing and (chosen := list(islice(seeds, batch))):
            points = [source.point(each, seed) for seed in chosen for each in missing]
            runs.run(points)
            if sweep.until is None:
                return
            widths.add(run.EndedPoints(runs.memory, points))
            missing = [each for each in missing if widths.widest(each) > sweep.until]

    def content(self, runs: run.PointRuns, ended: run.EndedPoints, folder: Path) -> dict[str, Any]:
        """Write the tables; only a few records are in memory at a time."""
        plan, proved = self.plan, ended.having(is_proved=True)
        write_rows(folder, plan.factors, proved, plan.sweep.metric)
        write_series(folder, plan.factors, proved)
        statuses = Counter(ended.statuses.values())
        return {
            **described(plan),
            "seeds": sorted({point.seed for point in ended.points}),
            "failures": [_failure(folder, plan, *pair) for pair in ended.having(is_proved=False)],
            "warnings": list(_warnings(ended)),
            "points": {
                "wanted": len(runs.points),
                "done": statuses["complete"],
                "reused": runs.reused,
                "failed": statuses["failed"],
                "unproved": statuses["unproved"],
            },
            "published": published_of(
                (combination.spec, _SeedRows(points))
                for combination, points in proved.by_combination()
            ),
        }


@dataclass
class _IntervalWidths:
    """Intervals that decide on another batch: values of a metric by combination and condition."""

    sweep: SweepDefinition
    of_runs: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, points: run.EndedPoints) -> None:
        for point, record in points:
            for condition in point.combination.spec.conditions:
                rows = [row for row in record["rows"] if row["condition"] == condition.name]
                values = [row[self.sweep.metric] for row in standing(rows, self.sweep.transport)]
                if values and None not in values:
                    self.of_runs[id(point.combination), condition.name].append(fmean(values))

    def widest(self, combination: Combination) -> float:
        """Return the widest interval as a share of its median; infinite if one is unknown."""
        names = (condition.name for condition in combination.spec.conditions)
        widths = (precision(self.of_runs[id(combination), name]) for name in names)
        return max(math.inf if width is None else width for width in widths)


@dataclass(frozen=True)
class _SeedRows:
    """Each point's seed and rows; every pass reads them again."""

    points: run.EndedPoints

    def __iter__(self) -> Iterator[tuple[int, list[Row]]]:
        return ((point.seed, record["rows"]) for point, record in self.points)


def write_rows(
    folder: Path, factors: Sequence[Factor], points: Iterable[tuple[Point, Record]], metric: str
) -> None:
    """Write rows of proved points in order; a missing value is empty, an expression comes last."""
    kinds: dict[str, type] = {"point": str}
    amounts: dict[str, tuple[str, dict[str, float]]] = {}
    for factor in factors:  # a quantity has a column for its text and one for its amount
        kinds[factor.name] = str
        if factor.column != factor.name:
            kinds[factor.column] = float
            numbers = {value: factor.number(value) for value in factor.values}
            amounts[factor.column] = factor.name, numbers
    kinds |= {"condition": str, "flow": str, sweep_folder.GROUP: str, "seed": int, run.NETWORK: str}
    kinds |= dict.fromkeys([*columns(), metric], float)
    with _table(folder / sweep_folder.ROWS) as writer:
        writer.writerow(kinds)
        for point, record in points:
            values = _varied(point, factors)
            own: Row = {
                "point": point.key,
                "seed": point.seed,
                run.NETWORK: run.verdict_of(record),
                **values,
            }
            own |= {column: of[values[name]] for column, (name, of) in amounts.items()}
            for row in record["rows"]:
                whole = {**own, **row}
                cells = ((whole.get(name), kind) for name, kind in kinds.items())
                writer.writerow([None if value is None else kind(value) for value, kind in cells])


def write_series(folder: Path, factors: Sequence[Factor], points: run.EndedPoints) -> None:
    names = [factor.name for factor in factors]
    with _table(folder / sweep_folder.SERIES) as writer:
        writer.writerow(
            ["point", *names, "seed", *sweep_folder.SERIES_HEAD, *range(1, sweep_folder.BINS + 1)]
        )
        for point, record in points.series:
            head = [point.key, *_varied(point, factors).values(), point.seed]
            writer.writerows([*head, *row] for row in record["rows"])


@contextmanager
def _table(file: Path) -> Iterator[Any]:
    with file.open("w", newline="") as opened:
        yield csv.writer(opened, lineterminator="\n")


def _varied(point: Point, factors: Sequence[Factor]) -> dict[str, str]:
    values = dict(point.combination.values)
    return {factor.name: values[factor.name] for factor in factors}


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


def _warnings(points: Iterable[tuple[Point, Record]]) -> Iterator[str]:
    """Yield a sentence if any network is not good, with the worst, then the points' warnings."""
    doubtful = (pair for pair in points if run.verdict_of(pair[1]) not in (None, GOOD))
    worst = min(doubtful, key=lambda pair: run.verdict_of(pair[1]) or "", default=None)
    if worst:
        point, record = worst
        counts = Counter(filter(None, (run.verdict_of(record) for _, record in points)))
        others = {verdict: number for verdict, number in counts.items() if verdict != GOOD}
        listed = ", ".join(f"{number:,} {verdict}" for verdict, number in others.items())
        yield (
            f"The network of {sum(others.values()):,} of {sum(counts.values()):,} points is not"
            f" good ({listed}): see column {run.NETWORK} of rows.csv. For example"
            f" {point.combination}, seed {point.seed}: {record[run.NETWORK]['reasons'][0]}"
        )
    givers: dict[str, list[str]] = defaultdict(list)
    for point, record in points:
        for warning in record["warnings"]:
            # a record's own sentences begin so (experiments.run.seed.judge)
            text = warning.removeprefix(f"Seed {point.seed}")
            givers[text].append(f"{point.combination}, seed {point.seed}")
    for text, (first, *more) in givers.items():
        count = f"{1 + len(more):,} points, the first {first}"
        yield f"{count if more else first[0].upper() + first[1:]}{text}"


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep: its folder, and the tidy table of docs/guides/sweeps.md."""

    folder: Path

    @cached_property
    def columns(self) -> ColumnTable:
        return sweep_folder.read_rows(sweep_folder.read_sweep(self.folder, Problems()))

    @cached_property
    def table(self) -> polars.DataFrame:
        """The table as a data frame of Polars. Raises UsageError if Polars is not installed."""
        return self.columns.to_polars()


def sweep(
    experiment: str,
    settings: Mapping[str, str | Sequence[str]] | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    out: Path | str = "runs",
    workers: int | None = None,
    known: Sequence[Path | str] = (),
    force: bool = False,
    watch: run.Watch | None = None,
    **more: Any,
) -> SweepResult:
    """Run a sweep; finished points of the folders `known` are taken. Raises TcplabError.

    `until`, `metric` and `compare` are as in a TOML file.
    """
    content = {"experiment": experiment, "set": dict(settings or {}), "seeds": seeds, **more}
    planned, out = plan(from_mapping(content, "The sweep")), Path(out)
    take_known(map(Path, known), out)
    ready = lab_for(spec.kernel for spec in planned.specs)
    runner = replace(run.runner_for(ready, planned.specs, workers), force=force)
    folder = run.carry_out(GridSweep(planned), out, runner, watch or run.Watch())
    return SweepResult(folder)
