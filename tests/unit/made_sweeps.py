"""Sweeps without guests: an engine that makes its records up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.study.grid import settings_from
from experiments.sweep.definition import Plan, SweepDefinition, plan
from experiments.sweep.point import Record
from experiments.sweep.results import GridSweep
from experiments.sweep.run import PointRunner, Watch, carry_out
from testbed.engine import Done, Task
from testbed.lab.ready import Lab

LAB = Lab(
    Path(), Path(), Path(), Path(), "7.0", True, {"whole": "w", "kernel": "k", "image": "i"}, {}
)
Made = Callable[[dict[str, Any], int], Record]


def record(rate: float, status: str = "complete") -> Record:
    rows = [
        {"condition": name, "flow": "flow1", "goodput_kbit_s": rate + bonus, "timeouts": 3.0}
        for name, bonus in (("sack_off", 0.0), ("sack_on", 50.0))
    ]
    return {
        "status": status,
        "problem": "" if status == "complete" else f"It is {status}.",
        "log": "the log",
        "rows": rows,
        "warnings": [],
        "usage": {"clock_seconds": 10.0, "cpu_seconds": 1.0},
    }


class Engine:
    """Answers tasks in a shuffled order and counts them."""

    def __init__(self, made: Made, stop_after: int | None = None) -> None:
        self.made = made
        self.stop_after = stop_after
        self.ran: list[int] = []
        self.opened = 0

    @contextmanager
    def __call__(self, _listener: object) -> Iterator[Engine]:
        self.opened += 1
        yield self

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        shuffled = list(tasks)
        random.Random(len(self.ran)).shuffle(shuffled)
        for task in shuffled:
            if len(self.ran) == self.stop_after:
                raise KeyboardInterrupt
            data, seed, _ = task.arguments
            self.ran.append(seed)
            yield self._done(task.key, data, seed)

    def _done(self, key: str, data: Any, seed: int) -> Done:
        try:
            return Done(key, self.made(data, seed))
        except ArithmeticError as error:
            return Done(key, error=error, trace="Traceback of it")


def steady(_data: Any, seed: int) -> Record:
    return record(200.0 + seed)


def sack_plan(*sets: str, **more: Any) -> Plan:
    return plan(SweepDefinition("sack", settings_from(sets), **more))


def carry(planned: Plan, out: Path, engine: Any, force: bool = False) -> Path:
    return carry_out(
        GridSweep(planned), out, PointRunner(LAB, engine, "two", 600.0, force), Watch()
    )


def content(folder: Path) -> Any:
    return json.loads((folder / "sweep.json").read_text())
