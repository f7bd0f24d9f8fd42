"""Progress of a sweep: a bar or lines now and then, and a line for each failed point."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich import progress
from rich.console import Console

from experiments.sweep.point import Point, Record
from experiments.sweep.run import Watch

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
