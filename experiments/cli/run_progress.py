"""The progress of a run or of its repetition on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from experiments.running.session import RunRequest


@contextmanager
def run_progress(request: RunRequest) -> Iterator[Callable[[int], Callable[[str, float], None]]]:
    """A bar of the run's own clock on a terminal, which goes at the end; nothing elsewhere."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[clock]}"),
    )
    each = request.expected_seconds()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(request.spec.name, total=each * len(request.seeds), clock="")
        kind = "virtual" if request.testbed == "virtual" else "real"

        passed: dict[int, float] = {}

        def seeded(index: int) -> Callable[[str, float], None]:
            def tell(phase: str, elapsed: float) -> None:
                passed[index] = min(elapsed, each)
                clock = f"{elapsed:.0f} s of {kind} time, seed {request.seeds[index]}"
                bar.update(task, description=phase, completed=sum(passed.values()), clock=clock)

            return tell

        yield seeded
