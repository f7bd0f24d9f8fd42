"""Points run and kept: what sweeps, reproductions and comparisons of kernels have in common."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Protocol

from rich import progress
from rich.console import Console

from analysis.measures.sweep_folder import SERIES_VERSION
from experiments.run.seed import needed_mib
from experiments.run.session import for_page, lab_facts
from experiments.run.store import Facts, RunFolder, result_folder
from experiments.spec import ExperimentSpec
from experiments.study.grid import Combination
from experiments.sweep.point import CAPTURES, Point, Record, carry_rows
from experiments.sweep.store import PointStore, results
from testbed.engine import Engine, Listener, Task, local_engine
from testbed.host.processes import guests_at_once
from testbed.lab.ready import Lab


class Watch(Listener):
    """The progress of a sweep, which this class ignores; subclasses show it."""

    def wanted(self, points: int, reused: int) -> None:
        """Called when `points` are wanted, of which `reused` were known already."""

    def ended(self, point: Point, record: Record) -> None:
        """Called after each point."""


_BETWEEN = 30.0  # seconds between two lines if the output is no terminal
_PROBLEM = 200  # characters of a failed point's problem; all of it is in its log


@dataclass
class PrintedProgress(Watch):
    """A Watch that prints."""

    console: Console
    bar: progress.Progress
    task: progress.TaskID
    ended_seconds: float = 0.0
    points: int = 0
    reused: int = 0
    ran: int = 0
    going: dict[str, float] = field(default_factory=dict)
    printed_at: float = field(default_factory=time.monotonic)
    printed: int = 0

    @property
    def done(self) -> int:
        return self.reused + self.ran

    def wanted(self, points: int, reused: int) -> None:
        if not self.points:
            self.note(f"{points:,} runs to do, of which {reused:,} are stored.")
        self.points, self.reused = points, reused
        # Not an update: points that were known would count for the speed, and the time left would
        # be far too short.
        self.bar.reset(self.task, total=points, completed=self.done, clock=self._virtual())

    def running(self, key: str, phase: str, elapsed: float) -> None:
        self.going[key] = elapsed
        self.bar.update(self.task, clock=self._virtual())

    def ended(self, point: Point, record: Record) -> None:
        self.going.pop(point.key, None)
        self.ended_seconds += record.get("usage", {}).get("clock_seconds", 0.0)
        self.ran += 1
        self.bar.update(self.task, completed=self.done, clock=self._virtual())
        if record["status"] != "complete":
            first = str(record["problem"]).splitlines()[0][:_PROBLEM]
            which = f"{point.combination.spec.name}, {point.combination}, seed {point.seed}"
            self.note(f"{record['status']}: {which}: {first}")
        is_due = time.monotonic() - self.printed_at > _BETWEEN
        is_last = self.printed and self.done == self.points
        if not self.console.is_terminal and (is_due or is_last):
            self.printed_at, self.printed = time.monotonic(), self.done
            self.note(f"{self.done:,} of {self.points:,} points, {self._virtual()}")

    def note(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _virtual(self) -> str:
        return f"{self.ended_seconds + sum(self.going.values()):,.0f} virtual s"


@contextmanager
def watching(name: str) -> Iterator[PrintedProgress]:
    """Show progress on standard error until the sweep ends."""
    console = Console(stderr=True)
    columns = (
        *("{task.description}", progress.BarColumn(bar_width=20), progress.MofNCompleteColumn()),
        *("points,", "{task.fields[clock]},", progress.TimeRemainingColumn(), "left"),
    )
    with progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(name, total=None, clock="")
        yield PrintedProgress(console, bar, task)


@dataclass(frozen=True)
class PointRunner:
    """Runs points on guests of this machine, by an `engine` opened when needed."""

    lab: Lab
    engine: Callable[[Listener], AbstractContextManager[Engine]]
    workers: str
    wall_seconds: float = 600.0
    force: bool = False

    def run(
        self,
        points: Iterable[Point],
        store: PointStore,
        watch: Watch,
        carry: Callable[..., Record] | None = None,
    ) -> Iterator[tuple[Point, Record]]:
        """Run points and yield each with its record, which `carry` makes on a worker."""
        by_key = {point.key: point for point in points}
        if not by_key:
            return
        with self.engine(watch) as engine:
            for done in engine.run(self._task(point, carry) for point in by_key.values()):
                point = by_key[done.key]
                record: Record = done.value
                if done.error is not None:
                    problem = f"{type(done.error).__name__}: {done.error}"
                    failed = {"status": "failed", "problem": problem, "log": done.trace}
                    record = {**failed, "rows": [], "warnings": []}
                store.add(point.combination.spec.name, point, record)
                watch.ended(point, record)
                yield point, record

    def _task(self, point: Point, carry: Callable[..., Record] | None) -> Task:
        captured = point.origin.measures == CAPTURES
        carry = carry or partial(carry_rows, metric=point.origin.metric, captured=captured)
        return Task(point.key, carry, (point.combination.data, point.seed, self.wall_seconds))


def runner_for(
    ready: Lab, specs: Iterable[ExperimentSpec], workers: int | None = None
) -> PointRunner:
    """Return the runner with as many guests as fit on this machine, `workers` at most."""
    slots = guests_at_once(max(map(needed_mib, specs)), workers)
    return PointRunner(ready, partial(local_engine, ready, slots), f"{slots} on this machine")


NETWORK = "network"
"""The column of rows.csv with the verdict, and the key of verdicts in results and records."""
_AT_ONCE = 200  # records in memory


@dataclass(frozen=True)
class EndedPoints:
    """Points in the order of a table, without removed ones; each pass reads their records."""

    memory: PointStore
    points: Sequence[Point]

    def __iter__(self) -> Iterator[tuple[Point, Record]]:
        return self._read(self.memory.records)

    @property
    def series(self) -> Iterator[tuple[Point, Record]]:
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
        return self.memory.statuses(point.key for point in self.points)

    def having(self, is_proved: bool) -> EndedPoints:
        """Return the points that are complete, or the others."""
        status = self.statuses.get
        chosen = [each for each in self.points if (status(each.key) == "complete") == is_proved]
        return EndedPoints(self.memory, chosen)

    def by_combination(self) -> Iterator[tuple[Combination, EndedPoints]]:
        for _, group in groupby(self.points, key=lambda point: id(point.combination)):
            points = list(group)
            yield points[0].combination, EndedPoints(self.memory, points)


def verdict_of(record: Record) -> str | None:
    verdict: str | None = record.get(NETWORK, {}).get("verdict")
    return verdict


@dataclass
class PointRuns:
    """The points of one call by their keys, in the order of request, and those that ended."""

    runner: PointRunner
    memory: PointStore
    watch: Watch
    points: dict[str, Point] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    reused: int = 0

    def run(self, points: Sequence[Point]) -> None:
        self.points |= {point.key: point for point in points}
        known = set() if self.runner.force else self.memory.known(point.key for point in points)
        self.done |= known
        self.reused += len(known)
        self.watch.wanted(len(self.points), self.reused)
        missing = [point for point in points if point.key not in known]
        for point, _ in self.runner.run(missing, self.memory, self.watch):
            self.done.add(point.key)

    @property
    def ended(self) -> EndedPoints:
        order: dict[int, int] = {}
        for point in self.points.values():
            order.setdefault(id(point.combination), len(order))
        points = [self.points[key] for key in self.done]
        points.sort(key=lambda point: (order[id(point.combination)], point.seed))
        return EndedPoints(self.memory, points)


class Preset(Protocol):
    """A kind of result: its points, and its part of the results.

    The folder of the store is on `shelf`, with `label` in its name, and has the results in `file`.
    `about` is its part of the manifest.
    """

    kind: ClassVar[str]
    shelf: ClassVar[str]
    file: ClassVar[str]

    @property
    def label(self) -> str: ...

    def about(self, runs: PointRuns) -> dict[str, Any]: ...

    def fill(self, runs: PointRuns) -> None:
        """Run all points. What ended before an error is kept."""

    def content(self, runs: PointRuns, ended: EndedPoints, folder: Path) -> dict[str, Any]:
        """Return its part of the results; other files go into `folder`."""


def carry_out(preset: Preset, out: Path, runner: PointRunner, watch: Watch) -> Path:
    """Run the unknown points, and return the finished folder; points stay. Raises TcplabError."""

    def write(run: RunFolder, timing: Facts) -> dict[str, Any]:
        ended, usage, verdicts = runs.ended, Counter[str](), Counter[str]()
        for _, record in ended:
            usage.update(record.get("usage", {}))
            verdicts.update(filter(None, [verdict_of(record)]))
        facts = {
            **timing,
            "workers": runner.workers,
            "virtual_seconds": round(usage["clock_seconds"], 3),
            "cpu_seconds": round(usage["cpu_seconds"], 2),
        }
        about = {"format": 1, "id": run.identifier, **for_page(runner.lab), **facts}
        about[NETWORK] = verdicts
        content = about | preset.content(runs, ended, run.folder)
        (run.folder / preset.file).write_text(json.dumps(content, indent=1) + "\n")
        return {"kind": preset.kind, **preset.about(runs), **lab_facts(runner.lab), **facts}

    with results(out) as memory:
        runs = PointRuns(runner, memory, watch)
        with result_folder(out / preset.shelf, preset.label, write) as run:
            preset.fill(runs)
    return run.place
