"""How far a run is: a bar of its own clock on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from experiments.harness.running.session import RunRequest

_BETWEEN = 5.0  # seconds between two lines, if no terminal is there to show a bar
Seeded = Callable[[int], Callable[[str, float], None]]
"""Gives the callback of the seed at a place, which is told its phase and its clock in seconds."""


@dataclass
class RunProgress:
    """Adds up the clocks of all seeds, and shows them."""

    request: RunRequest
    console: Console
    bar: Progress
    task: TaskID
    passed: dict[int, float] = field(default_factory=dict)
    printed_at: float = field(default_factory=time.monotonic)

    def seeded(self, index: int) -> Callable[[str, float], None]:
        """The callback of one seed."""

        def tell(phase: str, elapsed: float) -> None:
            self.passed[index] = min(elapsed, self.request.expected_seconds())
            clock = f"{elapsed:.0f} s of {self._clock} time, seed {self.request.seeds[index]}"
            completed = sum(self.passed.values())
            self.bar.update(self.task, description=phase, completed=completed, clock=clock)
            self._print_now_and_then()

        return tell

    @property
    def _clock(self) -> str:
        return "virtual" if self.request.testbed == "virtual" else "real"

    def _print_now_and_then(self) -> None:
        """Whoever pipes the output sees that something happens."""
        if self.console.is_terminal or time.monotonic() - self.printed_at < _BETWEEN:
            return
        self.printed_at = time.monotonic()
        self.print_share()

    def print_share(self) -> None:
        """How much of all repetitions is done."""
        count, passed = len(self.request.seeds), sum(self.passed.values())
        share = 100 * passed / (self.request.expected_seconds() * count)
        repetitions = "1 repetition" if count == 1 else f"{count} repetitions"
        line = f"{self.request.spec.name}: {share:.0f} % of {repetitions}"
        self.console.print(line, highlight=False, soft_wrap=True)


@contextmanager
def progress_of(request: RunRequest) -> Iterator[Seeded]:
    """Progress on standard error; a bar goes when the run is over, lines stay."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[clock]}"),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        whole = request.expected_seconds() * len(request.seeds)
        task = bar.add_task(request.spec.name, total=whole, clock="")
        shown = RunProgress(request, console, bar, task)
        if not console.is_terminal and len(request.seeds) > 1:
            shown.print_share()  # what takes minutes says so at once
        yield shown.seeded
